// What outlives any process of the agent: time, runtime, broker, disk and boot of a simulated machine.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FakeContainer, Program } from "../fakes/fake-cri-world.ts";
import { FakeBroker } from "../fakes/fake-mqtt-broker.ts";
import { FakeRuntime, type FakeRuntimeOptions } from "../fakes/fake-runtime.ts";
import { FakeReadings } from "../fakes/fake-readings.ts";
import { ImageDisk } from "./sim-images.ts";
import { IMAGE } from "./pod-world.ts";
import { SimClock } from "./sim-clock.ts";
import { SimDirectory } from "./sim-directory.ts";
import { endShortages } from "./sim-pressure.ts";
import { SimLogs } from "./sim-logs.ts";
import { SimMounts } from "./sim-mounts.ts";
import { LATER, type SimSetup } from "./sim-specs.ts";
import { LABEL } from "../../src/api/pod/labels.ts";
import { TrustDirectory } from "./sim-trust.ts";

const RAM = "/dev/shm";

export interface MachineOptions {
  /** Of the dice that only this machine throws. */
  readonly seed?: number;
  readonly setup: SimSetup;
  readonly program: (container: FakeContainer) => Program;
  readonly exec: NonNullable<FakeRuntimeOptions["exec"]>;
  readonly onCall: NonNullable<FakeRuntimeOptions["onCall"]>;
  readonly onEvent: NonNullable<FakeRuntimeOptions["onEvent"]>;
  readonly onStartError?: NonNullable<FakeRuntimeOptions["onStartError"]>;
}

export class SimMachine implements Disposable {
  readonly clock = new SimClock();
  readonly root = mkdtempSync(join(existsSync(RAM) ? RAM : tmpdir(), "agent-sim-"));
  readonly manifests = new SimDirectory(this.clock, join(this.root, "manifests"));
  readonly claims = join(this.root, "claims");
  /** Files that containers have left in claims: nobody may remove them. */
  readonly kept = new Set<string>();
  readonly mounts = new SimMounts();
  readonly readings = new FakeReadings();
  readonly trust = new TrustDirectory(this.root);
  readonly broker = new FakeBroker(this.clock);
  readonly runtime: FakeRuntime;
  /** Where containers write logs. */
  readonly logFiles: SimLogs | undefined;
  readonly imageDisk = new ImageDisk(() => this.runtime);
  bootedAt = 0;
  boots = 1;
  /** What the kernel says of the clock. */
  clockSynchronised = true;
  #imagesThere = true;
  readonly #hasClaimDisk: boolean;
  readonly #ownImageFs: boolean;

