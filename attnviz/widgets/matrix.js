/* matrix: one head as a heatmap; rows are queries, columns are keys. */

import { isTouchScreen, cellUnder, element } from "./dom.js";
import { destination } from "./keyboard.js";
import { formatBrief, formatNumber } from "./numbers.js";
import { css, SCALE, valueAt } from "./palette.js";
import { CanvasPen, truncate, textWidth } from "./pens.js";
import { onZoom, zoomed } from "./window.js";

const MAX_CELL = 34; // pixels, like all sizes below
const LABELS = { size: 12, spacing: 13, maxWidth: 118 };
const MAX_HEIGHT = 720;
const MAX_PROJECTED_ROWS = 15; // rows that fit in the teacher's view with all labels
const PROJECTED_HEIGHT = 125; // in the teacher's view with more than `MANY_ROWS` rows; leaves space for a slider
const MANY_ROWS = 20;
export const LEGEND_HEIGHT = 44; // including its numbers

/** Computes the layout of a picture of this width: margins, cell sizes, and which labels are drawn. */
export function matrixLayout(width, rowLabels, columnLabels, font, maxHeight = MAX_HEIGHT) {
  const narrow = width < 420;
  const limit = narrow ? 76 : LABELS.maxWidth;
  const size = narrow ? 11 : LABELS.size;
  const widest = (labels) =>
    Math.min(limit, Math.max(...labels.map((label) => textWidth(label, size, font))));
  const axis = 20;
  const left = Math.ceil(axis + widest(rowLabels) + 8);
  const labelLength = widest(columnLabels);
  const [rows, columns] = [rowLabels.length, columnLabels.length];
  const fits = (cell) => labelLength + 8 <= cell;
  let cell = Math.min(MAX_CELL, (width - left - 2) / columns);
  const horizontal = fits(cell);
  const angle = horizontal ? 0 : -50;
  const slant = (Math.PI * 50) / 180;
  // Slanted labels extend beyond the right edge.
  const right = horizontal ? 2 : Math.ceil(labelLength * Math.cos(slant) * 0.8);
  cell = Math.min(MAX_CELL, (width - left - right) / columns);
  const top = Math.ceil(axis + (horizontal ? size + 8 : labelLength * Math.sin(slant) + 12));
  const cellHeight = Math.min(cell, maxHeight / rows);
  return {
    left,
    top,
    size,
    limit,
    angle,
    cell,
    cellHeight,
    rows,
    columns,
    rowStep: Math.ceil(LABELS.spacing / cellHeight),
    columnStep: horizontal ? 1 : Math.ceil((LABELS.spacing + 2) / cell),
    width: columns * cell,
    height: rows * cellHeight,
    total: top + rows * cellHeight + 2,
  };
}

/** Draws one head's matrix and its labels at (x, y). */
export function drawMatrix(pen, x, y, layout, head, rowLabels, columnLabels, kind) {
  const { theme } = pen;
  const { left, top, size, limit, angle, cell, cellHeight, rows, columns, width, height } = layout;
  const axis = { size: 11, fill: theme.muted };
  pen.text(x + left, y + 8, "to (key) →", axis);
  pen.text(x + 8, y + top, `← ${layout.rowAxis}`, { ...axis, angle: -90, anchor: "end" });
  const label = { size, fill: theme.text };
  for (let i = 0; i < rows; i += layout.rowStep) {
    const text = truncate(rowLabels[i], limit, size, pen.font);
    pen.text(x + left - 6, y + top + (i + 0.5) * cellHeight, text, { ...label, anchor: "end" });
  }
  for (let j = 0; j < columns; j += layout.columnStep) {
    const text = truncate(columnLabels[j], limit, size, pen.font);
    const middle = x + left + (j + 0.5) * cell;
    if (angle) pen.text(middle, y + top - 6, text, { ...label, angle });
    else pen.text(middle, y + top - 6 - size / 2, text, { ...label, anchor: "middle" });
  }
  pen.levels(x + left, y + top, width, height, head, kind);
  if (Math.min(cell, cellHeight) >= 14) {
    // Thin lines in the background colour separate the cells.
    const line = { fill: theme.background };
    for (let i = 1; i < rows; i++) pen.rect(x + left, y + top + i * cellHeight - 0.5, width, 1, line);
    for (let j = 1; j < columns; j++) pen.rect(x + left + j * cell - 0.5, y + top, 1, height, line);
  }
  pen.rect(x + left - 0.5, y + top - 0.5, width + 1, height + 1, { stroke: theme.grid });
}

