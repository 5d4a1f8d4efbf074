"""Who gets the book, computed: which two words a text asks for, and what each number on the page is."""

import numpy as np
import pytest
import torch

from attnviz.app.learn.who_gets_the_book import compute
from attnviz.capture import loading
from attnviz.errors import AttnvizError, InvalidEdit
from attnviz.interventions.edit import Edit
from attnviz.models.catalogue import STORYTELLER
from attnviz.trained.storyteller.grammar import VOCABULARY
from attnviz.trained.storyteller.tasks import ITEMS, items

GIFT = "When Mary and John went to the shop, John gave a book to"
TEXTS = (GIFT, "John called Mary because", "The keys near the book")


@pytest.mark.parametrize(
    ("text", "choices", "cues", "exchanged"),
    [
        (
            GIFT,
            ("Mary", "John"),
            ("Mary", "John"),
            "when John and Mary went to the shop , Mary gave a book to",
        ),
        ("Mary and John were friends. Mary gave the key to", ("John", "Mary"), ("John", "Mary"), None),
        ("John called Mary because", ("he", "she"), ("John", "Mary"), "Mary called John because"),
        ("The keys near the book", ("were", "was"), ("keys", "book"), "the key near the book"),
        ("the book behind the brushes", ("was", "were"), ("book", "brushes"), "the books behind the brushes"),
    ],
)
def test_a_text_asks_for_one_of_two_words(
    text: str, choices: tuple[str, str], cues: tuple[str, str], exchanged: str | None
) -> None:
    read = compute.read(text)
    assert read.choices == choices
    assert tuple(read.words[place] for place in read.cues) == cues
    assert not read.third
    if exchanged is not None:
        assert " ".join(read.exchanged[1:]) == exchanged


def test_a_third_person_gives() -> None:
    read = compute.read(GIFT.replace("John gave", "Karim gave"))
    assert (read.choices, read.third) == (("Mary", "John"), True)
    assert read.words[read.gives or 0] == "Karim"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Mary and Mary were friends. Mary gave a book to", "Both people are “Mary”"),
        ("Mary gave a book to", "Name two people"),
        ("Mary and John and Karim were friends. John gave a book to", "Three people, and “John” gives"),
        ("John called Jack because", "go with “he”. Take a woman and a man"),
        ("Mary and John were friends.", "Let the text break off"),
        ("to", "Name two people"),
        ("because", "Let the text break off"),
        ("near the book", "Let the text break off"),
    ],
)
def test_what_asks_for_no_two_words_is_answered_with_a_sentence(text: str, said: str) -> None:
    with pytest.raises(AttnvizError, match=said):
        compute.read(text)


def test_exchanging_two_weights_is_a_run_with_that_row_replaced() -> None:
    """By hand: the head's output with both weights exchanged, through W_O, the last norm and the table."""
    read = compute.read(GIFT)
    (mary, john), end = read.cues, len(read.words) - 1
    found = compute.experiment(GIFT, 1, 1, [str(Edit("decoder", 1, 1, end, mary, john, exchange=True))])
    model = loading.load_storyteller(STORYTELLER)
    own, steps = model.model, model.steps(torch.tensor(read.ids))
    attention = steps.layers[1].attention
    row = attention.attention.weights[1, -1].clone()
    np.testing.assert_array_equal(found.row_before, row)
    row[[mary, john]] = row[[john, mary]]
    np.testing.assert_array_equal(found.row_now, row)
    concatenated = attention.concatenated[-1].clone()
    d_head = attention.value.shape[-1]
    concatenated[d_head : 2 * d_head] = row @ attention.value[1]
    with torch.inference_mode():
        attended = own.get_submodule("layers.1.attention.to_output")(concatenated)
        logits = own.norm(steps.layers[0].output[-1] + attended) @ own.table.weight.T
    expected = logits.softmax(dim=-1)[VOCABULARY.ids(read.choices)]
    np.testing.assert_allclose(found.now, expected, atol=1e-6)
    unchanged = steps.logits[-1].softmax(dim=-1)
    np.testing.assert_allclose(found.before, unchanged[VOCABULARY.ids(read.choices)], atol=1e-6)
    assert found.written == VOCABULARY.word(int(unchanged.argmax()))
    assert found.written_now == VOCABULARY.word(int(logits.argmax()))


