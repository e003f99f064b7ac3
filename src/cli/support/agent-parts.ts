// Performs: the parts of a bundle that the running agent answers.

import { isListOf, isPod, type PodView } from "../../node/api-views.ts";
import { isJsonObject, memberOf, type JsonObject } from "../../lib/json.ts";
import { messageOf } from "../../lib/errors.ts";
import { get } from "../get/get.ts";
import type { GetFlags } from "../get/list-path.ts";
import type { ConnectionFlags } from "../load-config.ts";
import type { LocalClient } from "../local-client.ts";
import { jsonOf, textOf, type BundleContext, type Part, type PartSink } from "./bundle-context.ts";

const SEVERAL_MS = 60_000;
/** Of one container; the newest lines are the last. */
const MAX_LOG_BYTES = 512 * 1024;
/** Pods that are explained, and containers whose logs are read. */
const MAX_PODS = 200;
const MAX_LOGS = 500;

/** By file; the values of Secrets are not asked for. */
const ANSWERS: Readonly<Record<string, string>> = {
  "agent/version.json": "/version",
  "agent/config.json": "/configz",
  "agent/users.json": "/kubeconfig",
  "agent/trust.json": "/trust",
  "agent/shutdown.json": "/shutdown",
  "agent/stats-summary.json": "/stats/summary",
  "node.json": "/api/v1/nodes",
  "pods.json": "/api/v1/pods",
  "events.json": "/api/v1/events",
  "claims.json": "/api/v1/persistentvolumeclaims",
  "secrets.json": "/api/v1/secrets?showSecrets=false",
  "desired.json": "/desired",
  "rejections.json": "/rejected",
  "images.json": "/images",
};
const TEXTS: Readonly<Record<string, string>> = {
  "metrics/metrics.txt": "/metrics",
  "metrics/resource.txt": "/metrics/resource",
  "metrics/probes.txt": "/metrics/probes",
};
/** `agent get` of these, for a reader without tools. */
const TABLES: Readonly<Record<string, GetFlags>> = {
  pods: { allNamespaces: true, output: "wide" },
  events: { allNamespaces: true },
};

export const AGENT_PARTS: readonly Part[] = [
  { name: "agent/health.txt", needsAgent: true, read: readHealth },
  ...Object.entries(ANSWERS).map(([name, path]): Part => answer(name, path)),
  ...Object.entries(TEXTS).map(([name, path]): Part => textAnswer(name, path)),
  ...Object.entries(TABLES).map(([kind, flags]): Part => table(kind, flags)),
  { name: "explain/", needsAgent: true, limitMs: SEVERAL_MS, read: readExplanations },
];

export const LOG_PART: Part = {
  name: "logs/",
  needsAgent: true,
  limitMs: SEVERAL_MS,
  read: readLogs,
};

function answer(name: string, path: string): Part {
  return {
    name,
    needsAgent: true,
    read: async ({ client }, { add }, signal) => {
      const value = await jsonOf(client, path, signal);
      add({ name, from: `the agent, GET ${path}`, content: { type: "Json", value } });
    },
  };
}

function textAnswer(name: string, path: string): Part {
  return {
    name,
    needsAgent: true,
    read: async ({ client }, { add }, signal) => {
      const { text, isWhole } = await textOf(client, path, { signal });
      const note = isWhole ? {} : { note: "its end is left out" };
      add({ name, from: `the agent, GET ${path}`, content: { type: "Text", text }, ...note });
    },
  };
}

function table(kind: string, flags: GetFlags): Part {
  const name = `${kind}.txt`;
  return {
    name,
    needsAgent: true,
    read: async (context, { add }) => {
      const text = await printedBy(context, kind, flags);
      const from = `agent get ${kind} -A${flags.output === undefined ? "" : ` -o ${flags.output}`}`;
      add({ name, from, content: { type: "Text", text } });
    },
  };
}

/** What `agent get` would print. */
async function printedBy(
  { call, client }: BundleContext,
  kind: string,
  wanted: GetFlags,
): Promise<string> {
  let text = "";
  const out = (part: string): void => void (text += part);
  const { clock, environment } = call.terminal;
  const terminal = { ...call.terminal, out, err: out, isTerminal: false, clock, environment };
  const flags = <Flags extends object>(): Flags & ConnectionFlags => ({ ...wanted }) as Flags;
  const connect = (): Promise<LocalClient> => Promise.resolve(client);
  await get({ ...call, args: [kind], flags, connect, terminal });
  return text;
}

