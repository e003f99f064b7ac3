// A whole agent whose manifests are Jobs and CronJobs, on a machine with virtual time, a wall clock that can be set, and
// reboots. It writes down every start of a container, with the time.

import type { NewEvent } from "../../src/api/v1/events.ts";
import { LABEL } from "../../src/api/pod/labels.ts";
import type { FakeContainer, Program } from "../fakes/fake-cri-world.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { TOPIC } from "./sim-authority.ts";
import { NODE } from "./sim-manifest.ts";
import type { SimSetup } from "./sim-specs.ts";
import { SimAgent } from "./sim-agent.ts";
import { SimMachine } from "./sim-machine.ts";

const MINUTE = 60_000;

export class JobWorld implements Disposable {
  readonly machine: SimMachine;
  /** Of each start: the pod, and the wall-clock ms. */
  readonly starts: { readonly pod: string; readonly at: number }[] = [];
  readonly troubles: string[] = [];
  /** What its containers do. */
  program: Program = { exitsAfterMs: 1000 };
  programOf: (pod: string) => Program = () => this.program;
  #agent: SimAgent | undefined;

  constructor({ hasBroker = false } = {}) {
    const setup: SimSetup = {
      specs: new Map(),
      claimDisk: false,
      imageDisk: false,
      ownImageFs: false,
      badLine: false,
      homes: new Map(),
      latencyMs: {},
      statusLagMs: 0,
      tellsExits: true,
      eventLagMs: 0,
      logs: false,
      protocolVersion: hasBroker ? 5 : undefined,
    };
    this.machine = new SimMachine({
      setup,
      program: (container) => this.#begin(container),
      exec: () => ({ exitCode: 0, stdout: "", stderr: "" }),
      onCall: () => undefined,
      onEvent: () => undefined,
    });
    this.#setup = setup;
  }

  readonly #setup: SimSetup;

  #begin({ sandboxId }: FakeContainer): Program {
    const sandbox = this.machine.runtime.sandboxes.get(sandboxId);
    const pod = sandbox?.config.labels[LABEL.podName] ?? "?";
    this.starts.push({ pod, at: this.machine.clock.now() });
    return this.programOf(pod);
  }

  /** `pod` of each start since the last call. */
  started(): readonly string[] {
    return this.starts.splice(0).map(({ pod }) => pod);
  }

  /** Wall-clock times, `02T03:00`, of each start since the last call. */
  startedAt(): readonly string[] {
    return this.starts.splice(0).map(({ at }) => new Date(at).toISOString().slice(8, 16));
  }

  write(name: string, ...objects: readonly object[]): void {
    const text = objects.map((one) => JSON.stringify(one)).join("\n---\n");
    this.machine.manifests.write(`${name}.yaml`, text, { how: "rename", onDone: () => undefined });
  }

  remove(name: string): void {
    this.machine.manifests.remove(`${name}.yaml`, "delete");
  }

  /** A document of the broker for this node. */
  publish(generation: number, resources: readonly object[]): void {
    const document = {
      apiVersion: "agent/v1",
      kind: "DesiredState",
      target: { node: NODE },
      epoch: "e",
      generation,
      resources,
    };
    this.machine.broker.publish(TOPIC.desired, JSON.stringify(document));
  }

  async start(): Promise<void> {
    this.#agent = new SimAgent({
      ...this.machine.facts,
      setup: this.#setup,
      random: new Mulberry32(1),
      isWell: () => true,
      onKnock: () => undefined,
      onFailure: () => undefined,
      onForget: () => undefined,
      onLine: () => undefined,
      mayWrite: () => !this.diskFull,
      onVolume: () => undefined,
      accuse: (text) => this.troubles.push(text),
      onBegin: () => undefined,
      onSettle: () => undefined,
      onAccepted: () => undefined,
      onFall: (why) => this.troubles.push(why),
    });
    await this.passes(5);
  }

  diskFull = false;

  /** kill −9. */
  async kill(): Promise<void> {
    this.#agent?.kill();
    await this.passes(0);
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** What runs ends, and monotonic time begins anew; the wall clock goes on. */
  async reboot(): Promise<void> {
    await this.kill();
    this.machine.reboot();
    await this.start();
  }

  async passes(seconds: number): Promise<void> {
    await this.machine.clock.advance(seconds * 1000);
  }

  /** Until the wall clock shows this time of day, in steps as small as time is looked at. */
  async minutes(count: number): Promise<void> {
    await this.machine.clock.advance(count * MINUTE);
  }

  /** Sets the wall clock. */
  jump(minutes: number): void {
    this.machine.clock.stepWall(minutes * MINUTE);
  }

  /** The runtime loses every container and sandbox that has ended. */
  loseEnded(): void {
    const { containers, sandboxes } = this.machine.runtime;
    for (const [id, { sandboxId }] of containers) {
      containers.delete(id);
      sandboxes.delete(sandboxId);
    }
  }

  /** Names of the pods that are shown, with their phase. */
  pods(): readonly string[] {
    const pods = this.#agent?.facts.pods() ?? [];
    return pods.map(({ pod, status }) => `${pod.metadata.name} ${status.phase}`).toSorted();
  }

  /** `Kind/name reason` of events, each once. */
  events(): readonly string[] {
    const events: readonly NewEvent[] = this.#agent?.facts.events() ?? [];
    const own = events.filter(({ object }) => object.kind === "Job" || object.kind === "CronJob");
    return [...new Set(own.map(({ object, reason }) => `${object.name} ${reason}`))];
  }

  rejected(): readonly string[] {
    const { rejected } = this.#agent?.desired ?? { rejected: [] };
    return rejected.map(({ kind, name, code, message }) => `${kind} ${name}: ${code}: ${message}`);
  }

  [Symbol.dispose](): void {
    this.#agent?.kill();
    this.#agent?.release();
    this.machine[Symbol.dispose]();
  }
}
