// A node in groups on a broker of its own: documents by mosquitto_pub, and what comes of them.

import { readdirSync } from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import { execSync } from "../harness/exec-sync.ts";
import { run } from "../harness/run-command.ts";
import { plainPod } from "./support-b-pods.ts";
import { runningApps, runningPods, type Stage } from "./support-b-stage.ts";
import { topicOf } from "./support-b-upstream.ts";

export interface Member {
  readonly stage: Stage;
  readonly name: string;
  readonly broker: Broker;
  readonly agent: AgentProcess;
}

/** `groups`: of its configuration. Not started. */
export async function newMember(
  stage: Stage,
  name: string,
  groups: readonly object[],
): Promise<Member> {
  const broker = await startBroker(stage.temp, { name: `${name}-broker` });
  const agent = stage.agent(name, { broker, mqtt: { groups } });
  return { stage, name, broker, agent };
}

export interface Fields {
  readonly generation: number;
  readonly resources: readonly object[];
  readonly [field: string]: unknown;
}

/** To `node/<n>` or `group/<g>`. */
export async function publish(broker: Broker, to: string, fields: Fields): Promise<void> {
  const [kind = "", name = ""] = to.split("/");
  const head = { apiVersion: "agent/v1", kind: "DesiredState", target: { [kind]: name } };
  const text = JSON.stringify({ ...head, policy: { minReadySeconds: 0 }, ...fields });
  const retained = ["-q", "1", "-r", "-t", `agent/v1/${to}/desired`];
  const { code, stderr } = await run(
    ["mosquitto_pub", "-h", "127.0.0.1", "-p", String(broker.port), ...retained, "-s"],
    { stdin: text, timeout: 60_000 },
  );
  if (code !== 0) throw new Error(`mosquitto_pub ended with ${code}: ${stderr}`);
}

/** Running pods, by name. */
export async function runs(member: Member, ...pods: readonly string[]): Promise<void> {
  const { stage, name, agent } = member;
  const wanted = pods.toSorted().join(" ");
  await eventually(
    `${name} runs ${wanted}`,
    async () => {
      const running = (await runningPods(stage.containerd(), name)).join(" ");
      if (running !== wanted) throw new Error(`it runs ${running}`);
      return true;
    },
    { timeout: 60_000, interval: 100, explain: () => agent.logTail(40) },
  );
}

/** `node 2 200`, `group/kiosks 0 400 (412)`: generation and code of each document, and what was refused last. */
export async function answers(member: Member, ...wanted: readonly string[]): Promise<void> {
  const { broker, name, agent } = member;
  await using client = await broker.client();
  await eventually(
    `${name} reports ${wanted.join(", ")}`,
    async () => {
      const report = (await client.retainedJSON(topicOf(name, "reported"))) as Report | undefined;
      const told = (report?.desired ?? [])
        .filter(({ source }) => source !== "static")
        .map((ack) => {
          const refused = ack.lastRejected === undefined ? "" : ` (${ack.lastRejected.code})`;
          return `${ack.source} ${ack.generation} ${ack.code}${refused}`;
        });
      if (told.join(", ") !== wanted.join(", ")) throw new Error(`it reports ${told.join(", ")}`);
      return true;
    },
    { timeout: 60_000, interval: 200, explain: () => agent.logTail(40) },
  );
}

interface Report {
  readonly desired: readonly {
    readonly source: string;
    readonly generation: number;
    readonly code: number;
    readonly lastRejected?: { readonly code: number };
  }[];
  readonly rejected: readonly { readonly code: string; readonly name?: string; source: string }[];
}

/** Codes of what the node lists as rejected, with the name of the object. */
export async function rejected({ broker, name }: Member): Promise<readonly string[]> {
  await using client = await broker.client();
  const report = (await client.retainedJSON(topicOf(name, "reported"))) as Report | undefined;
  return (report?.rejected ?? []).map((one) => `${one.code} ${one.name ?? ""} of ${one.source}`);
}

/** The node's answer to a `ping` to the whole group. */
export async function pong({ broker, name }: Member, group: string): Promise<unknown> {
  await using client = await broker.client();
  const said = await client.collect(topicOf(name, "response"));
  const id = "01JD5V7N8K3Q4R5S6T7V8W9X0Y";
  const issuedAt = new Date().toISOString();
  const ping = { id, verb: "ping", target: { group }, issuedAt };
  await client.publish(`agent/v1/group/${group}/command`, ping);
  const { payload } = await said.next((message) => message.payload.includes(id), 15_000);
  return JSON.parse(payload);
}

/** What the command in the container of this pod says. */
async function says(
  { stage, name }: Member,
  pod: string,
  command: readonly string[],
): Promise<string> {
  const app = (await runningApps(stage.containerd(), name)).find((one) => one.name === pod);
  if (app === undefined) throw new Error(`${pod} does not run`);
  return (await execSync(stage.containerd(), app.id, command)).stdout.trim();
}

/** Until what is read is what is wanted. */
export async function becomes(
  { agent }: Member,
  read: () => Promise<string>,
  wanted: string,
): Promise<void> {
  await eventually(
    `a pod says ${wanted}`,
    async () => {
      const found = await read();
      if (found !== wanted) throw new Error(`it says ${found}`);
      return true;
    },
    { timeout: 60_000, explain: () => agent.logTail(40) },
  );
}

/** Of `ownPod`. */
export async function variantOf(member: Member, pod: string): Promise<string> {
  const line = await says(member, pod, ["sh", "-c", "tr '\\0' '\\n' </proc/1/cmdline | tail -n 1"]);
  return line.slice(member.name.length + 1);
}

/** Of a reader pod. */
export function wordOf(member: Member, pod: string): Promise<string> {
  return says(member, pod, ["sh", "-c", 'echo "$WORD"']);
}

/** Files of documents of groups, by name. */
export function checkpoints({ agent }: Member): readonly string[] {
  return readdirSync(join(agent.paths.state, "desired")).filter((name) => name.includes("group"));
}

/** Of this node only: other agents on the same containerd have no pod of this spec. */
export function ownPod({ name }: Member, pod: string, variant = "", fields: object = {}): object {
  return plainPod(pod, `${name} ${variant}`, fields);
}

/** A pod whose variable `WORD` is a key of a ConfigMap. */
export function readerPod(
  member: Member,
  name: string,
  { from, key }: { readonly from: string; readonly key: string },
): object {
  const pod = ownPod(member, name) as { readonly spec: { readonly containers: readonly object[] } };
  const valueFrom = { configMapKeyRef: { name: from, key } };
  const [container] = pod.spec.containers;
  const containers = [{ ...container, env: [{ name: "WORD", valueFrom }] }];
  return { ...pod, spec: { ...pod.spec, containers } };
}

export function configMap(name: string, data: Readonly<Record<string, string>>): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data };
}
