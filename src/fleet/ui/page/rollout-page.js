// The rollouts of all groups, and one of them: its steps, its nodes, what has happened, and what may be done.

import { at, el, linesOf, setText, timeOf, titled, typed } from "./elements.js";
import { order } from "./link.js";

const STAGES = ["Healthy", "Updating", "Failed", "Held", "Away", "Excluded", "Waiting"];
const PHASES = {
  Waiting: "waits for its first step",
  Updating: "nodes are updating",
  Baking: "this step is good so far",
  Due: "the next step is due",
  Failing: "too many nodes have failed",
  Paused: "paused",
  Done: "good at the last step",
  AtOnce: "for all nodes at once",
};
const CHANGES = {
  pause: ["Updating", "Baking", "Due", "Failing"],
  resume: ["Waiting", "Paused", "Updating", "Baking", "Due", "Failing"],
  undo: ["Updating", "Baking", "Due", "Failing", "Paused", "Done"],
};
const NAMES = { pause: "Pause", resume: "Resume", undo: "Undo" };

let about = { isReadOnly: true, flags: "" };
let rollouts = [];
/** The one that is open. */
let card;

export function setAbout(given) {
  about = given;
  if (card !== undefined) openRollout(card.group);
}

export function takeRollouts(rows) {
  rollouts = rows;
  if (!at("rollouts").hidden) drawGroups();
  card?.update();
}

/** `group`: undefined = none is open. */
export function openRollout(group) {
  card = group === undefined ? undefined : new RolloutCard(group);
  at("rollout").replaceChildren(...(card === undefined ? [] : [card.root]));
  card?.update();
  if (card === undefined) drawGroups();
}

function drawGroups() {
  const focused = document.activeElement?.getAttribute("href");
  at("groups").replaceChildren(
    ...linesOf(rollouts.map(groupLine), "no group has a document on this broker"),
  );
  const again = [...at("groups").children].find((one) => one.getAttribute("href") === focused);
  if (focused !== undefined) again?.focus({ preventScroll: true });
}

function groupLine(row) {
  const link = el(
    "a",
    "line group",
    el("span", "name", row.group),
    el("span", "dim", `generation ${row.generation}`),
    el("span", phaseClass(row), phaseText(row)),
    barOf(row),
  );
  link.href = `#/rollout/${encodeURIComponent(row.group)}`;
  return link;
}

function phaseText({ phase, percent, counts }) {
  if (phase === "Done" && counts.Failed > 0)
    return `${percent} %, the last step, and ${nodesText(counts.Failed)} failed`;
  return phase === "AtOnce" || phase === "Waiting"
    ? PHASES[phase]
    : `${percent} %, ${PHASES[phase]}`;
}

function phaseClass({ phase, counts }) {
  if (phase === "Failing") return "bad";
  if (phase === "Paused" || phase === "Due" || counts.Failed > 0) return "warn";
  return phase === "Done" ? "good" : "dim";
}

/** Widths by the number of nodes in each state. */
function barOf({ counts, nodes }) {
  const bar = el("div", "progress");
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", countsText(counts));
  for (const stage of STAGES.filter((one) => counts[one] > 0)) {
    const part = el("div", `stage-${stage}`);
    part.style.width = `${(100 * counts[stage]) / nodes}%`;
    bar.append(part);
  }
  return bar;
}

function countsText(counts) {
  const some = STAGES.filter((stage) => counts[stage] > 0);
  return some.map((stage) => `${counts[stage]} ${stage}`).join(", ") || "no nodes";
}

const reached = ({ nodes, counts }) => nodes - counts.Waiting;

/** What stays the same keeps its elements: the focus, and what a person has unfolded. */
class RolloutCard {
  #phase = el("span", "badge");
  #sentence = el("p", "");
  #countdown = el("span", "dim");
  #bar = el("div", "");
  #counts = el("div", "counts");
  #steps = el("ol", "steps");
  #tools = el("div", "tools");
  #action = el("div", "");
  #lines = el("div", "");
  #unfold = el("details", "card", el("summary", "line", "All that it printed"), this.#lines);
  #failedTitle = el("h2", "", "Failed nodes");
  #failed = el("div", "card");
  #log = el("div", "");
  #kept = el("p", "dim");
  #generation = el("span", "dim");
  #row;

