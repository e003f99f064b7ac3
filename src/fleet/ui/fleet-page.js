// The page of the fleet in a browser: all nodes, and one of them. What devices have chosen is only ever set as text.

const TOKEN = "agent-fleet-token";
const ROW_PX = 3.5 * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
/** Rows above and below what is seen. */
const SPARE = 8;

const at = (id) => document.getElementById(id);
const nodes = new Map();
let shown = [];
let isDrawn = true;

// The address keeps no token: neither the history nor a shared link has it.
const given = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
if (given !== undefined) {
  sessionStorage.setItem(TOKEN, given);
  history.replaceState(null, "", "/");
}

function ask(path) {
  const token = sessionStorage.getItem(TOKEN) ?? "";
  return fetch(path, { headers: { authorization: `Bearer ${token}` } });
}

async function good(answer) {
  if (answer.ok) return answer;
  throw new Error((await answer.text()).trim());
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function followNodes() {
  for (;;) {
    try {
      const { body } = await good(await ask("/api/nodes"));
      at("link").textContent = "";
      const reader = body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ;) {
        const { done, value } = await reader.read();
        if (done) break;
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        for (const part of parts) take(JSON.parse(part.slice("data: ".length)));
      }
      throw new TypeError("ended");
    } catch (error) {
      at("link").textContent =
        error instanceof TypeError
          ? "agent fleet ui does not answer; start it again"
          : error.message;
    }
    await wait(2000);
  }
}

function take({ isReset, rows, removed }) {
  if (isReset) nodes.clear();
  for (const name of removed) nodes.delete(name);
  for (const row of rows) nodes.set(row.name, row);
  if (isReset || rows.some(({ name }) => name === chosen())) void showDetails();
  later();
}

/** At most once a frame. */
function later() {
  if (!isDrawn) return;
  isDrawn = false;
  requestAnimationFrame(() => {
    isDrawn = true;
    select();
    draw();
  });
}

function select() {
  const words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const state = at("state").value;
  shown = [...nodes.values()]
    .filter((row) => isState(row, state) && words.every((word) => matches(row, word)))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const online = shown.filter((row) => row.state === "online").length;
  const trouble = shown.filter((row) => row.isTrouble).length;
  at("count").textContent =
    `${shown.length} of ${nodes.size} nodes, ${online} online, ${trouble} in trouble`;
}

function isState(row, state) {
  if (state === "") return true;
  if (state === "trouble") return row.isTrouble;
  return (row.state === "online") === (state === "online");
}

function matches(row, word) {
  const [key, value] = word.split("=");
  if (value === undefined)
    return `${row.name} ${row.state} ${row.version} ${row.phase} ${row.troubles.join(" ")}`
      .toLowerCase()
      .includes(word);
  if (key === "group") return row.groups.some((group) => group.toLowerCase() === value);
  return String(row[key] ?? "").toLowerCase() === value;
}

/** Only the rows that are seen are elements. */
function draw() {
  const view = at("view");
  const space = at("rows");
  space.style.height = `${shown.length * ROW_PX}px`;
  const first = Math.max(0, Math.floor(view.scrollTop / ROW_PX) - SPARE);
  const last = Math.ceil((view.scrollTop + view.clientHeight) / ROW_PX) + SPARE;
  const focused = document.activeElement?.getAttribute("href");
  space.replaceChildren(
    ...shown.slice(first, last).map((row, index) => {
      const item = el("div", "", rowLink(row));
      item.setAttribute("role", "listitem");
      item.setAttribute("aria-setsize", String(shown.length));
      item.setAttribute("aria-posinset", String(first + index + 1));
      item.style.transform = `translateY(${(first + index) * ROW_PX}px)`;
      return item;
    }),
  );
  if (focused?.startsWith("#/node/"))
    space.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

function rowLink(row) {
  const link = el(
    "a",
    "fleet-row",
    el("span", "name", row.name),
    el("span", row.state === "online" ? "good" : "bad", row.state),
    el("span", row.isTrouble ? "bad" : "dim", row.phase || row.ready),
    el("span", "dim wide", row.version),
    el("span", "warn wide", [...row.troubles, ...clock(row)].join(", ")),
  );
  link.href = `#/node/${encodeURIComponent(row.name)}`;
  return link;
}

function clock(row) {
  return row.time === "" || row.isClockTrusted ? [] : ["clock not synchronised"];
}

/** Children that are strings become text, never HTML. */
function el(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className !== "") element.className = className;
  element.append(...children);
  return element;
}

function chosen() {
  const name = /^#\/node\/(.+)$/.exec(location.hash)?.[1];
  return name === undefined ? undefined : decodeURIComponent(name);
}

async function showDetails() {
  const name = chosen();
  at("list").hidden = name !== undefined;
  at("details").hidden = name === undefined;
  if (name === undefined) return later();
  try {
    const answer = await good(await ask(`/api/node/${encodeURIComponent(name)}`));
    const node = await answer.json();
    if (chosen() === name) at("details").replaceChildren(...sections(node));
  } catch (error) {
    at("details").replaceChildren(el("p", "bad", error.message));
  }
}

function sections(node) {
  const facts = el("dl", "facts card");
  const lines = [
    ["State", node.state],
    ["Ready", node.ready],
    ["Trouble", node.troubles.join(", ")],
    ["Agent", node.version],
    ["Clock", node.isClockTrusted ? "synchronised" : "not synchronised"],
    ["Reported", node.time],
    ["Address", node.address],
    ...node.info,
  ];
  for (const [key, value] of lines)
    if (value !== "") facts.append(el("dt", "", key), el("dd", "", value));
  return [
    el("div", "bar", el("h1", "", node.name)),
    facts,
    ...list("Documents", node.documents, (one) => [one.source, one.phase, one.message]),
    ...list("Pods", node.podLines, (one) => [
      `${one.namespace}/${one.name}`,
      one.phase,
      one.ready,
      one.reason,
    ]),
    ...list("Last events", node.events, (one) => [
      one.time,
      one.type,
      one.object,
      one.reason,
      one.message,
    ]),
  ];
}

function list(title, all, cells) {
  const lines = all.map((one) => el("div", "line", cells(one).filter(Boolean).join("  ")));
  return [
    el("h2", "", title),
    el("div", "card", ...(lines.length > 0 ? lines : [el("div", "empty", "none")])),
  ];
}

at("search").addEventListener("input", later);
at("state").addEventListener("change", later);
at("view").addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
addEventListener("resize", later);
addEventListener("hashchange", () => void showDetails());
void showDetails();
void followNodes();
