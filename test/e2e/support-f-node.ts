// A node with keys: what it refuses, accepts and shows, read from its own log and doors.

import { expect } from "bun:test";
import { join } from "node:path";

import type { TrustView } from "../../src/trust/trust-view.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import { getNode } from "./support-a-agent.ts";
import { plainPod } from "./support-b-pods.ts";
import { runningApps, type RunningContainer, type Stage } from "./support-b-stage.ts";
import { desired, publishDesired } from "./support-b-upstream.ts";

export interface KeyedNode {
  readonly stage: Stage;
  readonly name: string;
  readonly broker: Broker;
  readonly agent: AgentProcess;
  readonly trustPath: string;
}

/** On a broker of its own, with a directory for keys that is not there yet; not started. */
export async function newNode(stage: Stage, name: string): Promise<KeyedNode> {
  const { temp, agent: makeAgent } = stage;
  const broker = await startBroker(temp, { name: `${name}-broker` });
  const trustPath = join(temp.directory(`${name}-etc`), "trust.d");
  const agent = makeAgent(name, { broker, config: { trustPath } });
  return { stage, name, broker, agent, trustPath };
}

export function document(node: KeyedNode, generation: number, fields: object = {}): object {
  const resources = [plainPod("web", node.name)];
  return desired(node.name, { generation, epoch: "e1", resources, ...fields });
}

/** Refusals in the agent's own log: reports are ten seconds apart. */
function refusals(agent: AgentProcess, code: number): readonly string[] {
  return agent
    .logLines()
    .filter((line) => line["msg"] === "refused a desired document" && line["code"] === code)
    .map((line) => JSON.stringify(line));
}

export async function isRefused(
  { name, broker, agent }: KeyedNode,
  payload: object | string,
  { code, says }: { readonly code: number; readonly says: RegExp },
): Promise<void> {
  const before = refusals(agent, code).length;
  await publishDesired(broker, name, payload);
  await eventually(
    `it is refused with ${code}`,
    () =>
      refusals(agent, code)
        .slice(before)
        .some((line) => says.test(line)),
    { timeout: 60_000, interval: 50, explain: () => `${agent.logTail(20)}\n${broker.logTail()}` },
  );
}

export async function isAccepted(
  { name, broker, agent }: KeyedNode,
  payload: object | string,
  generation: number,
): Promise<void> {
  const before = accepted(agent, generation);
  await publishDesired(broker, name, payload);
  await eventually(
    `generation ${generation} is accepted`,
    () => accepted(agent, generation) > before,
    { timeout: 60_000, interval: 50, explain: () => `${agent.logTail(20)}\n${broker.logTail()}` },
  );
}

/** How often a document of this generation was accepted. */
export function accepted(agent: AgentProcess, generation: number): number {
  return agent
    .logLines()
    .filter(
      (line) => line["msg"] === "accepted a desired document" && line["generation"] === generation,
    ).length;
}

export async function untilRunning({
  stage,
  name,
  agent,
}: KeyedNode): Promise<readonly RunningContainer[]> {
  return eventually(
    `the pod of ${name} runs`,
    async () => {
      const apps = await runningApps(stage.containerd(), name);
      return apps.length === 1 ? apps : undefined;
    },
    { timeout: 60_000, interval: 100, explain: () => agent.logTail(40) },
  );
}

export async function shown({ agent }: KeyedNode): Promise<TrustView> {
  const { code, stdout, stderr } = await agent.cli("trust", "show", "-o", "json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as TrustView;
}

/** What `agent get node` says of the condition; undefined = it does not have it. */
export async function trustUnavailable({ agent }: KeyedNode): Promise<string | undefined> {
  const node = await getNode(agent);
  const found = node.status.conditions?.find(({ type }) => type === "TrustUnavailable");
  return found?.status === "True" ? found.message : undefined;
}