/** One head's matrix on the page. */
export class Panel {
  constructor(matrix) {
    this.matrix = matrix;
    this.title = element("div", { class: "panel-title" });
    this.picture = element("canvas", { "aria-hidden": "true" });
    this.marks = element("canvas", { "aria-hidden": "true" });
    // Screen readers pass arrow keys, which move between cells, only to role="application".
    this.cells = element("div", { class: "cells", role: "application", tabindex: 0 });
    this.cells.setAttribute("aria-roledescription", "matrix");
    this.root = element("div", { class: "panel" }, this.title);
    this.root.append(element("div", { class: "frame" }, this.picture, this.marks, this.cells));
    this.cells.onpointermove = (event) => this.point(this.cellAt(event), event.pointerType);
    this.cells.onpointerleave = () => this.point(null);
    this.cells.onclick = (event) => this.pick(this.cellAt(event));
    this.cells.onkeydown = (event) => this.move(event);
    this.cells.onfocus = () => this.cells.matches(":focus-visible") && this.point(this.home());
    this.cells.onblur = () => this.point(null);
    onZoom(this.cells, (factor, point) => this.zoom(factor, point), () => Boolean(matrix.view.data.part));
  }

  /** The initial cell for the keyboard. */
  home() {
    const { query, key } = this.matrix.view.pinned;
    return { i: query ?? 0, j: key ?? 0 };
  }

  cellAt(event) {
    const { row, column } = cellUnder(event, this.cells, this.layout.rows, this.layout.columns);
    return { i: row, j: column };
  }

  /** Places a cell's tooltip on the side with enough space. */
  placeTip(tip, { i, j }, available) {
    const { left, top, cell, cellHeight } = this.layout;
    const x = this.root.offsetLeft + left + (j + 1) * cell + 10;
    const width = tip.offsetWidth;
    tip.style.left = `${Math.max(0, x + width > available ? x - width - cell - 20 : x)}px`;
    tip.style.top = `${this.cells.parentElement.offsetTop + this.root.offsetTop + top + (i + 0.5) * cellHeight}px`;
  }

  show(head, width, several) {
    const { view, queries, keys } = this.matrix;
    this.head = head;
    const projected = queries.length > MANY_ROWS ? PROJECTED_HEIGHT : LABELS.spacing * Math.min(queries.length, MAX_PROJECTED_ROWS);
    const maxHeight = this.root.closest("[data-teacher]") ? projected : MAX_HEIGHT;
    const layout = matrixLayout(width, queries, keys, view.theme.font, maxHeight);
    this.layout = layout;
    const place = { left: layout.left, top: layout.top, width: layout.width, height: layout.height };
    for (const [name, value] of Object.entries(place)) this.cells.style[name] = `${value}px`;
    this.width = width;
    this.title.textContent = several ? `Layer ${view.layer} · Head ${head.number}` : "";
    this.title.hidden = !several;
    this.title.style.setProperty("--head", css(view.theme.head(head.number)));
    const size = `${layout.rows} ${view.rowAxis === "from (query)" ? "queries" : "rows"} by ${layout.columns} keys`;
    const zooms = view.data.part ? "; + and − zoom, 0 shows the whole text" : "";
    const help = `arrow keys move from cell to cell, Enter ${view.block > 1 ? "opens" : "pins"} a cell${zooms}`;
    const which = view.data.heading || `Layer ${view.layer}, head ${head.number}`;
    const name = `${which}, ${size}: ${help}`;
    if (this.cells.getAttribute("aria-label") !== name) this.cells.setAttribute("aria-label", name);
    const pen = CanvasPen.on(this.picture, width, layout.total, view.theme);
    drawMatrix(pen, 0, 0, { ...layout, rowAxis: view.rowAxis }, head, queries, keys, view.data.kind);
    this.drawMarks();
  }

