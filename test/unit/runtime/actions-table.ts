// What the tables of decisions share: a calm context, one line for each kind of world and each action.

import { expect } from "bun:test";
import type { ObservedContainer, ObservedPod } from "../../../src/api/pod/observed-pod.ts";
import type { Probe } from "../../../src/api/v1/probe.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import { allContainers } from "../../../src/api/v1/pod.ts";
import { computePodActions } from "../../../src/runtime/decide/compute-pod-actions.ts";
import type {
  ActionContext,
  KillReason,
  PodAction,
} from "../../../src/runtime/decide/pod-action.ts";
import { aContainer, aPod, aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";
import type { Container } from "../../../src/api/v1/container.ts";

/** A pod, what the runtime shows of it, and everything that follows. */
export interface Case {
  readonly pod?: Partial<PodSpec>;
  readonly observed: ObservedPod | undefined;
  readonly context?: Partial<ActionContext>;
  readonly expect: readonly PodAction[];
}

export const CALM: ActionContext = {
  now: 0,
  restarts: {},
  probes: {},
  hookFailed: new Set(),
  hashes: {},
  configDigests: {},
};

/** The hashes that `anInstance` carries, unless `context` says otherwise. */
export function check({ pod, observed, context, expect: expected }: Case): void {
  const wanted = aPod(pod);
  const names = allContainers(wanted.spec).map(({ name }) => name);
  const hashes = Object.fromEntries(names.map((name) => [name, "v1:00"]));
  const actions = computePodActions(wanted, observed, { ...CALM, hashes, ...context });
  expect(actions).toEqual([...expected]);
}

export const cases = (table: Record<string, Case>): [string, Case][] => Object.entries(table);

/** In one sandbox that is up. */
export function up(...containers: ObservedContainer[]): ObservedPod {
  return anObservedPod([aSandbox()], containers);
}

/** In one sandbox that is down. */
export function down(...containers: ObservedContainer[]): ObservedPod {
  return anObservedPod([aSandbox({ state: "NotReady", ips: [] })], containers);
}

/** In a second sandbox, made after the first one went down with `before` in it. */
export function anew(
  before: readonly ObservedContainer[],
  ...containers: readonly ObservedContainer[]
): ObservedPod {
  const sandboxes = [aSandbox({ attempt: 1 }), aSandbox({ state: "NotReady", ips: [] })];
  const now = containers.map((one) => ({ ...one, sandboxId: "sandbox-1" }));
  return anObservedPod(sandboxes, [...before, ...now]);
}

export const runs = anInstance;

export function exited(
  name: string,
  exitCode: number,
  more: Partial<ObservedContainer> = {},
): ObservedContainer {
  return anInstance(name, { state: "Exited", exitCode, ...more });
}

export function created(name: string, attempt = 0): ObservedContainer {
  return anInstance(name, { state: "Created", attempt });
}

export function unknown(name: string, attempt = 0): ObservedContainer {
  return anInstance(name, { state: "Unknown", attempt });
}

export const start = (container: string, attempt: number): PodAction => ({
  type: "StartContainer",
  container,
  attempt,
});

export const kill = (container: string, attempt: number, reason: KillReason): PodAction => ({
  type: "KillContainer",
  id: `${container}-${attempt}`,
  container,
  reason,
});

export const remove = (container: string, attempt: number): PodAction => ({
  type: "RemoveContainer",
  id: `${container}-${attempt}`,
  container,
});

export const killPod = (reason: KillReason): PodAction => ({ type: "KillPod", reason });
export const sandbox = (attempt: number): PodAction => ({ type: "CreateSandbox", attempt });
export const stopSandbox = (attempt: number): PodAction => ({
  type: "StopSandbox",
  id: `sandbox-${attempt}`,
  reason: "Duplicate",
});
export const wait = (container: string, until: number): PodAction => ({
  type: "Wait",
  container,
  until,
  reason: "CrashLoopBackOff",
});

export const a = aContainer("a");
export const b = aContainer("b");
export const two = { containers: [a, b] };

export const PROBE: Probe = {
  handler: { type: "tcpSocket", port: 80 },
  initialDelaySeconds: 0,
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
};

export function sidecar(name: string, more: Partial<Container> = {}): Container {
  return aContainer(name, { restartPolicy: "Always", ...more });
}

/** Container `name` waits 40 s between starts; the exit of `id` was seen at 5,000 ms. */
export function backingOff(name: string, id: string): ActionContext["restarts"] {
  return { [name]: { backoff: { delay: 40_000, at: 0 }, exit: { id, seenAt: 5_000 } } };
}

/** This process has ended `id` so that another takes its place. */
export function replaced(name: string, id: string, always = false): ActionContext["restarts"] {
  return { [name]: { backoff: undefined, exit: undefined, killed: { id, always } } };
}
