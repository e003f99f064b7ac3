// One process of the whole agent in a simulated world: every edge is the world's, and dies with the process.

import { allContainers } from "../../src/api/v1/pod.ts";
import { FakeLogind } from "../fakes/fake-logind.ts";
import { FakeUsage } from "../fakes/fake-usage.ts";
import { noArchives } from "../fakes/fake-image-store.ts";
import { join } from "node:path";
import { Agent } from "../../src/agent/agent.ts";
import { NO_PULL_EDGE } from "../fakes/fake-pull-edge.ts";
import type { Edges } from "../../src/edges.ts";
import { Meter } from "../../src/lib/meter.ts";
import type { NodeTruth } from "../../src/upstream/report/acknowledge.ts";
import type { AgentConfig } from "../../src/config/config.ts";
import { CONFIG_DEFAULTS, MQTT_DEFAULTS } from "../fakes/config-defaults.ts";
import type { DesiredState, Removal } from "../../src/api/pod/desired-pod.ts";
import { type Clock, type Monotonic, ClockFloor } from "../../src/lib/clock.ts";
import { messageOf } from "../../src/lib/errors.ts";
import { createLogger } from "../../src/lib/logger.ts";
import type { Random } from "../../src/lib/random.ts";
import { verifyEd25519 } from "../../src/host/crypto/ed25519.ts";
import type { Store } from "../../src/store/store.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import type { FakeBroker } from "../fakes/fake-mqtt-broker.ts";
import { fakeCompress } from "../fakes/fake-compress.ts";
import type { FakeRuntime } from "../fakes/fake-runtime.ts";
import type { SimDirectory } from "./sim-directory.ts";
import { openStore, simFiles } from "./sim-disk.ts";
import { isDeath, Mortal, MortalClock } from "./sim-mortal.ts";
import { LOG_CONFIG, type SimLogs } from "./sim-logs.ts";
import type { SimMounts } from "./sim-mounts.ts";
import { overheard, simNetwork, type Knock } from "./sim-network.ts";
import { NODE_CPUS } from "./sim-room.ts";
import { PIDS_THRESHOLD } from "./sim-pressure.ts";
import type { SimLine } from "./sim-pulls.ts";
import type { SimSetup } from "./sim-specs.ts";
import { NODE, sha256 } from "./sim-manifest.ts";
import type { VolumePlace } from "./sim-volumes.ts";
import type { PodFailure } from "../../src/api/v1/pod-status.ts";

export interface SimAgentOptions {
  readonly clock: Clock;
  readonly bootedAt: Monotonic;
  readonly bootId: string;
  readonly runtime: FakeRuntime;
  readonly broker: FakeBroker;
  readonly setup: Pick<SimSetup, "protocolVersion" | "specs" | "claimDisk" | "mqtt" | "logs">;
  readonly random: Random;
  readonly root: string;
  readonly manifests: SimDirectory;
  readonly mounts: SimMounts;
  readonly readings: Edges["readings"];
  /** To the registry; absent = a good one. */
  readonly line?: SimLine;
  readonly logFiles: SimLogs | undefined;
  /** Root keys on its disk. */
  readonly rootKeys: Edges["rootKeys"];
  readonly clockSynchronised: () => boolean;
  /** Of the disk of images. */
  readonly diskSpace: Edges["diskSpace"];
  readonly isWell: (container: FakeContainer) => boolean;
  readonly onKnock: (knock: Knock) => void;
  /** A pod has failed as a whole, which is written down now. */
  readonly onFailure: (uid: string, failure: PodFailure) => void;
  /** That a pod has failed is about to be forgotten. */
  readonly onForget: (uid: string, agent: SimAgent) => void;
  readonly onLine: (line: string) => void;
  /** Something is about to be written; false = the disk is full. */
  readonly mayWrite: () => boolean;
  /** Something below a volume that the agent fills is different now. */
  readonly onVolume: (volume: VolumePlace) => void;
  readonly accuse: (text: string) => void;
  readonly onBegin: (fresh: readonly Removal[], agent: SimAgent) => void;
  readonly onSettle: (uid: string) => void;
  readonly onAccepted: (generation: number, digest: string) => void;
  /** It ended by itself, or threw where nobody catches. */
  readonly onFall: (why: string) => void;
}

