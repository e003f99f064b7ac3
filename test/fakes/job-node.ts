// A node that has nothing but Jobs: the real controller, pods that are entries of a map, and rows in memory. Days of it take
// a moment, so that thousands of seeds can run; it dies between the row that is stored and the pod that starts.

import type { DesiredPod, SourceSnapshot } from "../../src/api/pod/desired-pod.ts";
import { decodeManifest } from "../../src/api/decode/decode-manifest.ts";
import type { PodUID } from "../../src/api/v1/pod.ts";
import { createLogger } from "../../src/lib/logger.ts";
import type { PodOutcome } from "../../src/source/workload/job-state.ts";
import { RunController } from "../../src/source/workload/run-controller.ts";
import type { RunRow } from "../../src/store/runs.ts";
import { sha256 } from "../unit/api/digest.ts";
import type { Program } from "./fake-cri-world.ts";
import { VirtualClock } from "./fake-clock.ts";
import type { Mulberry32 } from "./mulberry32.ts";

/** From a decision to the container that runs, at most. */
const START_MS = 3000;
const MAX_STEPS = 1000;
/** Until a container that has failed restarts in place. */
const RESTART_MS = 10_000;

interface NodePod {
  readonly desired: DesiredPod;
  state: "Starting" | "Running" | "Crashed" | "Succeeded" | "Failed";
  restarts: number;
  timer: Disposable | undefined;
}

export interface JobNodeModel {
  readonly decides: (pod: string) => void;
  readonly begins: (pod: string) => Program;
}

export class JobNode implements Disposable {
  readonly clock = new VirtualClock();
  clockSynchronised = true;
  diskFull = false;
  /** The agent dies when it has stored something next, before it acts on it. */
  diesOnceStored = false;
  readonly #rows = new Map<string, RunRow>();
  readonly #pods = new Map<PodUID, NodePod>();
  readonly #dice: Mulberry32;
  readonly #model: JobNodeModel;
  #snapshot: SourceSnapshot = { source: "file", ready: true, pods: [], objects: [], rejected: [] };
  #controller: RunController | undefined;
  #boot = 1;
  #hasStored = false;
  /** Steps in one moment. */
  #steps = { at: 0, count: 0 };

  constructor(dice: Mulberry32, model: JobNodeModel) {
    this.#dice = dice;
    this.#model = model;
  }

  get isUp(): boolean {
    return this.#controller !== undefined;
  }

  get isIdle(): boolean {
    return [...this.#pods.values()].every(
      ({ state }) => state === "Succeeded" || state === "Failed",
    );
  }

  /** The only file. */
  write(objects: readonly object[]): void {
    const text = objects.map((one) => JSON.stringify(one)).join("\n---\n");
    const context = { source: "file", ref: "jobs.yaml", nodeName: "n", sha256 } as const;
    const { runs, errors } = decodeManifest(text, { ...context, clusterDNS: false });
    if (errors.length > 0) throw new Error(JSON.stringify(errors));
    this.#snapshot = { ...this.#snapshot, runs: runs.map(({ desired }) => desired) };
    this.#turn();
  }

  start(): void {
    const { clock } = this;
    this.#controller = new RunController({
      edges: {
        clock,
        sha256,
        bootId: `boot-${this.#boot}`,
        log: createLogger({ clock, level: "error", write: () => undefined }),
        clockSynchronised: () => this.clockSynchronised,
        store: { runs: this.#store() },
      },
      record: () => undefined,
      outcomeOf: (uid) => outcomeOf(this.#pods.get(uid)),
      isThere: (uid) => this.#pods.has(uid),
      onDue: () => this.#turn(),
    });
    this.#turn();
  }

  /** kill −9: what runs goes on, what was about to start does not. */
  kill(): void {
    this.#controller?.[Symbol.dispose]();
    this.#controller = undefined;
    for (const [uid, pod] of this.#pods) {
      if (pod.state !== "Starting") continue;
      pod.timer?.[Symbol.dispose]();
      if (pod.restarts === 0) this.#pods.delete(uid);
      else pod.state = "Crashed";
    }
  }

