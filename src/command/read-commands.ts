// The commands that only read: ping, get, describe, explain.

import { podName } from "../api/v1/pod.ts";
import { rfc3339 } from "../lib/clock.ts";
import { eventList } from "../node/events-list.ts";
import { podList, v1Pod, type PodEntry } from "../node/pod-list.ts";
import { running, type Runs } from "./run-verb.ts";
import { failure, type CommandOutcome } from "./response.ts";
import { explainFacts, explainPod } from "../node/explain/explain-pod.ts";
import { VERBS, type ArgumentsOf } from "./verbs.ts";
import { redactValue, secretTexts, withoutValues } from "../node/redact.ts";
import { v1Node, type ServerFacts } from "../node/node-api.ts";

/** What these commands read of the node. */
export type ReadFacts = Pick<
  ServerFacts,
  "pods" | "events" | "rejected" | "node" | "objects" | "desired" | "healthProblems"
>;

export interface ReadOptions {
  readonly facts: ReadFacts;
  readonly version: string;
  readonly nodeName: string;
  readonly session: number | undefined;
  /** Wall-clock milliseconds. */
  readonly now: number;
}

export function readCommands(
  options: () => ReadOptions,
): Pick<Runs, "ping" | "get" | "describe" | "explain"> {
  const facts = (): ReadFacts => options().facts;
  return {
    ping: running(VERBS.ping, () => ping(options())),
    get: running(VERBS.get, (args, { statusOnly }) => get(args, statusOnly, facts())),
    describe: running(VERBS.describe, (args) => describe(args, facts())),
    explain: running(VERBS.explain, (args) => explain(args, facts())),
  };
}

function ping({ version, nodeName, session, now }: ReadOptions): CommandOutcome {
  const data = { node: nodeName, agent: version, time: rfc3339(now) };
  return { code: 200, data: session === undefined ? data : { ...data, session } };
}

/** `statusOnly`: no more than the reports contain. */
function get(
  { kind, namespace, name }: ArgumentsOf<"get">,
  statusOnly: boolean,
  facts: ReadFacts,
): CommandOutcome {
  const matches = (of: { readonly namespace?: string; readonly name?: string }): boolean =>
    (namespace === undefined || of.namespace === namespace) &&
    (name === undefined || of.name === name);
  switch (kind) {
    case "pod":
    case "pods": {
      const pods = facts.pods().filter(({ pod }) => matches(pod.metadata));
      if (pods.length === 0 && name !== undefined) return unknownPod(namespace, name);
      const items = statusOnly ? pods.map(statusOf) : podList(pods.map(withoutValues)).items;
      return list(facts, "PodList", items);
    }
    case "node": {
      const { name: own, status } = facts.node();
      const data = statusOnly
        ? { kind: "Node", metadata: { name: own }, status }
        : { ...v1Node(facts.node()), problems: facts.healthProblems() };
      return { code: 200, data };
    }
    case "event":
    case "events":
      if (statusOnly) return unsigned("events");
      return list(
        facts,
        "EventList",
        eventList(facts.events().filter(({ object }) => matches(object))).items,
      );
    case "rejected":
      if (statusOnly) return unsigned("rejected");
      return list(facts, "RejectedList", facts.rejected().filter(matches));
  }
}

function describe(
  { namespace, pod: name }: ArgumentsOf<"describe">,
  facts: ReadFacts,
): CommandOutcome {
  const entry = entryOf(facts, namespace, name);
  if (entry === undefined) return unknownPod(namespace, name);
  const events = facts
    .events()
    .filter(({ object }) => object.kind === "Pod" && isNamed(object, namespace, name));
  const rejected = facts.rejected().filter((one) => isNamed(one, namespace, name));
  const data = { pod: v1Pod(withoutValues(entry)), rejected };
  return redacted(facts, data, { name: "events", items: eventList(events).items });
}

function explain(
  { namespace, pod: name }: ArgumentsOf<"explain">,
  facts: ReadFacts,
): CommandOutcome {
  const shown = entryOf(facts, namespace, name);
  const explanation = explainPod({
    namespace,
    name,
    entry: shown === undefined ? undefined : withoutValues(shown),
    ...explainFacts(facts, namespace),
  });
  if (explanation === undefined) return unknownPod(namespace, name);
  return redacted(facts, { ...explanation });
}

function entryOf(facts: ReadFacts, namespace: string, name: string): PodEntry | undefined {
  return facts.pods().find(({ pod }) => isNamed(pod.metadata, namespace, name));
}

function isNamed(
  of: { readonly namespace?: string; readonly name?: string },
  namespace: string,
  name: string,
): boolean {
  return of.namespace === namespace && of.name === name;
}

/** No more than the reports contain. */
function statusOf(entry: PodEntry): object {
  const { namespace, name, uid } = entry.pod.metadata;
  return { kind: "Pod", metadata: { namespace, name, uid }, status: withoutValues(entry).status };
}

function list(facts: ReadFacts, kind: string, items: readonly unknown[]): CommandOutcome {
  return { ...redacted(facts, {}, { name: "items", items }), data: { kind } };
}

/** The answer without the texts of Secrets. */
function redacted(
  facts: ReadFacts,
  data: Readonly<Record<string, unknown>>,
  list?: CommandOutcome["list"],
): CommandOutcome {
  const objects = facts.objects(undefined).map(({ object }) => object);
  const secrets = secretTexts(
    objects,
    facts.pods().map(({ pod }) => pod),
  );
  const hide = (value: unknown): unknown => redactValue(value, secrets);
  const members = Object.entries(data).map(([key, one]): [string, unknown] => [key, hide(one)]);
  return {
    code: 200,
    data: Object.fromEntries(members),
    ...(list === undefined ? {} : { list: { ...list, items: list.items.map(hide) } }),
  };
}

function unsigned(kind: string): CommandOutcome {
  const message = `this node requires signatures: without one, get is allowed for pods and node, not for ${kind}; sign the command`;
  return failure(401, "Unauthorized", message);
}

export function unknownPod(namespace: string | undefined, name: string): CommandOutcome {
  const wanted = namespace === undefined ? name : podName({ metadata: { namespace, name } });
  return failure(404, "NotFound", `there is no pod ${wanted} on this node`);
}
