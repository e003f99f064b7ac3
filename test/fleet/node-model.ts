// What a simulated node has to say, found out once by a whole agent on virtual time: five pods of files that run.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { AgentConfig, MqttConfig } from "../../src/config/config.ts";
import type { Edges } from "../../src/edges.ts";
import type { NodeTruth, ReportedPod } from "../../src/upstream/report/acknowledge.ts";
import { aPodNamed, UpstreamBench } from "../agent/upstream-bench.ts";

const NAMES = ["web", "proxy", "camera", "printer", "sensor"];
const SETTLE_MS = 60_000;
const SITES = ["berlin", "hamburg", "lisbon", "oslo", "porto"];

export interface NodeModel {
  readonly edges: Edges;
  readonly mqtt: MqttConfig;
  readonly frequency: AgentConfig["nodeStatusReportFrequencyMs"];
  readonly truth: NodeTruth;
}

export async function makeNodeModel(): Promise<NodeModel> {
  using bench = new UpstreamBench();
  const manifests = join(bench.root, "manifests");
  mkdirSync(manifests, { recursive: true });
  for (const name of NAMES)
    writeFileSync(join(manifests, `${name}.yaml`), JSON.stringify(aPodNamed(name)));
  bench.start();
  await bench.clock.advance(SETTLE_MS);
  const truth = bench.facts.truth();
  await bench.stop();
  const { edges, mqtt, config } = bench;
  const health = new Map(
    [...truth.health].map(([uid, one]) => [uid, { ...one, readySince: 0 }] as const),
  );
  if (truth.shown.length !== NAMES.length)
    throw new Error(`${truth.shown.length} of ${NAMES.length} pods run on the model of a node`);
  const frequency = config.nodeStatusReportFrequencyMs;
  return { edges, mqtt, frequency, truth: { ...truth, health } };
}

/** Labels by which a page or a rollout may choose nodes; of the node with this number. */
export function labelsOf(number: number): NodeTruth["labels"] {
  return { site: SITES[number % SITES.length] ?? "", floor: String(number % 12) };
}

/** The same node with pods of its documents; `ready`: those that run. */
export function withPods(
  truth: NodeTruth,
  pods: readonly ReportedPod["desired"][],
  ready: ReadonlySet<string>,
): Pick<NodeTruth, "pods" | "shown" | "health"> {
  const [model] = truth.shown;
  const like = model === undefined ? undefined : truth.health.get(model.desired.uid);
  if (model === undefined || like === undefined) throw new Error("the model has no pod");
  const own = pods.map((desired): ReportedPod => {
    const { status } = model;
    return { desired, status: ready.has(desired.uid) ? status : undefined };
  });
  const health = new Map(truth.health);
  for (const { uid } of pods) if (ready.has(uid)) health.set(uid, { ...like, uid });
  return { pods: [...truth.pods, ...own], shown: [...truth.shown, ...own], health };
}