  constructor(group) {
    this.group = group;
    this.#action.setAttribute("role", "status");
    this.root = el(
      "div",
      "",
      el("div", "bar", el("h1", "", group), this.#generation, this.#phase),
      el("div", "card pad", this.#sentence, this.#bar, this.#counts, this.#steps, this.#tools),
      this.#action,
      this.#unfold,
      this.#failedTitle,
      this.#failed,
      ...titled("History", this.#log),
      this.#kept,
    );
  }

  update() {
    const row = rollouts.find(({ group }) => group === this.group);
    if (row === undefined) {
      setText(this.#sentence, "the broker has no document of this group");
      return;
    }
    this.#row = row;
    setText(this.#generation, `generation ${row.generation}`);
    setText(this.#phase, phaseText(row));
    this.#phase.className = `badge ${phaseClass(row)}`;
    this.#sentence.replaceChildren(sentence(row), " ", this.#countdown);
    this.tick();
    this.#bar.replaceChildren(barOf(row));
    this.#counts.replaceChildren(...STAGES.map((stage) => countOf(row, stage)));
    this.#steps.replaceChildren(...row.steps.map(stepOf));
    this.#updateTools(row);
    this.#action.replaceChildren(...actionLines(row.action));
    const lines = row.action?.lines ?? [];
    this.#unfold.hidden = lines.length < 3;
    this.#lines.replaceChildren(...lines.map((line) => el("div", "line dim", line)));
    this.#failedTitle.hidden = row.failed.length === 0;
    this.#failed.hidden = row.failed.length === 0;
    this.#failed.replaceChildren(...failedLines(row));
    this.#log.replaceChildren(...linesOf(row.log.toReversed().map(logLine)));
    const kept =
      row.kept.length === 0 ? "" : `Kept to go back to: generations ${row.kept.join(", ")}.`;
    setText(this.#kept, kept);
  }

  /** Every second. */
  tick() {
    const left = Math.ceil((Date.parse(this.#row?.until ?? "") - Date.now()) / 1000);
    setText(this.#countdown, left > 0 ? `(${durationOf(left)} left)` : "");
  }

  #updateTools(row) {
    const may = Object.keys(CHANGES).filter((change) => mayChange(row, change));
    const key = `${about.isReadOnly} ${may.join()}`;
    if (this.#tools.dataset.key === key) return;
    this.#tools.dataset.key = key;
    this.#tools.replaceChildren(
      ...(about.isReadOnly ? commands(this.group, may) : may.map((change) => this.#button(change))),
    );
  }

  #button(change) {
    const button = el("button", change === "undo" ? "danger" : "", NAMES[change]);
    button.addEventListener("click", () => void this.#ask(change));
    return button;
  }

  async #ask(change) {
    const row = this.#row;
    if (!(await isConfirmed(change, row))) return;
    const { group, generation, percent } = row;
    try {
      await order(`/api/rollout/${encodeURIComponent(group)}/${change}`, { generation, percent });
    } catch (error) {
      this.#action.replaceChildren(el("p", "bad", `${NAMES[change]}: ${error.message}`));
    }
  }
}

function mayChange({ phase, action }, change) {
  const isOwn = action?.isRunning === true && action.change === "resume";
  return CHANGES[change].includes(phase) && !(change === "resume" && isOwn);
}

function commands(group, may) {
  if (may.length === 0) return [];
  const why =
    "This page only reads, because agent fleet ui was started without --key. To change the rollout, type:";
  const lines = may.map((change) =>
    typed(`agent fleet rollout ${change} --group ${group} --key signing.pem ${about.flags}`.trim()),
  );
  return [el("p", "dim", why), ...lines];
}

function sentence({ phase, reason, until, match, counts }) {
  const only = match.length === 0 ? "" : ` Only nodes with ${match.join(", ")} take part.`;
  if (reason !== "") return `${PHASES[phase]}: ${reason}.${only}`;
  if (until !== "") return `Baking until ${timeOf(until)}.${only}`;
  if (phase === "Due")
    return `The next step is due. If it does not come, the program that raised it has ended: resume goes on.${only}`;
  if (phase === "Done" && counts.Failed > 0)
    return `The last step is over, with no more failed nodes than the rollout allows.${only}`;
  return `${PHASES[phase][0].toUpperCase()}${PHASES[phase].slice(1)}.${only}`;
}

function countOf({ counts }, stage) {
  const item = el("span", counts[stage] > 0 ? "count" : "count none");
  item.append(el("i", `stage-${stage}`), el("b", "", String(counts[stage])), ` ${stage}`);
  return item;
}

function stepOf({ percent, nodes, place }) {
  const item = el("li", place, el("b", "", `${percent} %`), el("span", "", nodesText(nodes)));
  if (place === "present") item.setAttribute("aria-current", "step");
  return item;
}

function nodesText(count) {
  return count === 1 ? "1 node" : `${count} nodes`;
}

function failedLines({ failed, counts }) {
  const lines = failed.map(({ name, message }) => {
    const link = el("a", "name", name);
    link.href = `#/node/${encodeURIComponent(name)}`;
    return el("div", "line parts", link, el("span", "dim", message));
  });
  const more = counts.Failed - failed.length;
  return more > 0 ? [...lines, el("div", "empty", `and ${more} more`)] : lines;
}

function logLine({ time, text }) {
  return el("div", "line parts", el("time", "dim", timeOf(time)), el("span", "", text));
}

/** Of what it printed, the first and the last line. */
function actionLines(action) {
  if (action === undefined) return [];
  const { change, isRunning, lines, error, began } = action;
  const head = `${NAMES[change]}, ordered here at ${timeOf(began)}: ${isRunning ? "under way" : error === "" ? "done" : "failed"}`;
  return titled(
    head,
    ...(error === "" ? [] : [el("div", "line bad", error)]),
    ...new Set([lines.at(0), lines.at(-1)])
      .values()
      .filter(Boolean)
      .map((line) => el("div", "line dim", line)),
  );
}

function durationOf(seconds) {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

function isConfirmed(change, row) {
  const dialog = at("confirm");
  at("confirm-title").textContent = `${NAMES[change]} the rollout of group ${row.group}?`;
  at("confirm-text").textContent = consequence(change, row);
  at("confirm-yes").textContent = `${NAMES[change]} generation ${row.generation}`;
  at("confirm-yes").className = change === "undo" ? "danger" : "act";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }),
  );
}

function consequence(change, row) {
  const { group, generation, percent, nodes, steps, previousGeneration } = row;
  const have = `${reached(row)} of ${nodesText(nodes)}`;
  if (change === "pause")
    return `No further node of group ${group} takes generation ${generation}. ${have} may have it already, and keep it.`;
  if (change === "undo") {
    const what = previousGeneration === 0 ? "before" : `of generation ${previousGeneration}`;
    return `All ${nodesText(nodes)} of group ${group} get the content ${what} at once, as a new generation. ${have} may have generation ${generation}, which is at ${percent} %.`;
  }
  const next = steps.find(({ place }) => place === "future");
  const then = next === undefined ? "" : `, next ${next.percent} % with ${nodesText(next.nodes)}`;
  return `Generation ${generation} goes on for group ${group}: it is at ${percent} % with ${have}${then}. This command raises it until the last step is good, or it ends. A program elsewhere that raises it ends.`;
}

for (const [id, value] of [
  ["confirm-yes", "yes"],
  ["confirm-no", ""],
])
  at(id).addEventListener("click", () => at("confirm").close(value));
setInterval(() => card?.tick(), 1000);
