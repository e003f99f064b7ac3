// The list of all nodes. Only the rows that are seen are elements, and a scroll fills those that come into sight.

import { at, el, setText } from "./elements.js";
import { searchable, selectedRows } from "./search.js";

const ROW_PX = 3.5 * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
/** Rows above and below what is seen. */
const SPARE = 6;

const view = at("view");
const space = at("rows");
const nodes = new Map();
/** Row `n` stands in the element `n` modulo their number, so that it stays in it while it is seen. */
let pool = [];
let sorted = [];
let shown = [];
let isSorted = true;
let isFrame = false;
let isSelected = true;
let height = 0;

/** Rows that have changed, and names that are gone. */
export function takeRows({ isReset, rows, removed }) {
  if (isReset) nodes.clear();
  for (const name of removed) nodes.delete(name);
  isSorted &&= !isReset && removed.length === 0 && rows.every(({ name }) => nodes.has(name));
  for (const row of rows) nodes.set(row.name, searchable(row));
  selectLater();
}

function selectLater() {
  isSelected = false;
  drawLater();
}

/** Once a frame. What is read from the layout is read before anything is written. */
function drawLater() {
  if (isFrame) return;
  isFrame = true;
  requestAnimationFrame(() => {
    isFrame = false;
    const top = view.scrollTop;
    if (!isSelected) select();
    if (!at("list").hidden) draw(top);
  });
}

function select() {
  isSelected = true;
  if (!isSorted) sorted = [...nodes.keys()].sort();
  isSorted = true;
  const all = sorted.map((name) => nodes.get(name));
  shown = selectedRows(all, at("search").value, at("state").value);
  let [online, trouble] = [0, 0];
  for (const row of shown) {
    if (row.state === "online") online += 1;
    if (row.isTrouble) trouble += 1;
  }
  const counts = `${online} online, ${trouble} in trouble`;
  setText(at("count"), `${shown.length} of ${nodes.size} nodes, ${counts}`);
  space.style.height = `${shown.length * ROW_PX}px`;
}

function draw(top) {
  const room = Math.ceil(height / ROW_PX) + 2 * SPARE;
  if (pool.length !== room) fillPool(room);
  const most = Math.max(0, shown.length * ROW_PX - height);
  const first = Math.max(0, Math.floor(Math.min(top, most) / ROW_PX) - SPARE);
  for (let index = first; index < first + room; index += 1)
    pool[index % room].show(shown[index], index);
}

function fillPool(room) {
  pool = Array.from({ length: room }, () => new ListRow());
  space.replaceChildren(...pool.map(({ item }) => item));
}

class ListRow {
  #name = el("span", "name");
  #state = el("span", "");
  #phase = el("span", "");
  #version = el("span", "dim wide");
  #trouble = el("span", "warn wide");
  #link = el("a", "fleet-row", this.#name, this.#state, this.#phase, this.#version, this.#trouble);
  item = el("div", "", this.#link);
  #row;
  #index = -1;
  #size = -1;

  constructor() {
    this.item.setAttribute("role", "listitem");
  }

  /** `row`: undefined = the list is over. */
  show(row, index) {
    this.item.hidden = row === undefined;
    if (row === undefined) return;
    if (index !== this.#index) {
      // The focus stays with the node that had it, not with the place.
      if (document.activeElement === this.#link) this.#link.blur();
      this.item.style.transform = `translateY(${index * ROW_PX}px)`;
      this.item.setAttribute("aria-posinset", String(index + 1));
      this.#index = index;
    }
    if (shown.length !== this.#size) this.item.setAttribute("aria-setsize", String(shown.length));
    this.#size = shown.length;
    if (row !== this.#row) this.#fill(row);
    this.#row = row;
  }

  #fill(row) {
    const clock = row.time === "" || row.isClockTrusted ? [] : ["clock not synchronised"];
    this.#link.href = `#/node/${encodeURIComponent(row.name)}`;
    put(this.#name, row.name, "name");
    put(this.#state, row.state, row.state === "online" ? "good" : "bad");
    put(this.#phase, row.phase || row.ready, row.isTrouble ? "bad" : "dim");
    put(this.#version, row.version, "dim wide");
    put(this.#trouble, [...row.troubles, ...clock].join(", "), "warn wide");
  }
}

/** Most of the rows that come into sight differ in their name only. */
function put(cell, text, className) {
  const [node] = cell.childNodes;
  if (node === undefined) cell.append(text);
  else if (node.data !== text) node.data = text;
  if (cell.className !== className) cell.className = className;
}

/** The list is seen again. */
export function drawList() {
  height = view.clientHeight;
  selectLater();
}

at("search").addEventListener("input", () => {
  view.scrollTop = 0;
  selectLater();
});
at("state").addEventListener("change", () => {
  view.scrollTop = 0;
  selectLater();
});
view.addEventListener("scroll", drawLater, { passive: true });
new ResizeObserver(([{ contentRect }]) => {
  if (contentRect.height === 0) return;
  height = contentRect.height;
  drawLater();
}).observe(view);
