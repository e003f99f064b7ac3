// Elements of the page. What devices have chosen is only ever set as text.

export const at = (id) => document.getElementById(id);

/** Children that are strings become text, never HTML. */
export function el(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className !== "") element.className = className;
  element.append(...children);
  return element;
}

/** Leaves the document alone if nothing changes. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function titled(title, ...children) {
  return [el("h2", "", title), el("div", "card", ...children)];
}

export function linesOf(rows, empty = "none") {
  return rows.length > 0 ? rows : [el("div", "empty", empty)];
}

/** A command to type. */
export function typed(command) {
  return el("code", "typed", command);
}

export function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** In the time zone of the reader; what is no time stays as it is. */
export function timeOf(written) {
  const time = new Date(written);
  return Number.isNaN(time.getTime()) ? written : time.toLocaleString();
}
