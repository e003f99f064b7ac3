// The page of the node in a browser: what runs, what does not and why. It asks the same API as kubectl, and nothing else.

const main = document.getElementById("main");
/** Set by the page that has begun the session. */
const KEY = "agent-session-key";

// --- Asking ---------------------------------------------------------------------------------------------------

/** A cookie goes to every port of its host; the key leaves this origin only with requests of this page. */
async function ask(path, options = {}) {
  const sessionKey = localStorage.getItem(KEY);
  if (sessionKey === null) return fetch(path, options);
  const headers = { ...options.headers, [KEY]: sessionKey };
  const answer = await fetch(path, { ...options, headers });
  if (answer.status === 401) leave();
  return answer;
}

/** Without a session: to the page that explains how to get one. */
function leave() {
  localStorage.removeItem(KEY);
  location.replace("/ui/login");
}

async function logOut() {
  await ask("/ui/session", { method: "DELETE" }).catch(() => undefined);
  leave();
}

async function read(path) {
  const answer = await ask(path);
  if (!answer.ok) throw new Error(await sentence(answer));
  return answer.json();
}

/** What the agent says about a refusal. */
async function sentence(answer) {
  const text = await answer.text();
  try {
    return JSON.parse(text).message ?? text;
  } catch {
    return text.trim() || `HTTP ${answer.status}`;
  }
}

/** Calls `take` with each line of a stream until it ends. */
async function lines(path, take, signal) {
  const answer = await ask(path, { signal });
  if (!answer.ok) throw new Error(await sentence(answer));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) take(part);
  }
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Aborts when the tab is hidden: a browser has six connections to an origin, which all its tabs share. */
let whileShown = new AbortController();

document.addEventListener("visibilitychange", () => {
  if (document.hidden) whileShown.abort();
  else whileShown = new AbortController();
});

async function untilShown() {
  while (document.hidden)
    await new Promise((resolve) =>
      document.addEventListener("visibilitychange", resolve, { once: true }),
    );
}

/** Keeps the objects of one list up to date, for as long as the page is open. */
class Follower {
  objects = new Map();
  trouble = "";

  constructor(path, onChange) {
    this.path = path;
    this.onChange = onChange;
    void this.run();
  }

  async run() {
    for (let pause = 500; ; pause = Math.min(pause * 2, 10_000)) {
      await untilShown();
      try {
        const list = await read(this.path);
        this.objects = new Map(list.items.map((object) => [key(object), object]));
        this.become("");
        pause = 500;
        await this.watch(list.metadata.resourceVersion);
      } catch (error) {
        if (error.name === "AbortError") continue;
        this.become(error instanceof TypeError ? "the agent does not answer" : error.message);
      }
      await wait(pause);
    }
  }

  async watch(version) {
    const take = (line) => {
      const { type, object } = JSON.parse(line);
      if (type === "ERROR") return;
      if (type === "DELETED") this.objects.delete(key(object));
      else this.objects.set(key(object), object);
      this.become("");
    };
    const path = `${this.path}?watch=true&resourceVersion=${version}`;
    await lines(path, take, whileShown.signal);
  }

  become(trouble) {
    this.trouble = trouble;
    this.onChange();
  }
}

const key = ({ metadata }) => `${metadata.namespace ?? ""}/${metadata.name}`;

// --- Showing --------------------------------------------------------------------------------------------------

/** An element; text is never read as HTML. */
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

function age(time) {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
  if (Number.isNaN(seconds)) return "";
  for (const [size, unit] of [
    [86_400, "d"],
    [3600, "h"],
    [60, "m"],
  ])
    if (seconds >= 2 * size) return `${Math.floor(seconds / size)}${unit}`;
  return `${seconds}s`;
}