const MACHINE: Edges["machine"] = {
  hostname: NODE,
  machineId: "0123456789abcdef0123456789abcdef",
  systemUuid: "01234567-89ab-cdef-0123-456789abcdef",
  serial: "",
  mac: "02:00:00:00:00:01",
  cpus: NODE_CPUS,
  memoryBytes: 4 * 1024 ** 3,
  hugePages: {},
  storageBytes: 32 * 1024 ** 3,
  hasAppArmor: false,
  kernelVersion: "6.12.0",
  osImage: "Simulated Linux",
  architecture: "arm64",
};

const CGROUPS: Edges["cgroups"]["facts"] = {
  version: 2,
  controllers: ["cpu", "memory", "pids"],
  mountPoint: "/simulated/cgroup",
  hasSwap: false,
};

/** Soon enough that whatever only a refresh tells is told within the time of recovery. */
const REFRESH_MS = 300_000;
const TRANSITION_MS = 60_000;
const DAY_MS = 86_400_000;

export class SimAgent {
  readonly #options: SimAgentOptions;
  readonly #mortal: Mortal;
  readonly #stop = new AbortController();
  readonly #store: Store;
  readonly #agent: Agent;

  /** Throws what keeps a real one from starting. */
  constructor(options: SimAgentOptions) {
    this.#options = options;
    const { runtime, root, random, broker, onLine } = options;
    let store: Store | undefined;
    const link = broker.link();
    const mortal = new Mortal(() => {
      clock.stop();
      link.crash();
      // Not under the feet of a transaction.
      queueMicrotask(() => store?.[Symbol.dispose]());
    });
    const clock = new MortalClock(options.clock, mortal, {
      bootedAt: options.bootedAt,
      onThrow: (error) => this.fall(error),
    });
    this.#mortal = mortal;
    const files = simFiles({ ...options, mortal });
    try {
      store = openStore({
        ...options,
        mortal,
        files,
        onBegin: (fresh) => options.onBegin(fresh, this),
        onForget: (uid) => options.onForget(uid, this),
      });
      this.#store = store;
      const edges: Edges = {
        clock,
        random,
        log: createLogger({ clock, level: "debug", write: onLine }),
        meter: new Meter(),
        files,
        mounts: options.mounts.edge(mortal, options.mayWrite),
        runHelper: () => Promise.reject(new Error("no file system of the simulation hangs")),
        pulls: options.line?.edge ?? NO_PULL_EDGE,
        runProgram: () => Promise.reject(new Error("no registry needs a program here")),
        cgroups: { facts: CGROUPS, write: () => [], oomKills: () => undefined },
        readings: options.readings,
        counters: new FakeUsage(),
        logind: new FakeLogind(),
        cri: overheard(mortal.cri(options.line?.over(runtime) ?? runtime), options.onKnock),
        runtimeEvents: () => mortal.events(runtime.events),
        bringPauseImage: () => Promise.resolve(),
        archives: noArchives(),
        probes: simNetwork({ ...options, specs: options.setup.specs, mortal }),
        download: () => Promise.reject(new Error("no manifests come from a URL here")),
        mqtt: mortal.mqtt(link),
        store,
        machine: MACHINE,
        board: () => ({ storage: [] }),
        bootId: options.bootId,
        diskSpace: options.diskSpace,
        addresses: () => [{ interface: "eth0", family: 4, address: "192.0.2.1" }],
        clockSynchronised: options.clockSynchronised,
        clockFloor: new ClockFloor(0),
        verifySignature: verifyEd25519,
        rootKeys: options.rootKeys,
        kernelLog: { read: () => [], [Symbol.dispose]: () => undefined },
        trimMemory: () => undefined,
        compressFile: fakeCompress(files),
        sha256,
      };
      const config = configOf(root, options.setup);
      this.#agent = new Agent({ edges, config, version: "1.0.0", nodeName: NODE, conditions: [] });
    } catch (error) {
      mortal.die();
      throw error;
    }
    this.#agent.run(this.#stop.signal).then(
      () => {
        if (!this.#stop.signal.aborted) this.fall("its loops ended");
        this.kill();
      },
      (error: unknown) => this.fall(error),
    );
  }

