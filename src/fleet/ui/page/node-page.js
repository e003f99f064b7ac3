// One node: what it reported, its last events, and the log of a pod on demand.

import { at, el, linesOf, timeOf, titled, typed } from "./elements.js";
import { ask, order } from "./link.js";

let about = { isReadOnly: true, flags: "" };
let shown = "";

export function setAbout(given) {
  about = given;
}

/** What is known of the node now. What is the same stays as it is, with what a person has selected in it. */
export async function showNode(name) {
  try {
    const text = await (await ask(`/api/node/${encodeURIComponent(name)}`)).text();
    if (text === shown || at("details").dataset.node !== name) return;
    shown = text;
    at("facts").replaceChildren(...sections(JSON.parse(text)));
  } catch (error) {
    if (at("details").dataset.node !== name) return;
    shown = "";
    at("facts").replaceChildren(el("p", "bad", error.message));
  }
}

/** Another node: nothing of the last one stays. */
export function openNode(name) {
  shown = "";
  at("details").dataset.node = name;
  at("facts").replaceChildren(el("h1", "", name));
  at("log").replaceChildren();
  void showNode(name);
}

function sections(node) {
  const facts = el("dl", "facts card");
  const lines = [
    ["State", node.state],
    ["Ready", node.ready],
    ["Agent", node.version],
    ["Clock", node.isClockTrusted ? "synchronised" : "not synchronised"],
    ["Reported", node.time === "" ? "" : timeOf(node.time)],
    ["Address", node.address],
    ["Groups", node.groups.join(", ")],
    ...node.info,
  ];
  for (const [key, value] of lines)
    if (value !== "") facts.append(el("dt", "", key), el("dd", "", value));
  const labels = node.labels.map((label) => el("span", "chip", label));
  return [
    el("div", "bar", el("h1", "", node.name), el("span", stateClass(node), node.state)),
    ...(labels.length > 0 ? [el("p", "chips", ...labels)] : []),
    facts,
    ...titled("Documents", ...linesOf(node.documents.map(documentLine))),
    ...titled("Pods", ...linesOf(node.podLines.map((pod) => podLine(node.name, pod)))),
    ...titled("Conditions", ...linesOf(node.conditions.map(conditionLine))),
    ...titled(
      "Events",
      ...linesOf(node.events.map(eventLine), "none since this command has begun"),
    ),
  ];
}

function stateClass({ state }) {
  return state === "online" ? "good" : "bad";
}

function documentLine({ source, phase, message }) {
  return line(el("span", "name", source), el("span", "dim", phase), el("div", "dim", message));
}

function conditionLine({ type, status, reason, message }) {
  const isTrouble = (type === "Ready") === (status !== "True");
  return line(
    el("span", "name", type),
    el("span", isTrouble ? "bad" : "good", status),
    el("span", "dim", reason),
    el("div", "dim", message),
  );
}

function eventLine({ time, type, object, reason, message }) {
  return line(
    el("time", "dim", timeOf(time)),
    el("span", type === "Warning" ? "warn" : "dim", reason),
    el("span", "name", object),
    el("div", "", message),
  );
}

function podLine(node, pod) {
  const { namespace, name, phase, ready, reason, restarts } = pod;
  const button = el("button", "", "Logs");
  button.addEventListener("click", () => void showLog(node, pod));
  const restarted = restarts === "0" ? "" : `${restarts} restarts`;
  const isWell = phase === "Running" || phase === "Succeeded";
  return line(
    el("span", "name", `${namespace}/${name}`),
    el("span", isWell ? "good" : "bad", phase),
    el("span", "dim", ready),
    el("span", "warn", [reason, restarted].filter(Boolean).join(", ")),
    button,
  );
}

/** Parts without text are left out. */
function line(...parts) {
  return el("div", "line parts", ...parts.filter(({ textContent }) => textContent !== ""));
}

async function showLog(node, { namespace, name }, container) {
  const heading = el("h2", "", `Log of ${namespace}/${name}`);
  if (about.isReadOnly) {
    const command = `agent fleet logs ${node} ${name} -n ${namespace} --key signing.pem ${about.flags}`;
    const why = "This page has no key to sign a command with (agent fleet ui --key). Type:";
    at("log").replaceChildren(heading, el("p", "dim", why), typed(command.trim()));
    return at("log").scrollIntoView();
  }
  const pre = el("pre", "log", "asking the node …");
  pre.tabIndex = 0;
  at("log").replaceChildren(heading, containerForm(node, { namespace, name }, container), pre);
  at("log").scrollIntoView();
  try {
    const body = { namespace, pod: name, ...(container ? { container } : {}) };
    const answer = await order(`/api/node/${encodeURIComponent(node)}/logs`, body);
    const { lines } = await answer.json();
    pre.textContent = lines.length > 0 ? lines.join("\n") : "the log is empty";
    pre.scrollTop = pre.scrollHeight;
  } catch (error) {
    pre.replaceWith(el("p", "bad", error.message));
  }
}

/** A report does not name the containers of a pod. */
function containerForm(node, pod, container = "") {
  const field = el("input", "");
  field.value = container;
  field.placeholder = "container";
  field.setAttribute("aria-label", "Container");
  const form = el("form", "bar", field, el("button", "", "Read again"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void showLog(node, pod, field.value.trim());
  });
  return form;
}