  point(cell, by = "mouse") {
    if (cell?.i === this.at?.i && cell?.j === this.at?.j) return;
    this.at = cell;
    this.matrix.point(this, by === "touch" ? null : cell);
  }

  /** Pins a cell; in a long text, zooms in on a block. */
  pick(cell) {
    this.at = cell;
    if (this.matrix.view.block > 1) this.zoom(0.25, this.middle(cell));
    else this.matrix.view.pick(cell.i, cell.j);
  }

  middle({ i, j }) {
    const { rows, columns } = this.layout;
    return { down: (i + 0.5) / rows, across: (j + 0.5) / columns };
  }

  /** Shows more or fewer tokens of a long text around a point. */
  zoom(factor, point) {
    const { view } = this.matrix;
    view.goTo(zoomed(view.place, factor, point));
  }

  /** Moves the shown part by half its size if an arrow key leads beyond its edge; returns whether it moved. */
  pan(key, { i, j }) {
    const { view } = this.matrix;
    const { rows, columns } = this.layout;
    const beyond = {
      ArrowUp: i === 0 && [-1, 0],
      ArrowDown: i === rows - 1 && [1, 0],
      ArrowLeft: j === 0 && [0, -1],
      ArrowRight: j === columns - 1 && [0, 1],
    }[key];
    if (!view.data.part || !beyond) return false;
    const { row, column, span } = view.place;
    view.goTo({ row: row + (beyond[0] * span) / 2, column: column + (beyond[1] * span) / 2, span });
    return true;
  }

  move(event) {
    const { rows, columns } = this.layout;
    const at = this.at ?? this.home();
    const { view } = this.matrix;
    const factor = view.data.part && { "+": 0.5, "=": 0.5, "-": 2, 0: Infinity }[event.key];
    if (event.key === "Escape") this.point(null);
    else if (factor === Infinity) view.goTo({ row: 0, column: 0, span: Infinity });
    else if (factor === 0.5 && !this.at) view.goTo(view.zoomedIn);
    else if (factor) this.zoom(factor, this.middle(at));
    else if (this.pan(event.key, at)) {
      // the part beyond the edge is requested
    } else if (event.key === "Enter" || event.key === " ") this.pick(at);
    else {
      const to = destination(event, at.i * columns + at.j, rows * columns, columns);
      if (to === null) return;
      this.point({ i: Math.floor(to / columns), j: to % columns });
    }
    event.preventDefault();
  }

  /** Draws the cross-hair and the pinned cell, with their labels. */
  drawMarks() {
    const { view, queries, keys } = this.matrix;
    const { theme } = view;
    const { left, top, cell, cellHeight, width, height, size, limit, angle, total, rowStep } = this.layout;
    const pen = CanvasPen.on(this.marks, this.width, total, theme);
    // The label is drawn again, on a background, because the axis may omit it.
    const flag = (x, y, text, fill, degrees, anchor) => {
      const flagWidth = textWidth(text, size, pen.font, 600) + 10;
      const start = { start: -5, middle: -flagWidth / 2, end: 5 - flagWidth }[anchor];
      pen.drawRotated(x, y, degrees, () => {
        pen.rect(start, -9, flagWidth, 18, { fill, radius: 4 });
        pen.text(0, 0, text, { size, fill: theme.background, weight: 600, anchor });
      });
    };
    const name = (i, j, fill) => {
      const y = top + (i + 0.5) * cellHeight;
      if (i % rowStep) pen.rect(20, y - 18, left - 24, 36, { fill: theme.background }); // hides half-covered labels
      flag(left - 6, y, truncate(queries[i], limit, size, pen.font), fill, 0, "end");
      if (j === null) return;
      const text = truncate(keys[j], limit, size, pen.font);
      const x = left + (j + 0.5) * cell;
      if (angle) flag(x, top - 6, text, fill, angle, "start");
      else flag(x, top - 6 - size / 2, text, fill, 0, "middle");
    };
    const ring = (i, j, colour) => {
      const [x, y] = [left + j * cell, top + i * cellHeight];
      // The ring is enlarged around small cells, so that it stays visible.
      const grow = Math.max(0, (7 - Math.min(cell, cellHeight)) / 2);
      const [w, h] = [cell + 2 * grow, cellHeight + 2 * grow];
      pen.rect(x - grow - 1, y - grow - 1, w + 2, h + 2, { stroke: theme.background, line: 4, radius: 3 });
      pen.rect(x - grow - 1, y - grow - 1, w + 2, h + 2, { stroke: colour, line: 2, radius: 3 });
    };
    const { query, key } = view.pinned;
    for (const each of view.summedQueries(query).filter((at) => at !== query)) {
      pen.rect(left - 1, top + each * cellHeight - 0.5, width + 2, cellHeight + 1, { stroke: theme.primary, line: 1.5 });
      name(each, null, theme.primary);
    }
    if (query !== null) {
      const y = top + query * cellHeight;
      pen.rect(left - 1, y - 0.5, width + 2, cellHeight + 1, { stroke: theme.primary, line: 1.5 });
      name(query, key, theme.primary);
      if (key !== null) ring(query, key, theme.primary);
    }
    const at = this.matrix.at;
    if (at) {
      // Outlines only, because a tint would change the colours of the cells.
      const band = { stroke: theme.text, alpha: 0.5 };
      pen.rect(left - 0.5, top + at.i * cellHeight - 0.5, width + 1, cellHeight + 1, band);
      pen.rect(left + at.j * cell - 0.5, top - 0.5, cell + 1, height + 1, band);
      name(at.i, at.j, theme.text);
      ring(at.i, at.j, theme.text);
    }
  }
}

