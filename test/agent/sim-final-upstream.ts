// Whether the broker holds the truth about the node in the end.

import type { PodStatus } from "../../src/api/v1/pod-status.ts";
import { UPDATE_CONDITIONS } from "../../src/api/pod/update-condition.ts";
import type { PodReport, ReportedState } from "../../src/protocol/reported-state.ts";
import type { SimAgent } from "./sim-agent.ts";
import { TOPIC } from "./sim-authority.ts";
import { waits } from "./sim-final-pods.ts";
import { runsAgain } from "./sim-kubernetes.ts";
import { NAMES } from "./sim-specs.ts";
import type { SimWorld } from "./sim-world.ts";

/** docs/mqtt-api.md: texts are cut to this. */
const TEXT_BYTES = 256;

export function wrongUpstream(world: SimWorld, agent: SimAgent): string | undefined {
  if (world.setup.protocolVersion === undefined) return undefined;
  return (
    wrongState(world, agent) ??
    wrongDocument(world, agent) ??
    world.rollouts.wrong(world.policy) ??
    wrongReport(world, agent) ??
    wrongTopics(world, agent)
  );
}

function wrongState(world: SimWorld, agent: SimAgent): string | undefined {
  const state = read<{ state: string; incarnation: string }>(world, TOPIC.state);
  if (state?.state !== "online") return `the broker believes the node ${state?.state}`;
  if (state.incarnation !== agent.store.incarnation.id) return "state is of another incarnation";
  return undefined;
}

function wrongDocument(world: SimWorld, agent: SimAgent): string | undefined {
  const generation = agent.store.documents.get("mqtt:node")?.generation ?? 0;
  const wanted = world.authority.generation;
  return generation === wanted ? undefined : `generation ${generation} is accepted, not ${wanted}`;
}

function wrongReport(world: SimWorld, agent: SimAgent): string | undefined {
  const reported = read<ReportedState>(world, TOPIC.reported);
  if (reported === undefined) return "nothing is reported";
  if (reported.incarnation !== agent.store.incarnation.id)
    return "the report is of another incarnation";
  const shown = agent.shown();
  const lines = new Map(reported.pods.map((line) => [line.uid, line]));
  for (const { pod, status } of shown) {
    const line = lines.get(pod.metadata.uid);
    const name = `${keyOf(world, pod.metadata.uid)} in the report`;
    if (line === undefined) return `${name} is missing`;
    if (line.phase !== status.phase) return `${name} is ${line.phase}, not ${status.phase}`;
    const all = [...status.initContainerStatuses, ...status.containerStatuses];
    const restarts = all.reduce((sum, one) => sum + one.restartCount, 0);
    if (line.restarts !== restarts) return `${name} has ${line.restarts} restarts, not ${restarts}`;
  }
  if (lines.size !== shown.length) return "the report lists pods that are gone";
  return wrongAck(world, agent, reported);
}

function wrongAck(world: SimWorld, agent: SimAgent, reported: ReportedState): string | undefined {
  const accepted = agent.store.documents.get("mqtt:node");
  const ack = reported.desired.find(({ source }) => source === "node");
  if (accepted === undefined)
    return (ack?.generation ?? 0) === 0 ? undefined : "a document that nobody has is acknowledged";
  if (ack?.generation !== accepted.generation || ack.digest !== accepted.digest)
    return `the report acknowledges generation ${ack?.generation}, not ${accepted.generation}`;
  if (ack.phase === "RolledBack") return world.rollouts.wrongRollback(ack, NAMES);
  const shown = agent.shown();
  const refused = new Set(agent.desired.notAdmitted.map(({ desired }) => desired.uid));
  const loses = world.refused().filter(({ uid }) => refused.has(uid));
  if (loses.some((spec) => world.readerOf(spec) === "mqtt"))
    return ack.code === 200 ? "a document with a refused pod is called Healthy" : undefined;
  // One that waits for another is on its way for ever.
  if (shown.some(({ pendingUpdate }) => pendingUpdate !== undefined)) return undefined;
  if (world.desired().some((spec) => waits(world, spec))) return undefined;
  // Under a name that a file has for itself it may be an old pod, which says nothing of the document.
  const isOfDocument = (uid: string): boolean => {
    const spec = world.setup.specs.get(uid);
    return spec === undefined || world.readerOf(spec) === "mqtt";
  };
  const own = shown.filter(
    ({ source, pod }) => source === "mqtt:node" && isOfDocument(pod.metadata.uid),
  );
  const isWell = own.every(({ pod, status }) => {
    const spec = world.setup.specs.get(pod.metadata.uid);
    const apps = spec?.containers.filter(({ role }) => role === "app") ?? [];
    // A pod that is meant to finish counts when it has succeeded.
    if (spec === undefined || apps.every((one) => !runsAgain(spec, one, 0)))
      return status.phase === "Succeeded";
    return status.conditions.some(({ type, status: is }) => type === "Ready" && is === "True");
  });
  if (!isWell) return ack.code === 200 ? "an ill document is called Healthy" : undefined;
  if (ack.code !== 200 || ack.observedGeneration !== accepted.generation)
    return `a document whose pods are well is ${ack.phase} (${ack.message}), observed ${ack.observedGeneration}`;
  return undefined;
}

function wrongTopics(world: SimWorld, agent: SimAgent): string | undefined {
  const shown = agent.shown();
  const wanted = shown.map(({ pod }) => TOPIC.pod(pod.metadata.name)).toSorted();
  const all = world.machine.broker.retainedTopics(TOPIC.pods);
  // What nobody knows of any more stays; the report does not list it.
  const held = world.process.lostDatabase ? all.filter((topic) => wanted.includes(topic)) : all;
  if (held.join() !== wanted.join()) return `pod topics are ${held.join()}, not ${wanted.join()}`;
  for (const { pod, status } of shown) {
    const said = read<PodReport>(world, TOPIC.pod(pod.metadata.name));
    const key = keyOf(world, pod.metadata.uid);
    if (said?.uid !== pod.metadata.uid) return `the topic of ${key} speaks of ${said?.uid}`;
    const [there, here] = [bare(said.status), bare(status)];
    if (there !== here) return `the topic of ${key} does not say what is true: ${there} / ${here}`;
  }
  return undefined;
}

/** Why a successor waits is said beside the status on the node, and in it upstream, where texts are short. */
function bare(status: PodStatus): string {
  const conditions = status.conditions.filter(
    ({ type }) => !Object.hasOwn(UPDATE_CONDITIONS, type),
  );
  return JSON.stringify({ ...status, conditions }, (key, value: unknown) => {
    if (OF_SPEC.has(key)) return undefined;
    return key === "message" && typeof value === "string" ? published(value) : value;
  });
}

/** What the spec contains is not reported. */
const OF_SPEC: ReadonlySet<string> = new Set(["allocatedResources", "resources", "volumeMounts"]);

/** All messages of these worlds are printable ASCII, but for the ellipsis at their end. */
function published(text: string): string {
  const isShort = Buffer.byteLength(text) <= TEXT_BYTES;
  return isShort ? text : `${text.slice(0, TEXT_BYTES - Buffer.byteLength("…"))}…`;
}

function keyOf(world: SimWorld, uid: string): string {
  return world.setup.specs.get(uid)?.key ?? uid;
}

function read<T>(world: SimWorld, topic: string): T | undefined {
  const text = world.machine.broker.retained(topic);
  return text === undefined ? undefined : (JSON.parse(text) as T);
}
