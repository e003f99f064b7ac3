// What the dice add to a pod besides its plain containers: init containers, sidecars, probes, hooks and rules.

import type { RestartPolicy } from "../../src/api/v1/pod.ts";
import { PROBE_KINDS } from "../../src/prober/probed-instances.ts";
import type { Mulberry32 } from "../fakes/mulberry32.ts";
import { hookHandler, probeHandler, type HookKind, type Place } from "./sim-doors.ts";
import { READS_NOTHING } from "./sim-reads.ts";
import type { SimContainer } from "./sim-specs.ts";
import type { ProbeKind } from "../../src/api/v1/probe.ts";

export interface SimProbe {
  readonly type: ProbeKind;
  readonly failureThreshold: number;
  /** Seconds that it grants instead of the pod; absent = the pod's. */
  readonly grace: number | undefined;
  /** As in the manifest. */
  readonly written: object;
}

export interface SimHook {
  /** `sleep` = so many seconds. */
  readonly how: "exec" | "httpGet" | { readonly sleep: number };
  /** As in the manifest. */
  readonly written: object;
}

export type SimHooks = Readonly<Partial<Record<HookKind, SimHook>>>;

export interface InitFacts {
  readonly policy: RestartPolicy;
  readonly image: string;
  readonly grace: number;
  /** Of the pod's name. */
  readonly slot: number;
}

/** Init containers and sidecars, in order. */
export function throwInit(dice: Mulberry32, facts: InitFacts): readonly SimContainer[] {
  const count = dice.chance(0.4) ? 1 + dice.below(3) : 0;
  return Array.from({ length: count }, (_, index) =>
    dice.chance(0.5) ? sidecar(dice, index, facts) : init(dice, index, facts),
  );
}

function init(dice: Mulberry32, index: number, { policy, image }: InitFacts): SimContainer {
  const fails = dice.chance(policy === "Never" ? 0.04 : 0.15);
  const exitsAfterMs = dice.pick([0, 50, 1_000, 8_000]);
  return {
    name: `i${index}`,
    role: "init",
    image,
    program: { exitsAfterMs, exitCode: fails ? 1 : 0, stopsAfterMs: dice.pick([0, 500]) },
    probes: [],
    hooks: {},
    rules: [],
    reads: READS_NOTHING,
  };
}

function sidecar(dice: Mulberry32, index: number, { image, grace, slot }: InitFacts): SimContainer {
  const stopsAfterMs = dice.pick([0, 500, 3_000]);
  const crashes = dice.chance(0.15);
  const place = { slot, index };
  return {
    name: `s${index}`,
    role: "sidecar",
    image,
    program: crashes ? { stopsAfterMs, exitsAfterMs: 20_000, exitCode: 1 } : { stopsAfterMs },
    probes: dice.chance(0.4) ? throwProbes(dice, place) : [],
    hooks: dice.chance(0.2) ? throwHooks(dice, grace, place) : {},
    rules: [],
    reads: READS_NOTHING,
  };
}

export function throwProbes(dice: Mulberry32, place: Place): readonly SimProbe[] {
  const types = PROBE_KINDS.filter(() => dice.chance(0.5));
  return types.map((type) => {
    const failureThreshold = type === "startup" ? dice.pick([3, 30]) : dice.pick([1, 3]);
    const grace = type !== "readiness" && dice.chance(0.3) ? dice.pick([1, 8, 60]) : undefined;
    const written = {
      ...probeHandler(dice.pick(["exec", "exec", "httpGet", "tcpSocket", "grpc"]), place, type),
      periodSeconds: dice.pick([1, 5, 10]),
      initialDelaySeconds: dice.pick([0, 0, 3]),
      failureThreshold,
      timeoutSeconds: 1,
      ...(grace === undefined ? {} : { terminationGracePeriodSeconds: grace }),
    };
    return { type, failureThreshold, grace, written };
  });
}

/** `grace` in seconds: no sleep may outlast it. */
export function throwHooks(dice: Mulberry32, grace: number, place: Place): SimHooks {
  const hook = (type: HookKind): SimHook => {
    const how = dice.pick(["exec", "exec", "httpGet", "sleep"] as const);
    if (how !== "sleep") return { how, written: hookHandler(how, place, type) };
    const sleep = Math.min(dice.pick([1, 3]), grace);
    return { how: { sleep }, written: { sleep: { seconds: sleep } } };
  };
  return {
    ...(dice.chance(0.5) ? { postStart: hook("postStart") } : {}),
    ...(dice.chance(0.6) ? { preStop: hook("preStop") } : {}),
  };
}
