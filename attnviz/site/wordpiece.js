/* wordpiece: BERT's tokenizer (Devlin et al. 2019), as implemented in the `tokenizers` library. */

const MAX_WORD_LENGTH = 100; // characters; longer words are unknown
const SPECIAL = /\[(?:CLS|SEP|MASK|UNK|PAD)\]/g;
const PUNCTUATION = /[\p{P}$+<=>^`|~]/u;
const CHINESE =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b820}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/u;

/**
 * @typedef {{ text: string, id: number, start: number, end: number, special: boolean }} Token a token, and its
 *   start and end in the text, in code points; both 0 if the tokenizer added it
 * @typedef {{ letter: string, at: number }} Letter a normalized letter and its index in the text
 */

export class WordPiece {
  /** @param {string[]} vocabulary the tokens in the order of their ids */
  constructor(vocabulary) {
    /** @type {Map<string, number>} */
    this.ids = new Map(vocabulary.map((text, id) => [text, id]));
  }

  /**
   * Returns the tokens of a text, between [CLS] and [SEP].
   * @param {string} text
   * @returns {Token[]}
   */
  tokens(text) {
    const characters = [...text];
    const found = [];
    let begin = 0;
    for (const { 0: spelled, index } of text.matchAll(SPECIAL)) {
      const start = [...text.slice(0, index)].length;
      const end = start + spelled.length;
      found.push(...this.#plain(characters, begin, start));
      found.push(this.#token(spelled, start, end));
      begin = end;
    }
    found.push(...this.#plain(characters, begin, characters.length));
    found.forEach((token, at) => {
      const limit = found[at + 1]?.start ?? characters.length;
      while (token.end < limit && /\p{M}/u.test(characters[token.end])) token.end++;
      token.end = Math.max(token.end, found[at - 1]?.end ?? 0);
    });
    return [this.#token("[CLS]", 0, 0, true), ...found, this.#token("[SEP]", 0, 0, true)];
  }

  #token(text, start, end, special = false) {
    return { text, id: this.ids.get(text), start, end, special };
  }

  #plain(characters, from, to) {
    return words(characters, from, to).flatMap((word) => this.#pieces(word));
  }

  /** Splits a word greedily into the longest pieces in the vocabulary; [UNK] if this fails. */
  #pieces(word) {
    const unknown = this.#token("[UNK]", word[0].at, word.at(-1).at + 1);
    if (word.length > MAX_WORD_LENGTH) return [unknown];
    const pieces = [];
    for (let start = 0, end; start < word.length; start = end) {
      const spelled = () => (start ? "##" : "") + word.slice(start, end).map(({ letter }) => letter).join("");
      for (end = word.length; end > start && !this.ids.has(spelled()); end--);
      if (end === start) return [unknown];
      pieces.push(this.#token(spelled(), word[start].at, word[end - 1].at + 1));
    }
    return pieces;
  }
}

/**
 * Splits a text at white space into lower-case words without accents; each punctuation mark or Chinese character is a word.
 * @param {string[]} characters
 * @returns {Letter[][]}
 */
function words(characters, from, to) {
  /** @type {Letter[][]} */
  const found = [];
  let atBoundary = true;
  for (let at = from; at < to; at++) {
    const character = characters[at];
    if (character === "\0" || character === "\ufffd" || (/\p{C}/u.test(character) && !/[\t\n\r]/.test(character))) continue;
    for (const letter of normalized(character)) {
      const space = /\p{White_Space}/u.test(letter);
      const alone = PUNCTUATION.test(letter) || CHINESE.test(letter);
      if (!space && (atBoundary || alone)) found.push([]);
      if (!space) found.at(-1).push({ letter, at });
      atBoundary = space || alone;
    }
  }
  return found;
}

const normalized = (character) => [...character.normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase()];