async function readHealth({ client }: BundleContext, { add }: PartSink) {
  const problems = await client.health();
  const text = problems.length === 0 ? "ok\n" : `${problems.join("\n")}\n`;
  add({
    name: "agent/health.txt",
    from: "the agent, GET /healthz",
    content: { type: "Text", text },
  });
}

/** Of each pod that is not well. */
async function readExplanations(
  { client, logLines }: BundleContext,
  { add, leaveOut }: PartSink,
  signal: AbortSignal,
): Promise<void> {
  for (const pod of await podsOf(client, signal, (why) => leaveOut("explain/", why))) {
    const { namespace = "default", name } = pod.metadata;
    const path = `/explain/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
    const file = `explain/${namespace}_${name}.json`;
    try {
      const value = await jsonOf(client, path, signal);
      if (memberOf(value, "well") === true || !isJsonObject(value)) continue;
      const shown = logLines === undefined ? withoutLines(value) : value;
      const note = logLines === undefined ? { note: "without the last lines of its logs" } : {};
      add({
        name: file,
        from: `the agent, GET ${path}`,
        content: { type: "Json", value: shown },
        ...note,
      });
    } catch (error) {
      leaveOut(file, messageOf(error));
    }
    if (signal.aborted) return;
  }
}

/** What containers wrote is asked for with `--logs` only. */
function withoutLines(explanation: JsonObject): JsonObject {
  const { containers } = explanation;
  if (!Array.isArray(containers)) return explanation;
  return {
    ...explanation,
    containers: containers.map((one: unknown) => {
      if (!isJsonObject(one)) return one;
      const { lines: _, ...rest } = one;
      return rest;
    }),
  };
}

/** `leaveOut` takes the reason if there are too many. */
async function podsOf(
  client: BundleContext["client"],
  signal: AbortSignal,
  leaveOut: (why: string) => void,
): Promise<readonly PodView[]> {
  const { items } = await client.read("/api/v1/pods", isListOf(isPod), signal);
  if (items.length > MAX_PODS)
    leaveOut(`there are ${items.length} pods; these are the first ${MAX_PODS}`);
  return items.slice(0, MAX_PODS);
}

/** The newest lines of each container, and of its instance before. */
async function readLogs(
  { client, logLines = 0 }: BundleContext,
  { add, leaveOut }: PartSink,
  signal: AbortSignal,
): Promise<void> {
  const all = (await podsOf(client, signal, (why) => leaveOut("logs/", why))).flatMap(logsOf);
  if (all.length > MAX_LOGS)
    leaveOut("logs/", `there are ${all.length} logs; these are the first ${MAX_LOGS}`);
  for (const { path, file } of all.slice(0, MAX_LOGS)) {
    try {
      const query = `${path}&tailLines=${logLines}`;
      const { text, isWhole } = await textOf(client, query, { signal, maxBytes: MAX_LOG_BYTES });
      // Half a line could be half a secret.
      const whole = isWhole ? text : text.slice(0, text.lastIndexOf("\n") + 1);
      const note = isWhole
        ? {}
        : { note: `its lines have more than ${MAX_LOG_BYTES} bytes; the last are left out` };
      add({
        name: file,
        from: `the agent, GET ${query}`,
        content: { type: "Text", text: whole },
        ...note,
      });
    } catch (error) {
      leaveOut(file, messageOf(error));
    }
    if (signal.aborted) return;
  }
}

function logsOf({ metadata, status }: PodView) {
  const { namespace = "default", name } = metadata;
  const place = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log`;
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return containers.flatMap(({ name: container, restartCount }) => {
    const path = `${place}?container=${encodeURIComponent(container)}`;
    const file = `logs/${namespace}_${name}/${container}`;
    const before = { path: `${path}&previous=true`, file: `${file}.previous.log` };
    return [{ path, file: `${file}.log` }, ...(restartCount > 0 ? [before] : [])];
  });
}
