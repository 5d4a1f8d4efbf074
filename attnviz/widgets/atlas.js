/* atlas: every head as a small picture under a grid of real buttons. */

const CELL = { least: 24, most: 56 };
const LABEL = 24; // the width of the row labels
const MARGIN = 4; // at the right, for the rings of the last column
const SIDE = 32; // the most pixels of a head's picture along a side

/** How strong each level of a kind of picture is; all differ, and masked (255) is the weakest. */
function strengths(kind) {
  return Uint16Array.from({ length: 256 }, (_, level) => {
    if (level === 255) return 0;
    if (kind === "sequential") return level + 1;
    return 2 * Math.abs(level - 127) + (level < 127 ? 1 : 2);
  });
}

/** Where each of `count` nearly equal blocks of `length` cells starts, and where the last one ends. */
const edges = (length, count) =>
  Array.from({ length: count + 1 }, (_, at) => Math.floor((at * length) / count));

/**
 * Pictures [head, query, key] with at most 32 × 32 pixels each: every pixel is the strongest level of its
 * block, as in `thumbnails` of analysis/picture.py.
 */
function pooled(pictures, kind) {
  const { values, shape } = pictures;
  const [heads, rows, columns] = shape;
  const [height, width] = [Math.min(rows, SIDE), Math.min(columns, SIDE)];
  if (height === rows && width === columns) return pictures;
  const strength = strengths(kind);
  const [tops, lefts] = [edges(rows, height), edges(columns, width)];
  const small = new Uint8Array(heads * height * width);
  for (let to = 0; to < small.length; to++) {
    const first = Math.floor(to / (height * width)) * rows;
    const i = Math.floor(to / width) % height;
    const j = to % width;
    let strongest = 255;
    for (let row = first + tops[i]; row < first + tops[i + 1]; row++) {
      for (let at = row * columns + lefts[j]; at < row * columns + lefts[j + 1]; at++) {
        if (strength[values[at]] > strength[strongest]) strongest = values[at];
      }
    }
    small[to] = strongest;
  }
  return { values: small, shape: [heads, height, width] };
}

