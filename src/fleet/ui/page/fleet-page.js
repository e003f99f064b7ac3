// The page of the fleet in a browser: all nodes, one of them, the rollouts of all groups, and one of those.

import { at } from "./elements.js";
import { begin, follow, setTrouble } from "./link.js";
import { drawList, takeRows } from "./node-list.js";
import * as nodePage from "./node-page.js";
import * as rolloutPage from "./rollout-page.js";

const AWAY = "no connection to the broker; shown is what was seen last";
/** Events come without a row. */
const NODE_MS = 5000;

function take(change) {
  if (change.about !== undefined) {
    nodePage.setAbout(change.about);
    rolloutPage.setAbout(change.about);
  }
  if (change.isAway !== undefined) setTrouble(change.isAway ? AWAY : "");
  if (change.rollouts !== undefined) rolloutPage.takeRollouts(change.rollouts);
  if (change.rows === undefined) return;
  takeRows(change);
  const { node } = place();
  if (node !== undefined && change.rows.some(({ name }) => name === node))
    void nodePage.showNode(node);
}

/** What the address names. */
function place() {
  const [, kind = "", name] = /^#\/(node|rollouts?)(?:\/(.+))?$/.exec(location.hash) ?? [];
  const decoded = name === undefined ? undefined : decodedName(name);
  return {
    node: kind === "node" ? decoded : undefined,
    group: kind === "rollout" ? decoded : undefined,
    section: kind === "node" && decoded !== undefined ? "details" : kind === "" ? "list" : kind,
  };
}

function decodedName(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function show() {
  const { node, group, section } = place();
  for (const id of ["list", "details", "rollouts", "rollout"]) at(id).hidden = id !== section;
  const isRollout = section.startsWith("rollout");
  current(at("to-nodes"), !isRollout);
  current(at("to-rollouts"), isRollout);
  rolloutPage.openRollout(group);
  if (node !== undefined) nodePage.openNode(node);
  if (section === "list") drawList();
  else scrollTo(0, 0);
}

function current(link, isCurrent) {
  if (isCurrent) link.setAttribute("aria-current", "page");
  else link.removeAttribute("aria-current");
}

/** The address keeps no token: neither the history nor a shared link has it. */
async function enter() {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (token !== undefined) {
    history.replaceState(null, "", "/");
    // A token that is old shows with the first request.
    await begin(token).catch(() => undefined);
  }
  void follow(take);
}

addEventListener("hashchange", show);
setInterval(() => {
  const { node } = place();
  if (node !== undefined && !document.hidden) void nodePage.showNode(node);
}, NODE_MS);
show();
void enter();