/** kubectl's STATUS, with the reason of the container that is in the way. */
function stateOf({ metadata, status }) {
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const waiting = containers.map((one) => one.state.waiting).find((one) => one !== undefined);
  const failed = containers
    .map((one) => one.state.terminated)
    .find((one) => one !== undefined && one.exitCode !== 0);
  const why = waiting?.message ?? failed?.message ?? status.message ?? "";
  if (metadata.deletionTimestamp !== undefined) return { word: "Terminating", why };
  if (status.phase === "Succeeded") return { word: "Completed", why: "" };
  const word = status.reason ?? waiting?.reason ?? failed?.reason ?? status.phase;
  return { word, why: word === "Running" ? "" : why };
}

function readiness({ spec, status }) {
  const ready = (status.containerStatuses ?? []).filter((one) => one.ready).length;
  return { ready, all: spec.containers.length };
}

function tone(pod) {
  const { word } = stateOf(pod);
  const { ready, all } = readiness(pod);
  if (word === "Completed") return "idle";
  if (word === "Running") return ready === all ? "good" : "warn";
  if (["Pending", "ContainerCreating", "PodInitializing", "Terminating"].includes(word))
    return "warn";
  return "bad";
}

const restarts = ({ status }) =>
  [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].reduce(
    (sum, one) => sum + one.restartCount,
    0,
  );

const sourceOf = ({ metadata: { annotations = {} } }) =>
  [annotations["kubernetes.io/config.source"], annotations["agent/source-ref"]]
    .filter((word) => word !== undefined)
    .join(" ");

const isTrue = (object, type) =>
  (object.status.conditions ?? []).some((one) => one.type === type && one.status === "True");

/** Also true of each device that has booted without a network. */
const problems = (node) =>
  (node.status.conditions ?? []).filter(
    ({ type, status }) => type !== "Ready" && type !== "ClockUntrusted" && status === "True",
  );

function podRow(pod) {
  const { word, why } = stateOf(pod);
  const { ready, all } = readiness(pod);
  const { namespace, name } = pod.metadata;
  return el(
    "a",
    { class: "row", href: `#/pod/${namespace}/${name}` },
    el(
      "span",
      { class: "name" },
      name,
      el("span", { class: "dim" }, namespace === "default" ? "" : ` ${namespace}`),
    ),
    el("span", {}, `${ready}/${all}`),
    el("span", { class: tone(pod) }, word),
    el("span", { class: "restarts" }, String(restarts(pod))),
    el("span", { class: "age dim" }, age(pod.status.startTime ?? pod.metadata.creationTimestamp)),
    why === "" ? undefined : el("span", { class: "why" }, why),
  );
}

function refusedLine({ ref, line, path, message, code, name }) {
  const place = [ref, line].filter((part) => part !== undefined).join(":");
  return el(
    "div",
    { class: "line" },
    el("span", { class: code === "Ignored" ? "warn" : "bad" }, code),
    ` ${name ?? ""} ${path}${path === "" ? "" : ": "}${message} `,
    el("span", { class: "dim" }, place),
  );
}

/** `isOwn`: on the page of the object that it is about. */
function eventLine({ type, reason, message, involvedObject, lastTimestamp, count }, isOwn) {
  return el(
    "div",
    { class: "line" },
    el("time", { class: "dim", datetime: lastTimestamp, title: lastTimestamp }, age(lastTimestamp)),
    " ",
    el("span", { class: type === "Warning" ? "bad" : "idle" }, reason),
    isOwn === true
      ? " "
      : el(
          "span",
          { class: "dim" },
          ` ${involvedObject.kind.toLowerCase()}/${involvedObject.name} `,
        ),
    message,
    count > 1 ? el("span", { class: "dim" }, ` ×${count}`) : undefined,
  );
}

const card = (children, empty) =>
  el(
    "div",
    { class: "card rows" },
    ...(children.length > 0 ? children : [el("div", { class: "empty" }, empty)]),
  );

const section = (title, ...children) => [el("h2", {}, title), ...children];

function conditionLine({ type, status, reason, message }) {
  const isBad = (type === "Ready") === (status !== "True");
  return el(
    "div",
    { class: "line" },
    el("span", { class: isBad ? "bad" : "good" }, type),
    el("span", { class: "dim" }, ` ${status} ${reason} `),
    message,
  );
}