class Atlas {
  constructor(parent) {
    this.selected = new Choice();
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.grid = element("div", { class: "grid", role: "grid", "aria-label": "All heads" });
    this.scroller = element(
      "div",
      { class: "scroller" },
      element("div", { class: "sheet" }, this.canvas, this.grid),
    );
    this.fact = element("p", { class: "fact" });
    this.root = element("div", { class: "root" }, this.scroller, this.fact);
    parent.append(this.root);
    this.grid.onclick = ({ target }) => this.pick(this.buttons.indexOf(target.closest("button")));
    this.grid.onkeydown = (event) => moveFocus(event, this.buttons, this.data.heads);
    this.grid.onpointerover = ({ target }) => this.tell(this.buttons.indexOf(target.closest("button")));
    this.grid.onpointerleave = () => this.tell(-1);
    this.grid.addEventListener("focusin", ({ target }) => this.tell(this.buttons.indexOf(target)));
    this.grid.addEventListener("focusout", () => this.tell(-1));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.root);
    this.stopListening = listen({
      "attnviz:data": ({ detail }) => detail.id === this.data.pixels && this.draw(),
      "attnviz:heads": ({ detail }) => {
        this.selected.choose({ layer: detail.layer, heads: detail.heads });
        this.mark();
      },
    });
  }

  close() {
    this.observer.disconnect();
    this.stopListening();
  }

  update(data) {
    this.data = data;
    this.theme = themeOf(this.root);
    this.selected.tell(data.selected);
    const shape = `${data.layers}×${data.heads}`;
    if (this.shape !== shape) this.build();
    this.shape = shape;
    const dim = new Set(data.dim);
    this.buttons.forEach((button, at) => {
      const note = dim.has(at) ? "; does not match the filter" : "";
      button.setAttribute("aria-label", `${this.name(at).replace(" · H", ", h")}: ${data.facts[at]}${note}`);
      button.classList.toggle("dim", dim.has(at));
    });
    this.mark();
    this.draw();
  }

  build() {
    const { layers, heads } = this.data;
    this.buttons = [];
    const top = element("div", { class: "row", role: "row" });
    top.append(
      element(
        "div",
        { class: "corner", role: "columnheader" },
        element("span", { class: "hidden", text: "Layer" }),
      ),
    );
    for (let head = 1; head <= heads; head++) {
      top.append(element("div", { class: "column-label", role: "columnheader", text: head }));
    }
    const rows = [top];
    for (let layer = 1; layer <= layers; layer++) {
      const row = element("div", { class: "row", role: "row" });
      row.append(element("div", { class: "row-label", role: "rowheader", text: `L${layer}` }));
      for (let head = 1; head <= heads; head++) {
        const button = element("button", { type: "button", role: "gridcell", tabindex: -1 });
        this.buttons.push(button);
        row.append(button);
      }
      rows.push(row);
    }
    this.grid.replaceChildren(...rows);
  }

  name(at) {
    const { heads } = this.data;
    return `Layer ${Math.floor(at / heads) + 1} · Head ${(at % heads) + 1}`;
  }

  number(layer, head) {
    return (layer - 1) * this.data.heads + head - 1;
  }

  /** Rings the selected heads, and makes one of them the way in for the keyboard. */
  mark() {
    const { layer, heads } = this.selected.value;
    const selected = new Set(heads.map((head) => this.number(layer, head)));
    this.buttons.forEach((button, at) => button.setAttribute("aria-selected", selected.has(at)));
    const focused = this.buttons.indexOf(this.grid.getRootNode().activeElement);
    tabStop(this.buttons, focused >= 0 ? focused : this.number(layer, heads[0]));
    this.tell(focused);
  }

  /** Writes what one head does under the atlas; -1 for the selected one. */
  tell(at) {
    const { layer, heads } = this.selected.value;
    const shown = at >= 0 ? at : this.number(layer, heads[0]);
    const name = element("strong", { text: this.name(shown) });
    this.fact.replaceChildren(name, `: ${this.data.facts[shown] ?? ""}`);
  }

  pick(at) {
    if (at < 0) return;
    const layer = Math.floor(at / this.data.heads) + 1;
    const head = (at % this.data.heads) + 1;
    // First the widgets of this page, in this very frame; then Python.
    window.dispatchEvent(new CustomEvent("attnviz:heads", { detail: { layer, heads: [head] } }));
    this.trigger("pick", { layer, head, ...unanswered("heads") });
  }

  /** { values, shape: [picture, row, column], places: whose each picture is }; null before they come. */
  pictures() {
    const { pixels: id, kind } = this.data;
    const set = allData().get(id);
    if (!set) return null;
    const name = `${id} ${kind}`;
    // Dimming and a new width draw again, but need not pool again.
    if (this.small?.name !== name) {
      const { thumbnails, pixels } = set.arrays;
      const { values, shape } = thumbnails ?? pooled(pixels, kind);
      const places = thumbnails
        ? this.buttons.map((_, at) => at)
        : set.facts.heads.map(([layer, head]) => this.number(layer, head));
      this.small = { name, values, shape, places };
    }
    return this.small;
  }

  draw() {
    const room = this.root.clientWidth;
    if (!this.root.isConnected || !this.data || room === 0) return;
    const started = performance.now();
    const { layers, heads, kind, dim } = this.data;
    const cell = Math.max(
      CELL.least,
      Math.min(CELL.most, Math.floor((10 * (room - LABEL - MARGIN)) / heads) / 10),
    );
    const gap = cell < 30 ? 1 : 2;
    const width = heads * cell;
    const height = layers * cell;
    this.root.style.setProperty("--cell", `${cell}px`);
    this.root.style.setProperty("--gap", `${gap}px`);
    const pictures = this.pictures();
    this.root.toggleAttribute("data-waiting", !pictures);
    const ratio = window.devicePixelRatio || 1;
    // A message that only moves the ring leaves the pictures as they are.
    const drawing = [this.data.pixels, kind, dim, layers, cell, ratio, this.theme.background].join("|");
    if (!pictures || drawing === this.drawing) return;
    this.drawing = drawing;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    const palette = this.theme.pixels(kind);
    const faint = new Set(dim);
    // Whole device pixels, so that no picture is blurred at its edges.
    const edge = (at) => Math.round(at * cell * ratio);
    const inset = Math.round((gap / 2) * ratio);
    // One image of all pictures, one below the other: a canvas for each of them takes ten times as long.
    const [count, rows, columns] = pictures.shape;
    const image = levelsImage(pictures.values, count * rows, columns, palette);
    pictures.places.forEach((at, picture) => {
      const x = edge(at % heads) + inset;
      const y = edge(Math.floor(at / heads)) + inset;
      const w = edge((at % heads) + 1) - inset - x;
      const h = edge(Math.floor(at / heads) + 1) - inset - y;
      context.imageSmoothingEnabled = columns > w || rows > h;
      context.globalAlpha = faint.has(at) ? 0.14 : 1;
      context.drawImage(image, 0, picture * rows, columns, rows, x, y, w, h);
    });
    context.globalAlpha = 1;
    this.root.dataset.drawn = Number(this.root.dataset.drawn ?? 0) + 1;
    this.root.dataset.ms = (performance.now() - started).toFixed(1);
  }
}

export default widget(Atlas);