export class Matrix {
  constructor(view) {
    this.view = view;
    this.panels = [];
    this.tip = element("div", { class: "tip", "aria-hidden": "true", hidden: "" });
    this.grid = element("div", { class: "panels" });
    this.legend = new Legend();
    this.root = element("div", { class: "matrix" }, this.grid, this.legend.root, this.tip);
    this.at = null;
  }

  update() {
    const { queries, data: { key_tokens: keys } } = this.view;
    this.queries = queries.map(({ label }) => label);
    this.keys = keys.map(({ label }) => label);
    if (this.at && (this.at.i >= queries.length || this.at.j >= keys.length)) this.at = null;
    this.tip.hidden = true; // the number in the tooltip is outdated
    this.draw();
  }

  layout() {
    this.draw();
  }

  draw() {
    const { view } = this;
    const available = view.root.clientWidth;
    if (!available || !this.queries || !this.root.isConnected) return;
    const shown = view.shownHeads();
    const across =
      shown.length === 1 || available < 520 ? 1 : shown.length === 2 || shown.length === 4 || available < 900 ? 2 : 3;
    const width = Math.floor((available - 20 * (across - 1)) / across);
    while (this.panels.length < shown.length) {
      const panel = new Panel(this);
      this.panels.push(panel);
      this.grid.append(panel.root);
    }
    for (const panel of this.panels.splice(shown.length)) panel.root.remove();
    this.panels.forEach((panel, at) => panel.show(shown[at], width, shown.length > 1));
    this.legend.show(view, shown);
    view.drawn();
    this.describe();
  }

  /** Marks the hovered cell in all panels. */
  point(panel, cell) {
    this.at = cell;
    for (const each of this.panels) each.drawMarks();
    this.place(panel, cell);
    this.describe();
    this.view.drawn();
  }

  place(panel, cell) {
    this.tip.hidden = !cell;
    if (!cell) return;
    this.tip.replaceChildren(...this.view.cellSentence(cell.i, cell.j, [panel.head.number]));
    panel.placeTip(this.tip, cell, this.view.root.clientWidth);
  }

  describe() {
    const { view, at } = this;
    const { query, key } = view.pinned;
    const zooming = "Zoom with Ctrl + mouse wheel, or by pinching.";
    if (at) view.showDescription(view.cellSentence(at.i, at.j));
    else if (view.block > 1) view.showDescription([`Each cell shows the largest of ${view.block} × ${view.block} weights. ${isTouchScreen() ? "Tap" : "Click"} a cell to zoom in on it. ${zooming}`]);
    else if (query !== null && key !== null) view.showDescription(view.cellSentence(query, key));
    else if (view.summedQueries(query).length) view.showDescription(view.rowSentence(view.summedQueries(query)[0], view.summedQueries(query)));
    else view.showDescription([isTouchScreen() ? "Tap a cell to see its value." : "Point at a cell to see its value; click to pin it.", view.data.part ? ` ${zooming}` : ""]);
  }

