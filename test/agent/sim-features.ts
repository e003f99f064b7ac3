// What the dice may add to a pod besides its plain containers: init containers, sidecars, probes and hooks.

import type { RestartPolicy } from "../../src/api/pod.ts";
import type { Mulberry32 } from "../fakes/mulberry32.ts";
import type { SimContainer } from "./sim-specs.ts";
import { FEATURES } from "./sim-switches.ts";

export interface SimProbe {
  readonly type: "liveness" | "readiness" | "startup";
  /** As in the manifest. */
  readonly written: object;
}

/** As in the manifest. */
export interface SimHooks {
  readonly postStart?: object;
  readonly preStop?: object;
}

/** Begins every command that a probe runs; the next word names the kind. */
export const PROBE_COMMAND = "probe";
/** The same for hooks. */
export const HOOK_COMMAND = "hook";

/** Init containers and sidecars, in order. */
export function throwInit(
  dice: Mulberry32,
  policy: RestartPolicy,
  image: string,
): readonly SimContainer[] {
  const count = FEATURES.initContainers && dice.chance(0.4) ? 1 + dice.below(3) : 0;
  return Array.from({ length: count }, (_, index) => {
    const isSidecar = FEATURES.sidecars && dice.chance(0.5);
    return isSidecar ? sidecar(dice, index, image) : init(dice, policy, { index, image });
  });
}

function init(
  dice: Mulberry32,
  policy: RestartPolicy,
  { index, image }: { readonly index: number; readonly image: string },
): SimContainer {
  const fails = policy !== "Never" && dice.chance(0.1);
  const exitsAfterMs = dice.pick([0, 50, 1_000]);
  return {
    name: `i${index}`,
    role: "init",
    image,
    program: { exitsAfterMs, exitCode: fails ? 1 : 0, stopsAfterMs: dice.pick([0, 500]) },
    probes: [],
    hooks: {},
  };
}

function sidecar(dice: Mulberry32, index: number, image: string): SimContainer {
  const stopsAfterMs = dice.pick([0, 500, 3_000]);
  const crashes = dice.chance(0.15);
  return {
    name: `s${index}`,
    role: "sidecar",
    image,
    program: crashes ? { stopsAfterMs, exitsAfterMs: 20_000, exitCode: 1 } : { stopsAfterMs },
    probes: dice.chance(0.3) ? throwProbes(dice).filter(({ type }) => type === "startup") : [],
    hooks: {},
  };
}

export function throwProbes(dice: Mulberry32): readonly SimProbe[] {
  if (!FEATURES.probes || !dice.chance(0.35)) return [];
  const types = (["liveness", "readiness", "startup"] as const).filter(() => dice.chance(0.5));
  return types.map((type) => ({
    type,
    written: {
      exec: { command: [PROBE_COMMAND, type] },
      periodSeconds: dice.pick([1, 5, 10]),
      failureThreshold: type === "startup" ? 30 : dice.pick([1, 3]),
      timeoutSeconds: 1,
    },
  }));
}

/** `grace` in seconds: no sleep may outlast it. */
export function throwHooks(dice: Mulberry32, grace: number): SimHooks {
  if (!FEATURES.hooks || !dice.chance(0.25)) return {};
  const hook = (type: string): object =>
    dice.chance(0.7)
      ? { exec: { command: [HOOK_COMMAND, type] } }
      : { sleep: { seconds: Math.min(1, grace) } };
  return {
    ...(dice.chance(0.5) ? { postStart: hook("postStart") } : {}),
    ...(dice.chance(0.6) ? { preStop: hook("preStop") } : {}),
  };
}
