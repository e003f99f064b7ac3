// One node whose agent updates itself: real files and database, virtual time, and a new version that is only played.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { RecordedEvent } from "../../../src/api/v1/events.ts";
import { DEFAULT_POLICY, type UpdatePolicy } from "../../../src/api/pod/update-policy.ts";
import type { SelfUpdateEdge } from "../../../src/edges.ts";
import type { FileDownload } from "../../../src/host/http/download-file.ts";
import type { DownloadAnswer } from "../../../src/host/http/download-edge.ts";
import { versionsOf } from "../../../src/host/versions/version-directory.ts";
import { ClockFloor } from "../../../src/lib/clock.ts";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { AgentUpdate } from "../../../src/protocol/agent-release.ts";
import type { DocumentState } from "../../../src/protocol/desired-document.ts";
import { SelfUpdater } from "../../../src/self-update/self-updater.ts";
import type { UpdateOrder } from "../../../src/self-update/update-order.ts";
import type { Keyring } from "../../../src/trust/keyring.ts";
import type { Store } from "../../../src/store/store.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { Mulberry32 } from "../../fakes/mulberry32.ts";
import type { TempDirectory } from "../../harness/temp-directory.ts";
import { files, openStore } from "../store/open-store.ts";

export const NO_KEYS: Keyring = { required: false, roots: [], bundleVersion: 0, unusable: "none" };

/** What the world around the agent is like; a test changes it. */
export interface Surroundings {
  ready: boolean;
  acknowledged: boolean;
  connected: boolean;
  shuttingDown: boolean;
  clockSynchronised: boolean;
  /** Of the document. */
  policy: Partial<UpdatePolicy>;
  /** What the new binary says in its self-test; an Error = it fails. */
  says: string | Error;
  /** Of the web; each download takes the first. */
  downloads: ((request: FileDownload) => void)[];
  agent: AgentUpdate | undefined;
}

/** Turns of `pass`: always, and as long as the updater is at work. */
const [SOON, LATE] = [20, 500];

export class UpdaterStage {
  readonly clock = new VirtualClock();
  readonly events: Pick<RecordedEvent, "type" | "reason" | "message">[] = [];
  readonly place: string;
  readonly root: string;
  readonly world: Surroundings = {
    ready: true,
    acknowledged: true,
    connected: false,
    shuttingDown: false,
    clockSynchronised: true,
    policy: {},
    says: "2",
    downloads: [],
    agent: undefined,
  };
  readonly store: Store;
  updater!: SelfUpdater;
  restarts = 0;
  tests = 0;
  #stop = new AbortController();

  constructor(temp: TempDirectory, name: string) {
    this.root = temp.directory(name);
    this.place = join(this.root, "state/self-update");
    mkdirSync(join(this.root, "state"), { recursive: true });
    writeFileSync(join(this.root, "agent"), "installed");
    this.store = openStore(join(this.root, "state"));
    this.start("1");
  }

  /** As the launcher starts a version; the version before has ended. */
  start(version: string, trial?: string): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    const { world, clock } = this;
    const until = Math.floor(clock.monotonic() / 1000) + 300;
    const words =
      trial === undefined ? {} : { AGENT_LAUNCH_TRIAL: trial, AGENT_LAUNCH_UNTIL: String(until) };
    const versions = versionsOf({
      AGENT_LAUNCH_DIR: this.place,
      AGENT_LAUNCH_INSTALLED: join(this.root, "agent"),
      ...words,
    });
    if (versions === undefined) throw new Error("the launcher's words are not understood");
    const edge: SelfUpdateEdge = {
      versions,
      downloadFile: (request) => {
        world.downloads.shift()?.(request);
        return Promise.resolve();
      },
      selfTest: () => {
        this.tests += 1;
        if (typeof world.says === "string") return Promise.resolve(world.says);
        throw world.says;
      },
    };
    const download = (): Promise<DownloadAnswer> =>
      Promise.resolve({ type: "Status", status: 404 });
    const log = createLogger({ clock, level: "error", write: () => undefined });
    this.updater = new SelfUpdater({
      edges: {
        clock,
        log,
        random: new Mulberry32(7),
        files,
        download,
        sha256,
        store: this.store,
        clockSynchronised: () => world.clockSynchronised,
        clockFloor: new ClockFloor(0),
      },
      maintenanceWindows: [],
      edge,
      trust: { look: () => NO_KEYS, verify: () => false },
      nodeName: "pi-1",
      version,
      platform: "linux-arm64",
      record: (event) => void this.events.push(event),
      proofs: { isReady: () => world.ready, hasBroker: () => world.acknowledged },
      isConnected: () => world.connected,
      isShuttingDown: () => world.shuttingDown,
      documents: () => (world.agent === undefined ? [] : [documentWith(world.agent, world.policy)]),
      onChange: () => undefined,
      restart: () => {
        this.restarts += 1;
        this.#stop.abort();
      },
    });
    void this.updater.run(this.#stop.signal);
  }

  /** Time passes, and the files that are read and written in parts. */
  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
    // Parts of files come from outside virtual time: soon, or late on a machine that does much else.
    for (let turn = 0; turn < SOON || (turn < LATE && this.#isAtWork()); turn += 1) {
      await Bun.sleep(1);
      await this.clock.settle();
    }
  }

  #isAtWork(): boolean {
    const { phase, update } = this.updater.view();
    const isWaiting = phase === "Waiting" && update?.waits !== undefined;
    return phase !== "Idle" && phase !== "OnTrial" && !isWaiting && !this.#stop.signal.aborted;
  }

  binary(content = "a new binary"): string {
    const path = join(this.root, "new");
    writeFileSync(path, content);
    return path;
  }

  order(changes: Partial<UpdateOrder> = {}): string | undefined {
    const source = this.binary();
    const common = { origin: "Operator", retry: false, allowUnsigned: true } as const;
    return this.updater.order({ ...common, source, ...changes });
  }

  get reasons(): readonly string[] {
    return this.events.map(({ reason }) => reason);
  }

  end(): void {
    this.#stop.abort();
    this.store[Symbol.dispose]();
    rmSync(this.root, { recursive: true, force: true });
  }
}

export function failsItsTest(): AgentError {
  return new AgentError({ reason: "SelfTestFailed", message: "it fails its test" });
}

function documentWith(agent: AgentUpdate, policy: Partial<UpdatePolicy>): DocumentState {
  return {
    source: "mqtt:node",
    observedGeneration: 0,
    acceptedAt: 0,
    lastRejected: undefined,
    document: {
      source: "mqtt:node",
      epoch: "",
      generation: 1,
      digest: "",
      policy: { ...DEFAULT_POLICY, ...policy },
      pods: [],
      written: new Map(),
      objects: [],
      signed: true,
      agent,
    },
  };
}