  constructor({ seed = 0, setup, onEvent, ...seen }: MachineOptions) {
    const { clock } = this;
    const logs = setup.logs ? new SimLogs({ seed, clock, runtime: () => this.runtime }) : undefined;
    this.logFiles = logs;
    this.#hasClaimDisk = setup.claimDisk;
    this.#ownImageFs = setup.ownImageFs;
    endShortages(this.readings, this.#ownImageFs);
    this.bringClaims(true);
    writeFileSync(join(this.root, "resolv.conf"), "nameserver 192.0.2.53\n");
    const pullable = (): readonly string[] => (this.#imagesThere ? [IMAGE, LATER] : [IMAGE]);
    this.runtime = new FakeRuntime({
      clock: this.clock,
      images: [IMAGE, LATER],
      latencyMs: setup.latencyMs,
      tellsExits: setup.tellsExits,
      eventLagMs: setup.eventLagMs,
      statusLagMs: setup.statusLagMs,
      get pullable() {
        return pullable();
      },
      ...seen,
      reopenLog: (id) => logs?.reopen(id),
      onEvent: (event, cause) => {
        onEvent(event, cause);
        if (event.type !== "Started") return;
        if (setup.logs) this.#writeLog(event.id);
        this.#useClaims(event.id);
      },
    });
  }

  /** As a process finds it now. */
  get facts() {
    const { clock, root, manifests, mounts, readings, broker, runtime, logFiles } = this;
    const { bootId, bootedAt } = this;
    const trusted = {
      diskSpace: this.imageDisk.space,
      rootKeys: this.trust.read,
      clockSynchronised: () => this.clockSynchronised,
    };
    const lasting = { clock, root, manifests, mounts, readings, broker, runtime, logFiles };
    return { ...lasting, bootId, bootedAt, ...trusted };
  }

  get state(): string {
    return join(this.root, "state");
  }

  get logs(): string {
    return join(this.root, "logs");
  }

  get bootId(): string {
    return `00000000-0000-4000-8000-${String(this.boots).padStart(12, "0")}`;
  }

  /** Gone = not on the node, and nowhere to be pulled from. */
  bringImages(there: boolean): void {
    this.#imagesThere = there;
    if (!there) this.runtime.images.delete(LATER);
  }

  /** The disk of claims, if they have one. What is below it must stay empty: true = it was. */
  bringClaims(there: boolean): boolean {
    const { claims, mounts } = this;
    if (!this.#hasClaimDisk || mounts.isDisk(claims) === there) return true;
    const away = `${claims}.away`;
    if (!there) {
      mounts.pullOut(claims);
      renameSync(claims, away);
      mkdirSync(claims);
      return true;
    }
    const isEmpty = !existsSync(claims) || readdirSync(claims).length === 0;
    rmSync(claims, { recursive: true, force: true });
    if (existsSync(away)) renameSync(away, claims);
    else mkdirSync(claims);
    mounts.plugIn(claims);
    return isEmpty;
  }

  /** Nothing troubles it any more. */
  calm(): void {
    const { runtime, manifests } = this;
    this.logFiles?.calm();
    runtime.faults.clear();
    runtime.events.muted = false;
    runtime.networkReady = true;
    this.bringImages(true);
    runtime.start();
    manifests.hints = { mode: "precise", lagMs: 0 };
    endShortages(this.readings, this.#ownImageFs);
  }

  reboot(): void {
    this.runtime.reboot();
    this.runtime.start();
    this.mounts.reboot();
    this.boots += 1;
    this.bootedAt = this.clock.monotonic() - 3_000;
  }

  /** Of the agent's state; only while no agent runs. */
  damage(how: "lost" | "corrupt" | "everything" | "key" | "keyless"): void {
    const database = join(this.state, "agent.db");
    if (how === "everything") {
      this.mounts.reboot();
      return rmSync(this.state, { recursive: true, force: true });
    }
    if (how === "key" || how === "keyless") rmSync(join(this.state, "secret.key"), { force: true });
    if (how === "lost" || how === "keyless")
      for (const suffix of ["", "-wal", "-shm"]) rmSync(database + suffix, { force: true });
    else if (how === "corrupt" && existsSync(database))
      writeFileSync(database, "not a database, however one looks at it");
  }

  [Symbol.dispose](): void {
    this.logFiles?.[Symbol.dispose]();
    rmSync(this.root, { recursive: true, force: true });
  }

  /** Pods of files have data under this name of a claim, and those of unsigned documents have none. */
  isKept(claim: string): boolean {
    const [files, documents] = ["default", ".unsigned/default"].map((parent) =>
      existsSync(join(this.claims, parent, claim)),
    );
    return files === true && documents === false;
  }

  /** Whoever has a claim leaves something in it. */
  #useClaims(id: string): void {
    for (const { hostPath } of this.runtime.containers.get(id)?.config.mounts ?? []) {
      if (!hostPath.startsWith(`${this.claims}/`)) continue;
      // Whoever has it mounted writes to it still.
      if (this.#hasClaimDisk && !this.mounts.isDisk(this.claims)) continue;
      const path = join(hostPath, "kept");
      this.kept.add(path);
      if (existsSync(hostPath)) writeFileSync(path, "mine");
    }
  }

  #writeLog(id: string): void {
    const container = this.runtime.containers.get(id);
    const sandbox = this.runtime.sandboxes.get(container?.sandboxId ?? "");
    const directory = sandbox?.config.logDirectory ?? "";
    if (container === undefined || directory === "") return;
    const path = join(directory, container.config.logPath);
    mkdirSync(join(path, ".."), { recursive: true });
    if (container.config.labels[LABEL.instance] === "default") this.logFiles?.opened(id, path);
    else writeFileSync(path, "line\n");
  }
}
