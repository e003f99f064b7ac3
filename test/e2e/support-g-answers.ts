// A node that has accepted generation 5 of epoch e1, and what it answers to whatever comes next.

import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { sha256 } from "../../src/lib/system-sha256.ts";
import type { Ack, RejectedLine } from "../../src/protocol/reported-state.ts";
import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import { plainPod } from "./support-b-pods.ts";
import { runningApps, type RunningContainer, type Stage } from "./support-b-stage.ts";
import { desired, publishDesired, Upstream } from "./support-b-upstream.ts";
import { signed, trustKey, type TestKey } from "./support-f-signing.ts";

export interface AnsweringOptions {
  /** Further fields below `mqtt`. */
  readonly mqtt?: Readonly<Record<string, unknown>>;
  /** The root key in trust.d; the first document is signed with it. */
  readonly root?: TestKey;
  /** What the kernel says of the clock; absent = what it says. */
  readonly clock?: "synchronised" | "adrift";
  /** Before the agent starts. */
  readonly prepare?: (agent: AgentProcess) => void;
  /** False: it has accepted nothing yet. */
  readonly first?: false;
}

export interface Answering {
  readonly name: string;
  readonly broker: Broker;
  readonly agent: AgentProcess;
  readonly upstream: Upstream;
  /** What runs, of the first document. */
  readonly pods: readonly RunningContainer[];
  readonly stage: Stage;
  /** Killed and started again, with the same clock. */
  readonly restart: () => Promise<void>;
}

export interface Refusal {
  readonly what: string;
  readonly code: number;
  /** Of its sentence. */
  readonly says: RegExp;
  readonly payload: object | string;
  /** Some of the lines that name document, object and path. */
  readonly names?: readonly Partial<RejectedLine>[];
}

/** Many nodes start at once. */
const STARTED_WITHIN_MS = 90_000;

/** Different on every node: on one containerd the same pod cannot run twice. */
export function goodPod(node: string, fields: object = {}): object {
  return plainPod("good", node, fields);
}

/** The next document, unless `fields` say otherwise. */
export function nextDocument(node: string, fields: object = {}): object {
  return desired(node, { generation: 6, epoch: "e1", resources: [goodPod(node)], ...fields });
}

export async function answering(
  stage: Stage,
  name: string,
  { mqtt = {}, root, clock, prepare, first }: AnsweringOptions = {},
): Promise<Answering> {
  const { temp, agent: makeAgent, containerd } = stage;
  const broker = await startBroker(temp, { name: `${name}-broker` });
  const upstream = await Upstream.follow(await broker.client(), name);
  const trustPath = join(temp.directory(`${name}-etc`), "trust.d");
  const agent = makeAgent(name, { broker, mqtt, config: { trustPath } });
  prepare?.(agent);
  if (root !== undefined) trustKey(trustPath, "root.pub", root);
  const document = nextDocument(name, { generation: 5 });
  if (first !== false)
    await publishDesired(broker, name, root === undefined ? document : signed(document, [root]));
  startWithClock(agent, clock);
  await agent.waitReady(STARTED_WITHIN_MS);
  if (first !== false)
    await upstream.ack("generation 5 is healthy", ({ code }) => code === 200, STARTED_WITHIN_MS);
  const pods = await runningApps(containerd(), name);
  expect(pods.map((pod) => pod.name)).toEqual(first === false ? [] : ["good"]);
  const restart = async (): Promise<void> => {
    await agent.kill("SIGKILL");
    startWithClock(agent, clock);
    await agent.waitReady();
  };
  return { name, broker, agent, upstream, pods, stage, restart };
}

/** Refused, told so, and nothing else: generation 5 is what runs and is answered for. */
export async function isRefusedWith(node: Answering, refusal: Refusal): Promise<Ack> {
  const { name, broker, upstream } = node;
  const { what, code, says, payload, names = [] } = refusal;
  await publishDesired(broker, name, payload);
  const digests = digestsOf(payload);
  const ack = await upstream.ack(
    `${what} is answered with ${code}`,
    ({ lastRejected: told }) =>
      told?.code === code && says.test(told.message) && digests.includes(told.digest),
  );
  const report = upstream.reports().at(-1);
  for (const line of names)
    expect([line, report?.rejected.some((one) => Bun.deepMatch(line, one))]).toEqual([line, true]);
  await isUntouched(node, ack);
  return ack;
}

/** Of the message, and of what is inside if it is an envelope. */
function digestsOf(payload: object | string): readonly string[] {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  const { payload: inside = "" } = JSON.parse(text) as { readonly payload?: string };
  return [text, Buffer.from(inside, "base64")].map((bytes) => `sha256:${sha256(bytes)}`);
}

async function isUntouched({ name, pods, stage }: Answering, ack: Ack): Promise<void> {
  expect(ack).toMatchObject(
    pods.length === 0
      ? { epoch: "", generation: 0, observedGeneration: 0, phase: "Rejected" }
      : { epoch: "e1", generation: 5, observedGeneration: 5, code: 200, phase: "Healthy" },
  );
  expect(await runningApps(stage.containerd(), name)).toEqual([...pods]);
}

/** Each one after the other; a node reports every ten seconds at most. */
export async function refusesAll(node: Answering, refusals: readonly Refusal[]): Promise<void> {
  for (const refusal of refusals) await isRefusedWith(node, refusal);
}

/** Accepted, with the pods that run staying what they are. */
export async function isTaken(
  { name, broker, upstream, pods, stage }: Answering,
  payload: object | string,
  version: Partial<Ack>,
): Promise<void> {
  await publishDesired(broker, name, payload);
  const expected = { epoch: "e1", ...version };
  await upstream.ack(
    `${JSON.stringify(expected)} is healthy`,
    (ack) => ack.code === 200 && Bun.deepMatch(expected, ack) && ack.lastRejected === undefined,
  );
  if (pods.length > 0) expect(await runningApps(stage.containerd(), name)).toEqual([...pods]);
}

export async function ends({ agent, broker, upstream }: Answering): Promise<void> {
  expect(agent.running).toBe(true);
  await agent.kill();
  await upstream.client.close();
  await broker.stop();
}

/** What the agent has logged of its judgements: of each the generation, or the code it was refused with. */
export function judgements(agent: AgentProcess): readonly string[] {
  return agent.logLines().flatMap((line) => {
    if (line.msg === "accepted a desired document")
      return [`accepted ${String(line["generation"])}`];
    if (line.msg === "refused a desired document") return [`refused ${String(line["code"])}`];
    return [];
  });
}

/** Published and judged; gives the judgement. Quicker than a report. */
export async function judged({ name, broker, agent }: Answering, payload: object | string) {
  const before = judgements(agent).length;
  await publishDesired(broker, name, payload);
  return eventually("it is judged", () => judgements(agent)[before], {
    timeout: 60_000,
    explain: () => agent.logTail(),
  });
}

const CLOCK_PROGRAM = resolve(import.meta.dir, "support-g-clock.ts");

/** Starts the agent below a filter that answers for the kernel. */
export function startWithClock(agent: AgentProcess, clock: AnsweringOptions["clock"]): void {
  if (clock === undefined) return agent.start();
  const wrapper = join(agent.paths.directory, "agent-with-clock");
  const words = [process.execPath, CLOCK_PROGRAM, clock, agentBinary()].join(" ");
  writeFileSync(wrapper, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
  agent.start(wrapper);
}