  picture(pen, top, width) {
    const { view } = this;
    const shown = view.shownHeads();
    const across = shown.length === 1 ? 1 : 2;
    const each = (width - 24 * (across - 1)) / across;
    const layout = matrixLayout(each, this.queries, this.keys, pen.font);
    const title = shown.length > 1 ? 22 : 0;
    const height = layout.total + title + 12;
    shown.forEach((head, at) => {
      const [x, y] = [(at % across) * (each + 24), top + Math.floor(at / across) * height];
      if (title) {
        const fill = pen.theme.head(head.number);
        pen.text(x, y + 8, `Layer ${view.layer} · Head ${head.number}`, { size: 13, weight: 700, fill });
      }
      drawMatrix(pen, x, y + title, { ...layout, rowAxis: view.rowAxis }, head, this.queries, this.keys, view.data.kind);
    });
    const bottom = top + Math.ceil(shown.length / across) * height;
    return drawLegend(pen, 0, bottom + 6, Math.min(260, width), legendOf(view, shown), view.data.kind);
  }
}

/** Returns the labels at the ends and the middle of the colour scale, and that of hatched cells, or "" for none. */
function legendOf({ data, hatched: label }, shown) {
  const same = new Set(shown.map(({ high }) => high)).size === 1;
  const hatched = shown.some(({ values }) => values.includes(255)) ? label : "";
  if (!shown.length) return { ticks: ["", "", ""], hatched };
  const value = (place) => valueAt(place, data.kind, shown[0].high);
  const text = (place) => (value(place) === 0 ? formatBrief(0, data.unit) : formatNumber(value(place), data.unit));
  if (same) return { ticks: [text(0), text(0.5), text(1)], hatched };
  const [zero, largest] = [formatBrief(0, data.unit), "each head’s maximum"];
  return { ticks: data.kind === "diverging" ? ["−", zero, largest] : [zero, "", largest], hatched };
}

export function drawLegend(pen, x, y, width, { ticks, hatched }, kind) {
  const { theme } = pen;
  const levels = theme.levels(kind);
  const steps = 64;
  for (let at = 0; at < steps; at++) {
    const fill = levels[Math.round((254 * at) / (steps - 1))];
    const overlap = at < steps - 1 ? 0.5 : 0; // avoids thin gaps between the steps
    pen.rect(x + (at * width) / steps, y, width / steps + overlap, 10, { fill });
  }
  pen.rect(x + 0.5, y + 0.5, width - 1, 9, { stroke: theme.grid });
  const text = { size: 11, fill: theme.muted };
  pen.text(x, y + 20, ticks[0], text);
  pen.text(x + width / 2, y + 20, ticks[1], { ...text, anchor: "middle" });
  pen.text(x + width, y + 20, ticks[2], { ...text, anchor: "end" });
  pen.text(x + width / 2, y + 34, SCALE, { ...text, anchor: "middle" });
  if (hatched) {
    const cell = { values: new Uint8Array([255]), rows: 1, columns: 1 };
    pen.levels(x + width + 20, y - 1, 12, 12, cell, kind);
    pen.rect(x + width + 20, y - 1, 12, 12, { stroke: theme.grid });
    pen.text(x + width + 38, y + 5, hatched, text);
  }
  return y + LEGEND_HEIGHT;
}

/** The colour scale under the matrix. */
class Legend {
  constructor() {
    this.canvas = element("canvas", { role: "img" });
    this.root = element("div", { class: "legend" }, this.canvas);
  }

  show(view, shown) {
    const legend = legendOf(view, shown);
    const [low, middle, high] = legend.ticks;
    const name = `Colour scale: ${low}, ${middle}, ${high}; ${SCALE}`;
    if (this.canvas.getAttribute("aria-label") !== name) this.canvas.setAttribute("aria-label", name);
    const width = Math.min(view.root.clientWidth, 340);
    const pen = CanvasPen.on(this.canvas, width, LEGEND_HEIGHT, view.theme);
    drawLegend(pen, 1, 2, Math.min(240, width - 90), legend, view.data.kind);
  }
}
