// Pods of three kinds on a fake runtime, and a witness of everything that starts.

import { NOTHING_DESIRED, type DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import { LABEL } from "../../../src/api/pod/labels.ts";
import type { Probe } from "../../../src/api/v1/probe.ts";
import type { Pod } from "../../../src/api/v1/pod.ts";
import type { CallName } from "../../fakes/fake-cri-faults.ts";
import type { FakeContainer, FakeSandbox } from "../../fakes/fake-cri-world.ts";
import { PodWorld, pod } from "../../agent/pod-world.ts";
import { aContainer } from "../../fakes/a-pod.ts";

/** web is asked whether it lives; app has an init container and a sidecar; job may run once. */
export const NAMES = ["web", "app", "job"] as const;
export type Name = (typeof NAMES)[number];

const PROBE: Probe = {
  handler: { type: "exec", command: ["alive"] },
  initialDelaySeconds: 0,
  periodSeconds: 60,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 1,
};

const SPECS: Readonly<Record<Name, Partial<Pod["spec"]>>> = {
  web: { containers: [aContainer("slow", { livenessProbe: PROBE })] },
  app: {
    initContainers: [aContainer("init"), aContainer("side", { restartPolicy: "Always" })],
    containers: [aContainer("a"), aContainer("slow")],
  },
  job: { restartPolicy: "Never", containers: [aContainer("a")] },
};

/** What runs of each when it is as its spec asks for. */
export const FULL: Readonly<Record<Name, readonly string[]>> = {
  web: ["slow"],
  app: ["a", "side", "slow"],
  job: ["a"],
};

export function versionOf(name: Name, version: number): DesiredPod {
  return pod(name, String(version), SPECS[name]);
}

const CREATES: readonly CallName[] = ["runPodSandbox", "createContainer", "startContainer"];

export class WorkerWorld implements Disposable {
  readonly world: PodWorld;
  /** Names whose probe says no. */
  readonly sick = new Set<string>();
  /** What should never have happened. */
  readonly sins: string[] = [];
  #wanted: readonly DesiredPod[] = [];

  constructor() {
    this.world = new PodWorld({
      program: ({ config }) => {
        if (config.metadata?.name === "init") return { exitsAfterMs: 700 };
        return config.metadata?.name === "slow" ? { stopsAfterMs: 3_000, stopCode: 0 } : {};
      },
      exec: (container) => ({ exitCode: this.sick.has(podOf(container)) ? 1 : 0 }),
      latencyMs: { runPodSandbox: 120, createContainer: 20, startContainer: 30 },
      onCall: (call, args) => this.#witness(call, args),
      onEvent: ({ type, id }) => {
        if (type === "Started") this.#judgeStart(id);
      },
    });
  }

  /** What shall run from now on, after each of `before` in the same breath. */
  async desire(pods: readonly DesiredPod[], ...before: readonly (readonly DesiredPod[])[]) {
    this.#wanted = pods;
    for (const earlier of before) this.#apply(earlier);
    this.#apply(pods);
    await this.world.clock.settle();
  }

  /** Its first list succeeds: until then an agent decides nothing. */
  async restart(): Promise<void> {
    for (const call of ["listContainers", "containerStatus"] as const)
      this.world.runtime.faults.clear(call);
    await this.world.restart();
    this.#apply(this.#wanted);
    await this.world.clock.settle();
  }

  containers(name: string): readonly FakeContainer[] {
    return [...this.world.runtime.containers.values()].filter((one) => podOf(one) === name);
  }

  /** Those whose process lives, by attempt. */
  alive(name: string): readonly FakeContainer[] {
    return this.containers(name).filter(({ id }) => this.world.runtime.isAlive(id));
  }

  sandboxes(name: string): readonly FakeSandbox[] {
    const all = [...this.world.runtime.sandboxes.values()];
    return all.filter(({ config }) => config.labels[LABEL.podName] === name);
  }

  [Symbol.dispose](): void {
    this.world[Symbol.dispose]();
  }

  #apply(pods: readonly DesiredPod[]): void {
    this.world.runner.workers.apply({
      ...NOTHING_DESIRED,
      pods,
      held: new Set(),
      ready: new Set(["file"]),
      rejected: [],
    });
  }

  #witness(call: CallName, args: readonly unknown[]): void {
    if (!CREATES.includes(call)) return;
    const uid = this.#uidOf(args[0]);
    const lives = this.world.pods.workers
      .all()
      .some((entry) => entry.desired.uid === uid && entry.deletedAt === undefined);
    if (!lives) this.sins.push(`${call} for ${uid}, which ends or has ended`);
  }

  /** Of the configuration of a creating call, or of the container that is started. */
  #uidOf(argument: unknown): string | undefined {
    if (typeof argument === "string")
      return this.world.runtime.containers.get(argument)?.config.labels[LABEL.podUID];
    const { config } = argument as { config: { labels?: Record<string, string> } };
    return config.labels?.[LABEL.podUID];
  }

  #judgeStart(id: string): void {
    const started = this.world.runtime.containers.get(id);
    if (started === undefined) return;
    const name = podOf(started);
    const uid = started.config.labels[LABEL.podUID];
    for (const other of this.alive(name)) {
      if (other.id === id) continue;
      const isSame = other.config.metadata?.name === started.config.metadata?.name;
      if (isSame || other.config.labels[LABEL.podUID] !== uid)
        this.sins.push(`${started.reserved} started beside ${other.reserved}`);
    }
  }
}

export function podOf({ config }: FakeContainer): string {
  return config.labels[LABEL.podName] ?? "?";
}

export function nameOf({ config }: FakeContainer): string {
  return config.metadata?.name ?? "?";
}
