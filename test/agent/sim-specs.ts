// The pods of a simulated world: a few names, a few versions each, everything else thrown by the seed.

import type { DesiredPod, SourceName } from "../../src/api/desired-pod.ts";
import type { RestartPolicy } from "../../src/api/pod.ts";
import type { CallName } from "../fakes/fake-cri-faults.ts";
import type { Program } from "../fakes/fake-cri-world.ts";
import type { Mulberry32 } from "../fakes/mulberry32.ts";
import { aContainer, aDesiredPod, aPod } from "../fakes/a-pod.ts";
import { IMAGE } from "./pod-world.ts";

export const NAMES = ["web", "db"] as const;
export type SimName = (typeof NAMES)[number];
export const VERSIONS = 3;
export const SOURCES: readonly SourceName[] = ["file", "mqtt:node"];
/** On the node from the beginning like IMAGE, but may be gone for a while. */
export const LATER = "later:1";

/** One version of one pod, and how its containers behave. */
export interface SimSpec {
  readonly uid: string;
  readonly name: SimName;
  readonly restartPolicy: RestartPolicy;
  readonly grace: number;
  readonly hostNetwork: boolean;
  readonly hostPort: number | undefined;
  readonly image: string;
  readonly programs: readonly Program[];
  /** Share of starts that fail while the world is hostile. */
  readonly startErrors: number;
}

export interface SimSetup {
  readonly specs: ReadonlyMap<string, SimSpec>;
  readonly latencyMs: Partial<Record<CallName, number>>;
  readonly statusLagMs: number;
  readonly pullMs: number;
  readonly tellsExits: boolean;
  /** How long events take. */
  readonly eventLagMs: number;
  /** Whether containers write logs. */
  readonly logs: boolean;
}

export function throwSetup(dice: Mulberry32): SimSetup {
  const specs = NAMES.flatMap((name, slot) =>
    Array.from({ length: VERSIONS }, (_, version) =>
      throwSpec(dice, { name, slot, version: version + 1 }),
    ),
  );
  const slow = dice.chance(0.5);
  const latencyMs = slow ? throwLatency(dice) : {};
  return {
    specs: new Map(specs.map((spec) => [spec.uid, spec])),
    latencyMs,
    statusLagMs: dice.weighted([
      [0, 12],
      [5, 3],
      [100, 3],
      [900, 3],
      // Longer than the agent remembers an event.
      [45_000, 1],
    ]),
    pullMs: dice.pick([0, 0, 50, 4_000]),
    tellsExits: dice.chance(0.5),
    eventLagMs: dice.weighted([
      [0, 6],
      [20, 2],
      [2_000, 1],
    ]),
    logs: dice.chance(0.5),
  };
}

function throwSpec(
  dice: Mulberry32,
  { name, slot, version }: { name: SimName; slot: number; version: number },
): SimSpec {
  const restartPolicy = dice.weighted<RestartPolicy>([
    ["Always", 5],
    ["OnFailure", 2],
    ["Never", 3],
  ]);
  const count = dice.chance(0.7) ? 1 : 2;
  return {
    uid: `${name}-${version}`,
    name,
    restartPolicy,
    grace: dice.pick([0, 1, 2, 5, 30]),
    hostNetwork: dice.chance(0.2),
    hostPort: dice.chance(0.2) ? 8_080 + slot : undefined,
    image: dice.chance(0.2) ? LATER : IMAGE,
    programs: Array.from({ length: count }, () => throwProgram(dice, restartPolicy)),
    startErrors: dice.chance(0.15) ? 0.4 : 0,
  };
}

function throwProgram(dice: Mulberry32, policy: RestartPolicy): Program {
  const stopsAfterMs = dice.pick([0, 0, 500, 3_000, Number.POSITIVE_INFINITY]);
  const exits = dice.chance(policy === "Always" ? 0.3 : 0.6);
  if (!exits) return { stopsAfterMs };
  const exitsAfterMs = dice.pick([0, 50, 1_000, 20_000]);
  return { stopsAfterMs, exitsAfterMs, exitCode: dice.pick([0, 1]) };
}

function throwLatency(dice: Mulberry32): Partial<Record<CallName, number>> {
  return {
    runPodSandbox: dice.pick([0, 80, 700]),
    createContainer: dice.pick([0, 15, 200]),
    startContainer: dice.pick([0, 25, 300]),
    stopContainer: dice.pick([0, 10]),
    stopPodSandbox: dice.pick([0, 30, 400]),
    removePodSandbox: dice.pick([0, 20, 200]),
    removeContainer: dice.pick([0, 10]),
    listPodSandbox: dice.pick([0, 0, 3, 60]),
    listContainers: dice.pick([0, 0, 4, 90]),
    containerStatus: dice.pick([0, 0, 2]),
    podSandboxStatus: dice.pick([0, 0, 5]),
  };
}

/** A fresh object each time, as a source that read its file again would give. */
export function desiredOf(spec: SimSpec, source: SourceName, revision: number): DesiredPod {
  const ports =
    spec.hostPort === undefined
      ? []
      : [{ containerPort: 80, hostPort: spec.hostPort, protocol: "TCP" as const }];
  const containers = spec.programs.map((_, index) =>
    aContainer("ab".charAt(index), { image: spec.image, ports: index === 0 ? ports : [] }),
  );
  const pod = aPod(
    {
      containers,
      restartPolicy: spec.restartPolicy,
      terminationGracePeriodSeconds: spec.grace,
      hostNetwork: spec.hostNetwork,
    },
    { name: spec.name, uid: spec.uid, labels: { revision: String(revision) } },
  );
  return aDesiredPod(pod, { source, specHash: spec.uid, sourceRef: `${source}#${spec.name}` });
}