def test_an_edit_of_a_place_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidEdit, match="row 99"):
        compute.experiment(GIFT, 0, 0, ["decoder 1-1 99"])
    with pytest.raises(InvalidEdit, match="layer 9"):
        compute.experiment(GIFT, 0, 0, ["decoder 9-1"])


@pytest.mark.parametrize("text", TEXTS)
def test_the_parts_add_up_to_the_difference_and_patching_all_heads_gives_all_of_it(text: str) -> None:
    found = compute.direct(text)
    assert found.parts.total == pytest.approx(found.difference, abs=1e-4)
    before = compute.experiment(text, 0, 0).before
    assert found.difference == pytest.approx(float(np.log(before[0] / before[1])), abs=1e-3)
    patched = compute.patched(text)
    assert patched.together == pytest.approx(1, abs=1e-4)
    assert patched.expected is not None
    assert tuple(word.text for word in patched.expected) == compute.read(text).choices


@pytest.mark.parametrize("task", ["gift", "pronoun", "agreement"])
def test_what_heads_do_in_many_texts_is_what_they_do_in_each(
    task: compute.Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = 3
    monkeypatch.setattr(f"{compute.__name__}.items", lambda name: items(name)[:few])
    found = compute.held_out(task)
    texts = [" ".join(item.words[1:]) for item in items(compute._TASKS[task])[:few]]
    reads = [compute.read(text) for text in texts]
    direct = [compute.direct(text) for text in texts]
    np.testing.assert_allclose(found.direct, np.mean([each.heads for each in direct], axis=0), atol=1e-4)
    assert found.whole == pytest.approx(np.mean([each.difference for each in direct]), abs=1e-4)
    assert found.texts == few
    for layer, head in np.ndindex(*found.direct.shape):
        runs = [
            compute.experiment(
                text,
                layer,
                head,
                [str(Edit("decoder", layer, head, len(read.words) - 1, *read.cues, exchange=True))],
            )
            for text, read in zip(texts, reads, strict=True)
        ]
        said = [run.written_now == read.choices[1] for run, read in zip(runs, reads, strict=True)]
        assert found.turned[layer, head] == pytest.approx(np.mean(said))
        looked = [run.row_before[read.cues[0]] for run, read in zip(runs, reads, strict=True)]
        assert next(iter(found.looks.values()))[layer, head] == pytest.approx(np.mean(looked), abs=1e-5)
    # Of the difference, not of each text's own share of it: both sums are taken first.
    patched = [compute.patched(text) for text in texts]
    shares = np.sum([each.shares * each.whole for each in patched], axis=0)
    shares = shares / np.sum([each.whole for each in patched])
    np.testing.assert_allclose(found.carries.ravel(), shares, atol=1e-3)
    rows = [compute.patched(text, "decoder 1-2") for text in texts]
    last = np.sum([each.shares[-1] * each.whole for each in rows]) / np.sum([each.whole for each in rows])
    assert found.last_row[0, 1] == pytest.approx(last, abs=1e-3)


def test_what_the_page_tells_of_the_shipped_storyteller() -> None:
    """The findings that its sentences are made for; another training may have others, and say others."""
    gift, pronoun, agreement = (compute.held_out(task) for task in ("gift", "pronoun", "agreement"))
    assert {gift.texts, pronoun.texts, agreement.texts} == {ITEMS}
    assert min(gift.right, pronoun.right, agreement.right) >= 0.98 * ITEMS
    assert gift.turned_together > 0.8
    assert gift.giver
    assert gift.giver.right < 0.7 * ITEMS
    assert pronoun.turned_together > 0.95
    assert agreement.turned_together < 0.05
    third = compute.third_gives()
    assert third.giver < 0.01 < min(third.named)


def test_two_layers_lose_a_giver_who_stands_farther_back_and_four_do_not() -> None:
    task = compute.held_out("gift")
    assert task.giver
    layer, head = task.giver.reader
    near, far = (compute.farther(adjectives, layer, head) for adjectives in (0, 4))
    assert near.right == task.right / task.texts
    assert near.looks == pytest.approx(task.looks[compute.GIVES][layer, head], abs=1e-6)
    assert far.right < 0.6 < near.right
    assert far.looks < 0.1
    assert compute.farther(4, 0, 0, model="storyteller-4-layers").right > 0.95