  /** To be followed by `start`. */
  reboot(): void {
    this.kill();
    this.#boot += 1;
    for (const pod of this.#pods.values()) {
      if (pod.state !== "Running") continue;
      pod.timer?.[Symbol.dispose]();
      pod.state = pod.desired.pod.spec.restartPolicy === "OnFailure" ? "Crashed" : "Failed";
    }
  }

  /** The runtime loses what has ended. */
  lose(): void {
    for (const [uid, { state }] of this.#pods)
      if (state === "Succeeded" || state === "Failed") this.#pods.delete(uid);
  }

  [Symbol.dispose](): void {
    this.#controller?.[Symbol.dispose]();
  }

  #store() {
    const all = this.#rows;
    const keyOf = ({ source, name }: Pick<RunRow, "source" | "name">): string =>
      `${source} ${name}`;
    return {
      get: (source: RunRow["source"], name: string) => all.get(keyOf({ source, name }))?.state,
      of: (source: RunRow["source"]) => [...all.values()].filter((row) => row.source === source),
      put: (rows: readonly RunRow[]) => {
        if (this.diskFull) throw new Error("database or disk is full");
        for (const row of rows) all.set(keyOf(row), row);
        this.#hasStored = true;
      },
      forget: (rows: readonly Pick<RunRow, "source" | "name">[]) => {
        for (const row of rows) all.delete(keyOf(row));
      },
    };
  }

  /** What the loop of the agent does: step, then let the pods follow. */
  #turn(): void {
    this.#countStep();
    this.#hasStored = false;
    this.#controller?.reconcile([this.#snapshot]);
    if (this.diesOnceStored && this.#hasStored) {
      this.diesOnceStored = false;
      this.kill();
      this.start();
      return;
    }
    const wanted = this.#controller?.expand(this.#snapshot).pods;
    if (wanted === undefined) return;
    const uids = new Set(wanted.map(({ uid }) => uid));
    for (const [uid, pod] of this.#pods) {
      if (uids.has(uid)) continue;
      pod.timer?.[Symbol.dispose]();
      this.#pods.delete(uid);
    }
    for (const desired of wanted) {
      const pod = this.#pods.get(desired.uid);
      if (pod?.state === "Crashed") this.#starts(pod, RESTART_MS);
      if (pod !== undefined || desired.ended === true) continue;
      const fresh: NodePod = { desired, state: "Starting", restarts: 0, timer: undefined };
      this.#pods.set(desired.uid, fresh);
      this.#model.decides(desired.pod.metadata.name);
      this.#starts(fresh, this.#dice.next() * START_MS);
    }
  }

  /** What is due and cannot be done must not be tried without a pause. */
  #countStep(): void {
    const at = this.clock.monotonic();
    this.#steps = { at, count: at === this.#steps.at ? this.#steps.count + 1 : 1 };
    if (this.#steps.count > MAX_STEPS) throw new Error("the controller steps without end");
  }

  #starts(pod: NodePod, afterMs: number): void {
    if (pod.state === "Crashed") pod.restarts += 1;
    pod.state = "Starting";
    pod.timer = this.clock.after(afterMs, () => {
      const { exitsAfterMs, exitCode = 0 } = this.#model.begins(pod.desired.pod.metadata.name);
      pod.state = "Running";
      if (exitsAfterMs === undefined) return;
      pod.timer = this.clock.after(exitsAfterMs, () => this.#ends(pod, exitCode));
    });
  }

  #ends(pod: NodePod, exitCode: number): void {
    const restarts = pod.desired.pod.spec.restartPolicy === "OnFailure";
    pod.state = exitCode === 0 ? "Succeeded" : restarts ? "Crashed" : "Failed";
    if (this.#controller?.concerns(pod.desired.uid) === true) this.#turn();
  }
}

/** One that is not known has not begun. */
function outcomeOf(pod: NodePod | undefined): PodOutcome {
  switch (pod?.state) {
    case "Succeeded":
      return { type: "Succeeded" };
    case "Failed":
      return { type: "Failed", exits: [{ container: "a", exitCode: 1 }], conditions: [] };
    case "Starting":
    case "Running":
    case "Crashed":
    case undefined:
      return { type: "Active", restarts: pod?.restarts ?? 0 };
  }
}
