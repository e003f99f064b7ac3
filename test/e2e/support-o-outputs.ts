// Everything that an agent gives out: verbs in every format, paths of its API, its files, a bundle, answers to commands.

import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { Limiter } from "../../src/lib/concurrency-limit.ts";
import { ignoring } from "../../src/lib/errors.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import type { BrokerClient, Collector } from "../harness/broker-client.ts";
import { eventually } from "../harness/eventually.ts";
import { run } from "../harness/run-command.ts";
import { topicOf } from "./support-b-upstream.ts";
import type { Output } from "./support-o-search.ts";

const KINDS = [
  "pods",
  "nodes",
  "events",
  "configmaps",
  "secrets",
  "persistentvolumeclaims",
  "namespaces",
  "images",
  "desired",
  "rejections",
];
const FORMATS = [
  [],
  ["-o", "wide"],
  ["-o", "json"],
  ["-o", "yaml"],
  ["-o", "jsonpath={.items}"],
  ["-o", "jsonpath-as-json={.items[*]}"],
  ["-o", "custom-columns=A:.metadata,B:.data,C:.spec,D:.status,E:.stringData"],
];
const LISTS = KINDS.filter((kind) => !["images", "desired", "rejections"].includes(kind));

/** `files`: manifests with values, also such as are refused. */
export async function fromVerbs(
  agent: AgentProcess,
  pods: readonly string[],
  files: readonly string[],
): Promise<readonly Output[]> {
  const config = ["--config", agent.paths.config];
  const calls = [
    ...KINDS.flatMap((kind) => FORMATS.map((format) => ["get", kind, "-A", ...format])),
    ["get", "secrets", "-A", "--show-labels", "--show-kind"],
    ["get", "pods,secrets,configmaps", "-A", "-o", "name"],
    ...["pods", "node", "configmaps", "secrets", "pvc"].map((kind) => ["describe", kind]),
    ...pods.flatMap((pod) => [
      ["explain", `pod/${pod}`],
      ["explain", `pod/${pod}`, "-o", "json"],
      ["get", "events", "--for", `pod/${pod}`, "-o", "yaml"],
    ]),
    ["check", ...config],
    ["check", "-o", "json", ...config],
    ["config", "print", ...config],
    ["config", "print", "-o", "json", ...config],
    ["top", "pod", "-A", "--containers"],
    ["top", "node"],
    ["images", "ls"],
    ["trust", "show"],
    ["kubeconfig", "--list"],
    ["version"],
    ["validate", ...files],
    ...files.flatMap((file) => [
      ["diff", "-f", file],
      ["apply", "-f", file, "--dry-run", "server"],
    ]),
  ];
  const few = new Limiter(3);
  return Promise.all(
    calls.map(async (args) => {
      const { stdout, stderr } = await few.run(() => agent.cli(...args));
      return { where: `agent ${args.join(" ")}`, text: stdout + stderr };
    }),
  );
}

/** `agent support-bundle`, and each of its files. `directory`: for the archive. */
export async function fromBundle(
  agent: AgentProcess,
  directory: string,
): Promise<readonly Output[]> {
  const archive = join(directory, "bundle.tar.gz");
  const args = ["support-bundle", "--logs", "-o", archive, "--config", agent.paths.config];
  const { stdout, stderr, code } = await agent.cli(...args);
  if (code !== 0) throw new Error(stderr);
  const unpacked = join(directory, "unpacked");
  await run(["mkdir", "-p", unpacked]);
  await run(["tar", "-xzf", archive, "-C", unpacked]);
  return [{ where: "agent support-bundle", text: stdout + stderr }, ...fromFiles(unpacked, "")];
}

/** Of one user; throws if the connection fails. */
export type Ask = (path: string, accept?: string) => Promise<Response>;

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const WATCH_MS = 500;