// --- Views ----------------------------------------------------------------------------------------------------

let rejected = [];
let updates = [];
const followers = {
  pods: new Follower("/api/v1/pods", changed),
  events: new Follower("/api/v1/events", changed),
  nodes: new Follower("/api/v1/nodes", changed),
};

const node = () => [...followers.nodes.objects.values()][0];
const sortedPods = () =>
  [...followers.pods.objects.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
const newestEvents = () =>
  [...followers.events.objects.values()].sort(
    (a, b) => Date.parse(b.lastTimestamp) - Date.parse(a.lastTimestamp),
  );

function podsView() {
  const head = el(
    "div",
    { class: "row head" },
    ...["Pod", "Ready", "Status", "Restarts", "Age"].map((title) => el("span", {}, title)),
  );
  const pods = sortedPods().map(podRow);
  return [
    ...(rejected.length === 0
      ? []
      : section(
          "Refused",
          el("div", { class: "card rows", id: "refused" }, ...rejected.map(refusedLine)),
        )),
    ...(updates.length === 0 ? [] : section("Updates", card(updates.map(updateLine), ""))),
    ...section(
      "Pods",
      card(pods.length === 0 ? [] : [head, ...pods], "No pod is declared on this node."),
    ),
    ...section(
      "Newest events",
      card(
        newestEvents()
          .slice(0, 8)
          .map((event) => eventLine(event)),
        "Nothing has happened yet.",
      ),
    ),
  ];
}

function updateLine({ source, generation, phase, code, message }) {
  const isBad = code >= 400;
  return el(
    "div",
    { class: "line" },
    el("span", { class: isBad ? "bad" : code === 202 ? "warn" : "good" }, phase),
    el(
      "span",
      { class: "dim" },
      source === "static" ? ` files (${code}) ` : ` ${source} generation ${generation} (${code}) `,
    ),
    message ?? "",
  );
}

const eventsView = () =>
  section(
    "Events",
    card(
      newestEvents().map((event) => eventLine(event)),
      "Nothing has happened yet.",
    ),
  );

function nodeView() {
  const one = node();
  if (one === undefined) return [el("p", { class: "dim" }, "Waiting for the node…")];
  const {
    nodeInfo = {},
    capacity = {},
    allocatable = {},
    conditions = [],
    addresses = [],
  } = one.status;
  const facts = {
    Agent: nodeInfo.kubeletVersion,
    Runtime: nodeInfo.containerRuntimeVersion,
    System: `${nodeInfo.osImage}, ${nodeInfo.kernelVersion}, ${nodeInfo.architecture}`,
    Addresses: addresses.map(({ type, address }) => `${address} (${type})`).join(", "),
    Capacity: Object.entries(capacity)
      .map(([name, amount]) => `${name} ${amount}`)
      .join(", "),
    Allocatable: Object.entries(allocatable)
      .map(([name, amount]) => `${name} ${amount}`)
      .join(", "),
  };
  return [
    ...section(
      "Node",
      el(
        "dl",
        { class: "card facts" },
        ...Object.entries(facts).flatMap(([name, fact]) => [
          el("dt", {}, name),
          el("dd", {}, fact ?? ""),
        ]),
      ),
    ),
    ...section("Conditions", card(conditions.map(conditionLine), "")),
  ];
}

/** The open log, which goes on while the rest of the view is drawn anew. */
class LogView {
  constructor(namespace, name, container) {
    this.of = `${namespace}/${name}/${container}`;
    this.element = el("pre", { class: "log", tabindex: 0, "aria-label": `log of ${container}` });
    this.stop = new AbortController();
    void this.run(namespace, name, container);
  }

  async run(namespace, name, container) {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/log`;
    let tail = 200;
    while (!this.stop.signal.aborted) {
      const query = new URLSearchParams({ container, follow: "true", tailLines: String(tail) });
      const signal = AbortSignal.any([this.stop.signal, whileShown.signal]);
      try {
        await lines(`${path}?${query}`, (line) => this.add(`${line}\n`), signal);
      } catch (error) {
        if (this.stop.signal.aborted) return;
        if (signal.aborted) {
          await untilShown();
          this.element.replaceChildren();
          tail = 200;
          continue;
        }
        this.note(error.message);
      }
      tail = 0;
      await wait(1000);
    }
  }

  note(text) {
    if (this.last === text) return;
    this.last = text;
    this.add(`— ${text}\n`);
  }

  add(text) {
    const { element } = this;
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
    element.append(text);
    while (element.childNodes.length > 2000) element.firstChild.remove();
    if (isAtEnd) element.scrollTop = element.scrollHeight;
  }
}

let log;

function openLog(namespace, name, container) {
  if (log?.of === `${namespace}/${name}/${container}`) return log;
  log?.stop.abort();
  log = new LogView(namespace, name, container);
  return log;
}

let chosen;

function choose(select) {
  chosen = select.value;
  select.blur();
  draw();
}

function podView(namespace, name) {
  const pod = followers.pods.objects.get(`${namespace}/${name}`);
  if (pod === undefined)
    return [el("p", { class: "dim" }, `There is no pod ${namespace}/${name} on this node.`)];
  const { word, why } = stateOf(pod);
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(
    (one) => one.name,
  );
  const container = containers.includes(chosen) ? chosen : pod.spec.containers[0].name;
  const pick = el(
    "select",
    { "aria-label": "container", onchange: ({ target }) => choose(target) },
    ...containers.map((one) => el("option", { selected: one === container ? "" : undefined }, one)),
  );
  const own = newestEvents().filter(
    ({ involvedObject: about }) =>
      about.kind === "Pod" && about.namespace === namespace && about.name === name,
  );
  const statuses = [
    ...(pod.status.initContainerStatuses ?? []),
    ...(pod.status.containerStatuses ?? []),
  ];
  return [
    el(
      "div",
      { class: "bar" },
      el("h1", {}, name),
      el("span", { class: `badge ${tone(pod)}`, id: "state" }, word),
      el("span", { class: "grow" }),
      action("Restart", `Restart the containers of ${name}?`, `/pods/${namespace}/${name}/restart`),
      action("Hold", `Let updates of ${name} wait?`, `/pods/${namespace}/${name}/hold`),
      action("Release", undefined, `/pods/${namespace}/${name}/release`),
    ),
    el("p", { id: "said", class: "dim", role: "status" }, said),
    explanationOf(namespace, name, why),
    ...section("Containers", card(statuses.map(containerLine), "No container was created yet.")),
    el("div", { class: "bar" }, el("h2", {}, "Log"), containers.length > 1 ? pick : undefined),
    openLog(namespace, name, container).element,
    ...section(
      "Events",
      card(
        own.map((event) => eventLine(event, true)),
        "Nothing has happened to this pod lately.",
      ),
    ),
    ...section(
      "Pod",
      el(
        "dl",
        { class: "card facts" },
        ...Object.entries({
          Source: sourceOf(pod),
          Address: pod.status.podIP ?? "",
          Started: pod.status.startTime ?? "",
          Images: pod.spec.containers.map(({ image }) => image).join(", "),
        }).flatMap(([title, fact]) => [el("dt", {}, title), el("dd", {}, fact)]),
      ),
    ),
  ];
}

function explanationOf(namespace, name, why) {
  const found = explanations.get(`${namespace}/${name}`);
  const causes = found?.causes ?? [];
  if (causes.length === 0) return why === "" ? undefined : el("p", { id: "why" }, why);
  return el(
    "div",
    { class: "card rows", id: "why" },
    ...causes.map(({ element, reason, message }) =>
      el(
        "div",
        { class: "line" },
        el("span", { class: "bad" }, reason),
        el("span", { class: "dim" }, ` ${element ?? ""} `),
        message,
      ),
    ),
    found.advice === undefined ? undefined : el("div", { class: "line" }, found.advice),
  );
}

function containerLine({ name, state, lastState, restartCount, ready }) {
  const [word] = Object.keys(state);
  const detail = state.waiting?.reason ?? state.terminated?.reason ?? "";
  const last = lastState?.terminated;
  return el(
    "div",
    { class: "line" },
    el("span", { class: ready ? "good" : "warn" }, name),
    el("span", { class: "dim" }, ` ${word ?? "unknown"} ${detail} `),
    state.waiting?.message ?? "",
    restartCount > 0 ? el("span", { class: "dim" }, ` restarted ${restartCount} times`) : undefined,
    last === undefined
      ? undefined
      : el("span", { class: "dim" }, `, last exit ${last.exitCode} ${last.reason}`),
  );
}

let said = "";

function action(title, question, path) {
  const button = el("button", { type: "button" }, title);
  button.addEventListener("click", async () => {
    if (question !== undefined && !(await isConfirmed(question))) return;
    say(`${title}…`);
    const answer = await ask(path, { method: "POST" }).catch(() => undefined);
    if (answer === undefined) return say("The agent does not answer.");
    say(answer.ok ? `${title}: done.` : await sentence(answer));
  });
  return button;
}

function say(text) {
  said = text;
  draw();
}

function isConfirmed(question) {
  const dialog = document.getElementById("ask");
  document.getElementById("question").textContent = question;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

// --- The frame ------------------------------------------------------------------------------------------------

const explanations = new Map();

function view() {
  const [, kind = "", namespace = "", name = ""] = location.hash.split("/").map(decodeURIComponent);
  if (kind === "pod") return podView(namespace, name);
  log?.stop.abort();
  log = undefined;
  if (kind === "events") return eventsView();
  if (kind === "node") return nodeView();
  return podsView();
}

/** A list that is open, or text that is marked, would be lost. */
const isInUse = () =>
  document.activeElement instanceof HTMLSelectElement || getSelection()?.isCollapsed === false;

function draw() {
  const one = node();
  const ready = document.getElementById("ready");
  document.getElementById("node").textContent = one?.metadata.name ?? "";
  if (one !== undefined) {
    const wrong = problems(one).map(({ type }) => type);
    const isReady = isTrue(one, "Ready");
    ready.textContent = [isReady ? "Ready" : "NotReady", ...wrong].join(", ");
    ready.className = `badge ${!isReady ? "bad" : wrong.length > 0 ? "warn" : "good"}`;
    document.title = `${one.metadata.name} – agent`;
  }
  document.getElementById("link").textContent =
    Object.values(followers)
      .map(({ trouble }) => trouble)
      .find((trouble) => trouble !== "") ?? "";
  for (const link of document.querySelectorAll("nav a"))
    link.toggleAttribute("aria-current", (location.hash || "#/") === link.getAttribute("href"));
  const scroll = log?.element.scrollTop;
  main.replaceChildren(...view().filter((child) => child !== undefined));
  if (log !== undefined && scroll !== undefined) log.element.scrollTop = scroll;
}

let isDrawing = false;

/** Many changes at once are one drawing. */
function changed() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    if (!isInUse()) draw();
  });
  void lookBeside();
}

let isLooking = false;

/** What has no watch of its own: refusals, updates, and why the open pod does not run. */
async function lookBeside() {
  if (isLooking || document.hidden) return;
  isLooking = true;
  const [, kind = "", namespace = "", name = ""] = location.hash.split("/").map(decodeURIComponent);
  try {
    rejected = await read("/rejected");
    updates = (await read("/desired")).items;
    if (kind === "pod")
      explanations.set(`${namespace}/${name}`, await read(`/explain/${namespace}/${name}`));
    draw();
  } catch {
    // The followers report that the agent does not answer.
  }
  await wait(500);
  isLooking = false;
}

const logOutButton = document.getElementById("log-out");
logOutButton.hidden = localStorage.getItem(KEY) === null;
logOutButton.addEventListener("click", () => void logOut());
addEventListener("hashchange", () => {
  said = "";
  draw();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
  void lookBeside();
});
setInterval(changed, 10_000);
