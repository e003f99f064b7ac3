// A runtime and an agent's memory in a few lines: performs what was decided, lets dice say how each thing ends,
// and keeps the book by which the order of starts is judged.

import {
  type ObservedContainer,
  type ObservedContainerState,
  type ObservedPod,
  type ObservedSandbox,
  newestContainer,
} from "../../../src/api/pod/observed-pod.ts";
import { allContainers, isSidecar, type Pod } from "../../../src/api/v1/pod.ts";
import type { ContainerVerdicts } from "../../../src/api/v1/probe.ts";
import { restartsAfter, restartsAfterKill } from "../../../src/api/pod/restart-policy.ts";
import { computePodActions } from "../../../src/runtime/decide/compute-pod-actions.ts";
import { isComingBack } from "../../../src/runtime/decide/restart-on-config-change.ts";
import {
  crashLoopPolicy,
  rememberExit,
  rememberKill,
  rememberRestart,
  type RestartMemory,
} from "../../../src/runtime/decide/crash-loop-backoff.ts";
import { planGarbage } from "../../../src/runtime/decide/dead-containers.ts";
import { usableSandbox } from "../../../src/runtime/observe/newest.ts";
import type { ActionContext, PodAction } from "../../../src/runtime/decide/pod-action.ts";
import { aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";
import type { Container } from "../../../src/api/v1/container.ts";

type Instance = { -readonly [K in keyof ObservedContainer]: ObservedContainer[K] };
type Sandbox = { -readonly [K in keyof ObservedSandbox]: ObservedSandbox[K] };

const POLICY = crashLoopPolicy(300_000);
const KILL_CODES = [137, 0, 143] as const;
const EXIT_CODES = [0, 1, 42] as const;

export class PodModel {
  readonly pod: Pod;
  sandboxes: Sandbox[] = [];
  containers: Instance[] = [];
  now = 1_000;
  /** What was done, for whoever reads a counterexample. */
  readonly story: string[] = [];
  readonly #dice: number[];
  readonly #hashes: Record<string, string>;
  /** What each would read of ConfigMaps and Secrets if it started now. */
  readonly #digests: Record<string, string>;
  #configRestarting: string | undefined;
  readonly #restarts: Record<string, RestartMemory> = {};
  readonly #probes: Record<string, ContainerVerdicts> = {};
  readonly #hookFailed = new Set<string>();
  /** `sandbox/container` that has succeeded, or as a sidecar has started, in that sandbox. */
  readonly #passed = new Set<string>();
  /** Ids of instances that ran, in order. */
  readonly #ran: ObservedContainer[] = [];
  /** Ids of instances that were ended to make room for another. */
  readonly #replaced = new Set<string>();
  #isOver = false;
  /** Sandboxes under way that nobody waits for any more, and the lowest attempt they leave. */
  readonly #late: Sandbox[] = [];
  #reserved = 0;
  /** The sandbox of the sync under way. */
  #place: ObservedSandbox | undefined;

  /** As long as there are dice, things go wrong; without, everything ends well. */
  constructor(pod: Pod, dice: readonly number[]) {
    this.pod = pod;
    this.#dice = [...dice];
    const names = allContainers(pod.spec).map(({ name }) => name);
    this.#hashes = Object.fromEntries(names.map((name) => [name, "v1:00"]));
    this.#digests = Object.fromEntries(names.map((name) => [name, "v1:key:0"]));
  }

  get hasDice(): boolean {
    return this.#dice.length > 0;
  }

  get observed(): ObservedPod | undefined {
    const { sandboxes, containers } = this;
    return sandboxes.length + containers.length === 0
      ? undefined
      : structuredClone(anObservedPod(sandboxes, containers));
  }

  decide(more: Partial<ActionContext> = {}): readonly PodAction[] {
    const before = this.observed;
    for (const { name } of allContainers(this.pod.spec)) {
      const newest = newestContainer(before, name);
      if (newest?.state !== "Exited") continue;
      const exit = { id: newest.id, seenAt: this.now };
      this.#restarts[name] = rememberExit(this.#restarts[name], exit, POLICY);
    }
    this.#judgeEnd();
    const context: ActionContext = {
      now: this.now,
      restarts: this.#restarts,
      probes: this.#probes,
      hookFailed: this.#hookFailed,
      hashes: this.#hashes,
      configDigests: this.#digests,
      ...(this.#configRestarting === undefined ? {} : { configRestarting: this.#configRestarting }),
      ...more,
    };
    const { observed } = this;
    if (!isComingBack(this.pod, observed, context)) this.#configRestarting = undefined;
    return computePodActions(this.pod, observed, context);
  }

  /** One sync: everything that was decided, then garbage if there was nothing to do. */
  sync(more: Partial<ActionContext> = {}): readonly PodAction[] {
    try {
      return this.#sync(more);
    } catch (cause) {
      throw new Error(`${String(cause)} after\n${this.story.join("\n")}`, { cause });
    }
  }

  #sync(more: Partial<ActionContext>): readonly PodAction[] {
    const actions = this.decide(more);
    this.#place = usableSandbox(this.pod, this.observed);
    this.story.push(this.#shown().join(", "));
    const work = actions.filter(({ type }) => type !== "Wait");
    for (const action of work) {
      this.story.push(JSON.stringify(action));
      if (!this.#perform(action)) break;
    }
    if (work.length === 0) this.#collect();
    const waits = actions.flatMap((action) => (action.type === "Wait" ? [action.until] : []));
    if (work.length === 0 && waits.length > 0) this.now = Math.max(this.now, Math.min(...waits));
    return actions;
  }

  /** Something happens, or with no dice left: what has work to do gets it done. */
  live(): void {
    this.now += 1 + this.#roll(4) * 200_000;
    for (const one of this.containers.filter(({ state }) => state === "Running")) {
      const spec = this.#spec(one.name);
      if (spec === undefined) continue;
      const isPlain = this.#isPlainInit(spec);
      const event = this.#roll(12);
      if (event === 1 || (event === 0 && isPlain)) this.#exit(one, this.#roll(3), EXIT_CODES);
      if (event === 2) one.state = "Unknown";
      if (event === 3 && !isPlain) this.#hashes[one.name] = `v1:${this.#roll(2)}`;
      if (event === 7) this.#digests[one.name] = `v1:key:${this.#roll(2)}`;
      if (event === 4 && !isPlain) this.#hookFailed.add(one.id);
      if (event === 5 && !isPlain) this.#say(one.id, { liveness: "Failure" });
      if (spec.startupProbe !== undefined && one.state === "Running")
        this.#say(one.id, { startup: event === 6 ? "Failure" : "Success" });
      if (this.#hasPassed(one, spec)) this.#pass(one);
    }
    if (this.#roll(3) === 0) this.sandboxes.push(...this.#late.splice(0));
    const sandbox = this.sandboxes[this.#roll(8) - 1];
    if (sandbox !== undefined) Object.assign(sandbox, { state: "NotReady", ips: [] });
  }

  /** The model did not see how this world came about: whatever is in it was done in order. */
  trustHistory(): void {
    const { initContainers } = this.pod.spec;
    const places = this.sandboxes.flatMap(({ id }) =>
      initContainers.map(({ name }) => ({ sandboxId: id, name })),
    );
    for (const place of places) this.#passed.add(`${place.sandboxId}/${place.name}`);
  }

  /** State of the newest instance, if there is one. */
  state(name: string): ObservedContainerState | undefined {
    return newestContainer(this.observed, name)?.state;
  }

  #shown(): readonly string[] {
    const sandboxes = this.sandboxes.map(({ id, state }) => `${id} ${state}`);
    const containers = this.containers.map(
      ({ id, state, sandboxId, exitCode }) => `${id} ${state} ${exitCode} in ${sandboxId}`,
    );
    return [`${this.now} ms`, ...sandboxes, ...containers];
  }

  get alive(): readonly ObservedContainer[] {
    return this.containers.filter(({ state }) => state === "Running" || state === "Unknown");
  }

  /** The app containers have all ended for good, or an init container has failed for good. */
  get isOver(): boolean {
    this.#judgeEnd();
    return this.#isOver;
  }

  #roll(sides: number): number {
    return (this.#dice.shift() ?? 0) % sides;
  }

  #spec(name: string): Container | undefined {
    return allContainers(this.pod.spec).find((one) => one.name === name);
  }

  #isPlainInit(container: Container): boolean {
    const { spec } = this.pod;
    return spec.initContainers.includes(container) && !isSidecar(spec, container);
  }

  #say(id: string, more: ContainerVerdicts): void {
    this.#probes[id] = { ...this.#probes[id], ...more };
  }

  #pass({ sandboxId, name }: ObservedContainer): void {
    this.#passed.add(`${sandboxId}/${name}`);
  }

  #hasPassed(one: Instance, spec: Container): boolean {
    if (one.state !== "Running" || this.#isPlainInit(spec)) return false;
    return spec.startupProbe === undefined || this.#probes[one.id]?.startup === "Success";
  }

  #exit(one: Instance, rolled: number, codes: readonly number[]): void {
    const spec = this.#spec(one.name);
    one.state = "Exited";
    one.exitCode = codes[rolled] ?? 0;
    one.reason = one.exitCode === 0 ? "Completed" : "Error";
    if (spec === undefined || !this.#isPlainInit(spec)) return;
    if (one.exitCode === 0 && !this.#replaced.has(one.id)) this.#pass(one);
  }

  #kill(one: Instance): void {
    this.#exit(one, this.#roll(3), KILL_CODES);
  }

  /** False = it failed: the rest is not done. */
  #perform(action: PodAction): boolean {
    switch (action.type) {
      case "KillPod":
        for (const one of this.alive) this.#kill(this.#instance(one.id));
        this.containers = this.containers.filter(({ state }) => state !== "Created");
        for (const one of this.sandboxes) Object.assign(one, { state: "NotReady", ips: [] });
        return true;
      case "StopSandbox":
        for (const one of this.alive)
          if (one.sandboxId === action.id) throw new Error(`${one.id} was ended without grace`);
        Object.assign(this.#sandbox(action.id), { state: "NotReady", ips: [] });
        return true;
      case "CreateSandbox":
        return this.#createSandbox(action.attempt);
      case "KillContainer":
        return this.#killContainer(action);
      case "RemoveContainer": {
        const { state } = this.#instance(action.id);
        if (state !== "Created") throw new Error(`${action.id} is ${state}: not to be removed`);
        this.containers = this.containers.filter(({ id }) => id !== action.id);
        return true;
      }
      case "StartContainer":
        this.#start(action);
        return true;
      case "Wait":
        return true;
    }
  }

  #createSandbox(wanted: number): boolean {
    const attempt = Math.max(wanted, this.#reserved);
    if (this.sandboxes.some((one) => one.attempt >= attempt))
      throw new Error(`sandbox ${attempt} is not the newest`);
    if (this.#isOver) throw new Error("a sandbox for a pod that is over");
    const { hostNetwork } = this.pod.spec;
    const made = aSandbox({ attempt, hostNetwork, ...(hostNetwork ? { ips: [] } : {}) });
    // The call fails; or its answer is lost; or it is carried out long after the caller has given up.
    const luck = this.#roll(6);
    if (luck === 3) {
      this.#late.push(made);
      this.#reserved = attempt + 1;
    } else if (luck !== 1) this.sandboxes.push(made);
    this.#place = made;
    return luck === 0 || luck > 3;
  }

  #killContainer({
    id,
    container,
    reason,
  }: Extract<PodAction, { type: "KillContainer" }>): boolean {
    if (this.#roll(8) === 1) return false;
    if (reason !== "Duplicate" && reason !== "NotInSpec") {
      const always = reason === "ContainerChanged";
      const written = this.#spec(container);
      const another = written !== undefined && restartsAfterKill(this.pod.spec, written);
      if (always || another) this.#replaced.add(id);
      const killed = { id, always };
      if (reason === "ConfigChanged") this.#restartForConfig(id, container);
      else this.#restarts[container] = rememberKill(this.#restarts[container], killed);
    }
    this.#kill(this.#instance(id));
    return true;
  }

  #restartForConfig(id: string, container: string): void {
    if (this.#configRestarting !== undefined)
      throw new Error(`${container} ends before ${this.#configRestarting} has come back`);
    const spec = this.#spec(container);
    if (spec === undefined || this.#isPlainInit(spec)) throw new Error(`${container} reads once`);
    this.#configRestarting = container;
    const killed = { id, always: false };
    this.#restarts[container] = { backoff: undefined, exit: undefined, killed };
  }

  #start({ container, attempt }: Extract<PodAction, { type: "StartContainer" }>): void {
    const { spec } = this.pod;
    const written = this.#spec(container);
    const sandbox = this.#place;
    if (written === undefined || sandbox?.state !== "Ready") throw new Error("nowhere to start");
    if (this.#isOver) throw new Error(`${container} of a pod that is over`);
    const others = this.containers.filter(({ name }) => name === container);
    if (others.some((one) => one.attempt >= attempt)) throw new Error(`${attempt} is taken`);
    if (others.some(({ state }) => state === "Running" || state === "Unknown"))
      throw new Error(`a second ${container}`);
    const order = allContainers(spec);
    const before = order
      .slice(0, order.indexOf(written))
      .filter((one) => spec.initContainers.includes(one));
    const missing = before.find(({ name }) => !this.#passed.has(`${sandbox.id}/${name}`));
    if (missing !== undefined) throw new Error(`${container} before ${missing.name}`);
    if (newestContainer(this.observed, container)?.state === "Exited")
      this.#restarts[container] = rememberRestart(this.#restarts[container], this.now, POLICY);
    // It runs; or the image is missing; or it was made and could not be started.
    const luck = this.#roll(5);
    if (luck === 1) return;
    const state: ObservedContainerState = luck === 2 ? "Created" : "Running";
    const hash = this.#hashes[container] ?? "";
    const configDigest = this.#digests[container] ?? "";
    const place = { sandboxId: sandbox.id, hash, configDigest };
    const one = anInstance(container, { attempt, state, ...place });
    this.containers.push(one);
    if (state === "Running") this.#judgeRuns(written, one);
  }

  /** What may run only once does, but for those that were ended to be replaced. */
  #judgeRuns(container: Container, one: ObservedContainer): void {
    const earlier = this.#ran.filter(({ name }) => name === container.name);
    this.#ran.push(one);
    const mayAgain = restartsAfterKill(this.pod.spec, container);
    const isApp = this.pod.spec.containers.includes(container);
    const before = isApp ? earlier : earlier.filter(({ sandboxId }) => sandboxId === one.sandboxId);
    if (!mayAgain && before.some(({ id }) => !this.#replaced.has(id)))
      throw new Error(`${container.name} ran more than once`);
  }

  #judgeEnd(): void {
    const isEnd = (container: Container): boolean => {
      const newest = newestContainer(this.observed, container.name);
      if (newest?.state !== "Exited" || this.#replaced.has(newest.id)) return false;
      return !restartsAfter(this.pod.spec, container, newest.exitCode);
    };
    const { initContainers, containers } = this.pod.spec;
    const isPast = containers.some(({ name }) => this.#ranInLast(name));
    const failed = initContainers.filter(
      ({ name }) => newestContainer(this.observed, name)?.exitCode !== 0,
    );
    if (containers.every(isEnd) || (!isPast && failed.some(isEnd))) this.#isOver = true;
  }

  /** An app container in the last sandbox that anything ran in tells that all init containers are behind it. */
  #ranInLast(name: string): boolean {
    const ran = this.containers.filter(({ state }) => state !== "Created");
    const used = this.sandboxes.filter(({ id }) => ran.some((one) => one.sandboxId === id));
    const attempt = Math.max(...used.map((one) => one.attempt));
    return ran.some((one) => one.name === name && one.sandboxId === `sandbox-${attempt}`);
  }

  /** Nothing that lives, and no record that decisions are made by. */
  #collect(): void {
    if (this.observed === undefined) return;
    const garbage = planGarbage(this.observed);
    const gone = new Set(garbage.containers.map(({ id }) => id));
    for (const { id, state } of garbage.containers)
      if (state !== "Exited" && state !== "Created") throw new Error(`${id} is ${state}`);
    this.containers = this.containers.filter(
      ({ id, sandboxId }) => !gone.has(id) && !garbage.sandboxes.includes(sandboxId),
    );
    this.sandboxes = this.sandboxes.filter(({ id }) => !garbage.sandboxes.includes(id));
  }

  #instance(id: string): Instance {
    const found = this.containers.find((one) => one.id === id);
    if (found === undefined) throw new Error(`there is no ${id}`);
    return found;
  }

  #sandbox(id: string): Sandbox {
    const found = this.sandboxes.find((one) => one.id === id);
    if (found === undefined) throw new Error(`there is no ${id}`);
    return found;
  }
}
