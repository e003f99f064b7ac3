// A node that runs pods of a file and of a document, and its broker, to which bad things happen.

import { expect } from "bun:test";
import { copyFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import type { PrivateContainerd } from "../harness/private-containerd.ts";
import type { ContainerdWatch } from "../harness/watch-containerd.ts";
import { plainPod } from "./support-b-pods.ts";
import { everythingOf, runningApps, type Stage } from "./support-b-stage.ts";
import { desired, publishDesired } from "./support-b-upstream.ts";
import { Line } from "./support-g-line.ts";
import { connects, isTold, isToldAgain, mistakes, type Expected } from "./support-g-told.ts";

export interface Patient {
  readonly name: string;
  readonly broker: Broker;
  readonly agent: AgentProcess;
  readonly containerd: PrivateContainerd;
  /** Between the two, if it was asked for. */
  readonly line: Line;
}

export interface PatientOptions {
  /** Further lines of mosquitto.conf. */
  readonly extra?: readonly string[];
  /** Further fields below `mqtt`. */
  readonly mqtt?: Readonly<Record<string, unknown>>;
  /** The node reaches its broker by a line that can be cut. */
  readonly byLine?: boolean;
  /** Of the first document, beside `web` and `extra`. */
  readonly resources?: readonly object[];
}

/** Every change is on the broker's disk at once: a kill loses nothing that it has acknowledged. */
const SAVES_AT_ONCE = ["autosave_on_changes true", "autosave_interval 1"];
/** A session that ends sooner looks like a second device of this name, which is met with patience. */
const OLD_ENOUGH_MS = 11_000;

/** Six nodes start at once. */
const FIRST_TOLD_WITHIN_MS = 90_000;

/** The pods `local` of a file, `extra` and `web` of generation 1 run, and the broker knows all of it. */
export async function healthyPatient(
  stage: Stage,
  name: string,
  { extra = [], mqtt = {}, byLine = false, resources = [] }: PatientOptions = {},
): Promise<Patient> {
  const broker = await startBroker(stage.temp, {
    name: `${name}-broker`,
    extra: [...SAVES_AT_ONCE, ...extra],
  });
  const line = new Line(broker.port);
  if (byLine) await line.mend();
  const agent = stage.agent(name, { mqttUrl: byLine ? line.url : broker.url, mqtt });
  agent.writeManifest("local.yaml", plainPod("local", name));
  const pods = [plainPod("web", name), plainPod("extra", name), ...resources];
  await publishDesired(broker, name, desired(name, { generation: 1, resources: pods }));
  await agent.startReady();
  const patient = { name, broker, agent, line, containerd: stage.containerd() };
  await isTold(patient, { ack: healthy(1) }, FIRST_TOLD_WITHIN_MS);
  await isOldEnough(agent);
  return patient;
}

/** The present session has lasted long enough to end without suspicion. */
export async function isOldEnough(agent: AgentProcess): Promise<void> {
  const last = agent.logLines().findLast(({ msg }) => msg === "connected to the broker");
  const since = Date.parse(String(last?.["time"]));
  expect(since).toBeGreaterThan(0);
  await Bun.sleep(Math.max(0, since + OLD_ENOUGH_MS - Date.now()));
}

/** The acknowledgement of a document that has converged. */
export function healthy(generation: number): {
  readonly generation: number;
  readonly observedGeneration: number;
  readonly code: 200;
  readonly phase: "Healthy";
} {
  return { generation, observedGeneration: generation, code: 200, phase: "Healthy" };
}

/** Whether what runs stays what it is: the same containers, none of them started or ended. */
export class Unmoved implements Disposable {
  readonly #patient: Patient;
  readonly #watch: ContainerdWatch;
  readonly #pods: readonly string[];
  readonly #before: Awaited<ReturnType<typeof runningApps>>;

  private constructor(
    patient: Patient,
    watch: ContainerdWatch,
    before: Awaited<ReturnType<typeof runningApps>>,
  ) {
    this.#patient = patient;
    this.#watch = watch;
    this.#before = before;
    this.#pods = before.map(({ name }) => name);
  }

  /** From now on these pods are looked at. */
  static async from(stage: Stage, patient: Patient, pods: readonly string[]): Promise<Unmoved> {
    const watch = await stage.watch();
    const running = await runningApps(patient.containerd, patient.name);
    const own = running.filter(({ name }) => pods.includes(name));
    expect(own.map(({ name }) => name)).toEqual([...pods]);
    return new Unmoved(patient, watch, own);
  }

  /** `all`: every pod of the node, new ones too. */
  async check(all: readonly string[] = this.#pods): Promise<void> {
    const { containerd, name } = this.#patient;
    const ids = new Set(this.#before.map(({ id }) => id));
    const touched = this.#watch.events.filter(
      ({ topic, containerId }) => topic.startsWith("/tasks/") && ids.has(containerId),
    );
    expect(touched).toEqual([]);
    const running = await runningApps(containerd, name);
    expect(running.filter(({ id }) => ids.has(id))).toEqual([...this.#before]);
    const expected = all.flatMap((pod) => [`${pod}/container`, `${pod}/sandbox`]).toSorted();
    await eventually(
      "each pod has one container, and nothing is left of others",
      async () => {
        const found = await everythingOf(containerd, name);
        if (!Bun.deepEquals(found, expected)) throw new Error(found.join(" "));
        return true;
      },
      { interval: 200 },
    );
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }
}

/** Waits until exactly these pods of the node run. */
export async function runHere(
  { agent, containerd, name }: Patient,
  pods: readonly string[],
): Promise<void> {
  await eventually(
    `these pods of ${name} run: ${pods.join(" ")}`,
    async () => {
      const found = (await runningApps(containerd, name)).map((one) => one.name).join(" ");
      if (found !== pods.join(" ")) throw new Error(`running: ${found}`);
      return true;
    },
    { timeout: 60_000, interval: 500, explain: () => agent.logTail(40) },
  );
}

/** The broker comes back with `change` done to its stopped self; then the node is right within 30 s. */
export async function comesBack(
  patient: Patient,
  expected: Expected,
  change: () => void = () => undefined,
): Promise<void> {
  const before = connects(patient.agent);
  change();
  await patient.broker.start();
  await isToldAgain(patient, before, expected);
}

function databaseOf(broker: Broker): string {
  return join(dirname(broker.logFile), "mosquitto.db");
}

/** Of a stopped broker: everything retained and every session. */
export function forgetEverything(broker: Broker): void {
  rmSync(databaseOf(broker));
}

/** Of a stopped broker; gives what puts the copy back, also at a stopped broker. */
export function copyMemory(broker: Broker): () => void {
  const copy = `${databaseOf(broker)}.old`;
  copyFileSync(databaseOf(broker), copy);
  return () => copyFileSync(copy, databaseOf(broker));
}

/** Nothing that comes late makes it wrong again. */
export async function staysRight(
  patient: Patient,
  expected: Expected,
  seconds: number,
): Promise<void> {
  const end = performance.now() + seconds * 1_000;
  while (performance.now() < end) {
    expect(await mistakes(patient, expected)).toEqual([]);
    await Bun.sleep(1_000);
  }
}