/** `query`: of the lists. */
export async function fromApi(
  ask: Ask,
  pods: readonly string[],
  { who, query }: { readonly who: string; readonly query: string },
): Promise<readonly Output[]> {
  const unknown = await (await ask("/no-such-path")).text();
  const listed = /the paths are (.*)/.exec(unknown)?.[1]?.split(", ") ?? [];
  if (listed.length < 10) throw new Error(`${who} is shown no paths: ${unknown}`);
  const v3 = (await (await ask("/openapi/v3")).json()) as {
    readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
  };
  const paths = [
    ...listed,
    ...Object.values(v3.paths).map(({ serverRelativeURL }) => serverRelativeURL),
    "/openapi/v2",
    "/openapi/v3",
    "/api",
    "/apis",
    "/api/v1",
    "/apis/agent/v1",
    "/metrics/resource",
    "/metrics/probes",
    "/ui/page.js",
    "/ui/page.css",
    "/ui/login",
    "/kubeconfig",
    "/apis/metrics.k8s.io/v1beta1/pods",
    ...["desired", "rejections", "images"].map((kind) => `/apis/agent/v1/${kind}`),
    ...pods.flatMap((pod) => [`/explain/default/${pod}`, `/api/v1/namespaces/default/pods/${pod}`]),
  ];
  const outputs: Output[] = [];
  const note = async (path: string, accept?: string): Promise<void> => {
    const response = await ask(path, accept);
    const headers = JSON.stringify([...response.headers]);
    outputs.push({
      where: `${who} GET ${path} ${accept ?? ""}`,
      text: headers + (await response.text()),
    });
  };
  for (const path of paths) await note(path);
  const ofKind = async (kind: string): Promise<void> => {
    await note(`/api/v1/${kind}?${query}`);
    await note(`/api/v1/${kind}?${query}`, TABLE);
    for (const accept of [undefined, TABLE]) {
      const path = `/api/v1/${kind}?watch=true&allowWatchBookmarks=true&${query}`;
      outputs.push({
        where: `${who} WATCH ${path}`,
        text: await beginningOf(await ask(path, accept)),
      });
    }
  };
  await Promise.all(LISTS.map(ofKind));
  return outputs;
}

/** What a watch sends at once. */
async function beginningOf(response: Response): Promise<string> {
  const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
  const parts: Uint8Array[] = [];
  const isOver = Bun.sleep(WATCH_MS).then(() => undefined);
  for (;;) {
    const part = await Promise.race([reader?.read(), isOver]);
    if (part === undefined || part.done) break;
    parts.push(part.value);
  }
  await reader?.cancel();
  return Buffer.concat(parts).toString();
}

/** Files below, as far as they lie on the same disk: what a Secret's own volume holds is in memory. */
export function fromFiles(directory: string, without: string): readonly Output[] {
  const { dev } = lstatSync(directory);
  return readdirSync(directory).flatMap((name): readonly Output[] => {
    const where = join(directory, name);
    const stat = ignoring(["ENOENT"], () => lstatSync(where));
    if (stat === undefined || stat.dev !== dev || where === without) return [];
    if (stat.isDirectory()) return fromFiles(where, without);
    // Files of containers that ended long ago are removed meanwhile.
    const text = ignoring(["ENOENT"], () => (stat.isFile() ? readFileSync(where) : undefined));
    return text === undefined ? [] : [{ where, text }];
  });
}

/** What the node publishes by itself, and its answers to each command that reads. */
export async function fromBroker(
  node: string,
  client: BrokerClient,
  { sent, pods }: { readonly sent: Collector; readonly pods: readonly string[] },
): Promise<readonly Output[]> {
  const commands = [
    ...["pods", "node", "events", "rejected"].map((kind) => ["get", { kind }] as const),
    ...pods.flatMap((pod) => [["describe", { pod }] as const, ["explain", { pod }] as const]),
  ];
  for (const [index, [verb, args]] of commands.entries()) {
    const id = `01JD${String(Date.now()).padStart(16, "0")}${String(index).padStart(6, "0")}`;
    await client.publish(topicOf(node, "command"), { id, verb, args, target: { node } });
    await eventually(`${verb} ${JSON.stringify(args)} is answered`, () =>
      sent.messages.some(
        ({ topic, payload }) => topic.endsWith("/response") && payload.includes(id),
      ),
    );
  }
  return sent.messages
    .filter(({ topic }) => topic !== topicOf(node, "desired"))
    .map(({ topic, payload }) => ({ where: topic, text: payload }));
}
