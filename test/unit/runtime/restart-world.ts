// A pod in one sandbox whose agent dies between any two actions: it forgets all but the rows of containers that it killed.

import { expect } from "bun:test";
import {
  newestContainer,
  type KilledInstance,
  type ObservedContainer,
  type ObservedPod,
} from "../../../src/api/pod/observed-pod.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import { allContainers, isSidecar, type Pod } from "../../../src/api/v1/pod.ts";
import { exitMayBeLast } from "../../../src/api/pod/restart-policy.ts";
import { computePodActions } from "../../../src/runtime/decide/compute-pod-actions.ts";
import type { RestartMemory } from "../../../src/runtime/decide/crash-loop-backoff.ts";
import type { PodAction } from "../../../src/runtime/decide/pod-action.ts";
import { podRun } from "../../../src/runtime/decide/restart-all-containers.ts";
import { aPod, aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";
import { CALM } from "./actions-table.ts";

const KILL_CODES = [137, 42, 0, 143] as const;

export class RestartWorld {
  readonly pod: Pod;
  readonly #dice: number[];
  #containers: ObservedContainer[] = [];
  #restarts: Record<string, RestartMemory> = {};
  readonly #rows: Record<string, KilledInstance> = {};
  readonly #killed: string[] = [];
  readonly #story: string[] = [];

  constructor(spec: Partial<PodSpec>, dice: readonly number[]) {
    this.pod = aPod(spec);
    this.#dice = [...dice];
  }

  get #observed(): ObservedPod {
    return anObservedPod([aSandbox()], this.#containers);
  }

  /** Everything runs or has ended as it should. */
  begin(ended: readonly string[]): void {
    const { spec } = this.pod;
    this.#containers = allContainers(spec).map((one) => {
      const isOver = ended.includes(one.name) || this.#isPlainInit(one.name);
      return anInstance(one.name, isOver ? { state: "Exited" } : {});
    });
  }

  exit(name: string, exitCode: number): void {
    const { id } = newestContainer(this.#observed, name) ?? {};
    this.#change(id, { state: "Exited", exitCode });
  }

  decide(): readonly PodAction[] {
    return computePodActions(this.pod, this.#observed, { ...CALM, restarts: this.#restarts });
  }

  /** Until nothing is left to do. */
  settle(): void {
    for (let round = 0; round < 100; round += 1) {
      const actions = this.decide();
      if (actions.length === 0) return;
      this.#perform(actions);
    }
    throw new Error(`no fixed point after\n${this.#story.slice(-20).join("\n")}`);
  }

  /** Each container has exactly one instance more, of the same run; app containers and sidecars run. */
  expectNextRun(): void {
    const found = allContainers(this.pod.spec).map(({ name }) => {
      const newest = newestContainer(this.#observed, name);
      return [name, newest?.attempt, newest?.podRestarts, newest?.state];
    });
    const expected = allContainers(this.pod.spec).map(({ name }) => {
      return [name, 1, 1, this.#isPlainInit(name) ? "Exited" : "Running"];
    });
    expect({ story: this.#story, found }).toEqual({ story: this.#story, found: expected });
    expect(new Set(this.#killed).size).toBe(this.#killed.length);
  }

  #perform(actions: readonly PodAction[]): void {
    // Read once for all actions of a sync, as the executor does.
    const observed = this.#observed;
    for (const action of actions) {
      this.#story.push(JSON.stringify(action));
      if (this.#roll(3) === 1) this.#die();
      if (this.#roll(6) === 1) return;
      this.#one(action, observed);
      if (this.#roll(6) === 1) return this.#die();
    }
  }

  #one(action: PodAction, observed: ObservedPod): void {
    switch (action.type) {
      case "KillContainer":
        return this.#kill(action);
      case "StartContainer":
        return this.#start(action, observed);
      case "RemoveContainer":
        this.#containers = this.#containers.filter(({ id }) => id !== action.id);
        return undefined;
      case "KillPod":
      case "StopSandbox":
      case "CreateSandbox":
      case "Wait":
        throw new Error(`${action.type} after\n${this.#story.join("\n")}`);
    }
  }

  #kill({ id, container: name }: Extract<PodAction, { type: "KillContainer" }>): void {
    const container = allContainers(this.pod.spec).find((one) => one.name === name);
    if (container === undefined) throw new Error(`${name} is not in the spec`);
    const killed = { id, always: true };
    if (exitMayBeLast(this.pod.spec, container)) this.#rows[name] = killed;
    this.#restarts[name] = { backoff: undefined, exit: undefined, killed };
    this.#killed.push(id);
    this.#change(id, { state: "Exited", exitCode: KILL_CODES[this.#roll(4)] ?? 137 });
  }

  #start(
    { container: name, attempt }: Extract<PodAction, { type: "StartContainer" }>,
    observed: ObservedPod,
  ): void {
    const isMade = this.#roll(5) === 1;
    const { podRestarts } = podRun(this.pod, observed, this.#restarts);
    const state = isMade ? "Created" : this.#isPlainInit(name) ? "Exited" : "Running";
    if (this.#containers.some((one) => one.name === name && one.state === "Running"))
      throw new Error(`a second ${name}`);
    this.#containers.push(anInstance(name, { attempt, state, podRestarts }));
  }

  /** The next process knows what the runtime shows, and the rows. */
  #die(): void {
    this.#story.push("the agent dies");
    const rows = Object.entries(this.#rows);
    this.#restarts = Object.fromEntries(
      rows.map(([name, killed]) => [name, { backoff: undefined, exit: undefined, killed }]),
    );
  }

  #change(id: string | undefined, more: Partial<ObservedContainer>): void {
    this.#containers = this.#containers.map((one) => (one.id === id ? { ...one, ...more } : one));
  }

  #isPlainInit(name: string): boolean {
    const { spec } = this.pod;
    const container = spec.initContainers.find((one) => one.name === name);
    return container !== undefined && !isSidecar(spec, container);
  }

  #roll(sides: number): number {
    return (this.#dice.shift() ?? 0) % sides;
  }
}