  get alive(): boolean {
    return this.#mortal.alive;
  }

  /** Dying, or told to end: a new process may take its place. */
  get isDoomed(): boolean {
    return this.#stop.signal.aborted || this.#mortal.isDoomed;
  }

  get store(): Store {
    return this.#store;
  }

  get facts(): Agent["facts"] {
    return this.#agent.facts;
  }

  /** What it shows, without the pods that are not admitted and have no life yet. */
  shown(): ReturnType<Agent["facts"]["pods"]> {
    const refused = new Set(this.desired.notAdmitted.map(({ desired }) => desired.uid));
    // Asked for at every moment of a history, in nearly all of which nothing is refused.
    if (refused.size === 0) return this.facts.pods();
    for (const { desired } of this.pods()) refused.delete(desired.uid);
    return this.facts.pods().filter(({ pod }) => !refused.has(pod.metadata.uid));
  }

  /** What it has taken in of its sources' words so far, merged. */
  get desired(): DesiredState {
    return this.#agent.desired;
  }

  /** Images of all pods that have a worker, are desired, or would be, also as updates that wait while older revisions run. */
  imagesWanted(): ReadonlySet<string> {
    const { pods, notAdmitted } = this.desired;
    const all = [...this.pods(), ...notAdmitted].map(({ desired }) => desired);
    const specs = [...pods, ...all].map(({ pod }) => pod.spec);
    const images = specs.flatMap((spec) => allContainers(spec).map(({ image }) => image));
    const updates = this.documentText().matchAll(/"image":"([^"]*)"/g);
    return new Set([...images, ...[...updates].flatMap(([, image]) => image ?? [])]);
  }

  /** The accepted document; "" = there is none. */
  documentText(): string {
    const payload = this.#store.documents.get("mqtt:node")?.payload ?? "";
    return typeof payload === "string" ? payload : new TextDecoder().decode(payload);
  }

  /** Everything that has a worker. */
  pods(): NodeTruth["pods"] {
    return this.#agent.facts.reportedPods();
  }

  isBeingRemoved(uid: string): boolean {
    return this.#store.removals.all().some((removal) => removal.uid === uid);
  }

  failureOf(uid: string): PodFailure | undefined {
    return this.#store.failures.get(uid);
  }

  /** SIGTERM. */
  stop(): void {
    if (this.alive) this.#stop.abort();
  }

  kill(acts = 0): void {
    this.#mortal.doom(acts);
  }

  /** Of a dead one: whoever still listens to a signal would keep it in memory for ever. */
  release(): void {
    if (!this.alive) this.#stop.abort();
  }

  /** An error that nobody catches: a real process ends with it. */
  fall(error: unknown): void {
    if (!this.alive || isDeath(error)) return;
    this.#options.onFall(typeof error === "string" ? error : messageOf(error));
    this.kill();
  }
}

function configOf(
  root: string,
  {
    protocolVersion,
    claimDisk,
    mqtt,
    logs,
  }: Pick<SimSetup, "protocolVersion" | "claimDisk" | "mqtt" | "logs">,
): AgentConfig {
  return {
    ...CONFIG_DEFAULTS,
    staticPodPath: join(root, "manifests"),
    stateDir: join(root, "state"),
    podLogsDir: join(root, "logs"),
    resolvConf: join(root, "resolv.conf"),
    imageServiceEndpoint: CONFIG_DEFAULTS.containerRuntimeEndpoint,
    nodeLabels: {},
    claimRoot: join(root, "claims"),
    claimRootMustBeMount: claimDisk,
    cgroupDriver: "cgroupfs",
    nodeStatusReportFrequencyMs: REFRESH_MS,
    evictionHard: { ...CONFIG_DEFAULTS.evictionHard, "pid.available": PIDS_THRESHOLD },
    evictionPressureTransitionPeriod: TRANSITION_MS,
    // Where the runtime writes no logs, none must be looked for.
    ...(logs ? LOG_CONFIG : { containerLogMonitorInterval: DAY_MS }),
    ...(protocolVersion === undefined
      ? {}
      : { mqtt: { ...MQTT_DEFAULTS, url: "mqtt://broker", protocolVersion, ...mqtt } }),
  };
}
