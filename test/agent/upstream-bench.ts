// The whole agent on virtual time with nothing but a broker and a runtime that always obey: for what it says upstream.

import { FakeLogind } from "../fakes/fake-logind.ts";
import { FakeUsage } from "../fakes/fake-usage.ts";
import { noArchives } from "../fakes/fake-image-store.ts";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { addonPath } from "#sqlite-addon";
import { Agent } from "../../src/agent/agent.ts";
import { NO_PULL_EDGE } from "../fakes/fake-pull-edge.ts";
import type { Edges } from "../../src/edges.ts";
import type { AgentConfig, MqttConfig } from "../../src/config/config.ts";
import { CONFIG_DEFAULTS, METERED_DEFAULTS, MQTT_DEFAULTS } from "../fakes/config-defaults.ts";
import type { Files } from "../../src/host/files.ts";
import { realFiles } from "../../src/host/real-files.ts";
import { createLogger } from "../../src/lib/logger.ts";
import type { MqttLink } from "../../src/mqtt/mqtt-link.ts";
import { Store } from "../../src/store/store.ts";
import type { ReportedState } from "../../src/protocol/reported-state.ts";
import { VirtualClock } from "../fakes/fake-clock.ts";
import { FakeLogs } from "../fakes/fake-logs.ts";
import { FakeBroker } from "../fakes/fake-mqtt-broker.ts";
import { FakeProbeEdge } from "../fakes/fake-probe-edge.ts";
import { FakeRuntime, type FakeRuntimeOptions } from "../fakes/fake-runtime.ts";
import { FakeReadings } from "../fakes/fake-readings.ts";
import { fakeCompress } from "../fakes/fake-compress.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { IMAGE } from "./pod-world.ts";
import { sha256 } from "./sim-manifest.ts";
import { totalChanges } from "../fakes/in-the-store.ts";
import { Mortal } from "./sim-mortal.ts";
import { SimMounts } from "./sim-mounts.ts";
import { ClockFloor } from "../../src/lib/clock.ts";

export interface BenchOptions {
  readonly clock?: VirtualClock;
  readonly broker?: FakeBroker;
  /** Stands between the agent and the broker. */
  readonly wrap?: (link: MqttLink) => MqttLink;
  readonly mqtt?: Partial<MqttConfig>;
  readonly profile?: "normal" | "metered";
  readonly latencyMs?: FakeRuntimeOptions["latencyMs"];
  readonly edges?: Partial<Edges>;
  readonly config?: Partial<AgentConfig>;
}

const NODE = "pi-1";

export class UpstreamBench implements Disposable {
  readonly clock: VirtualClock;
  readonly broker: FakeBroker;
  readonly root = mkdtempSync("/tmp/agent-upstream-");
  readonly lines: string[] = [];
  /** What the agent has changed on its disk, its database aside: `writeAtomic <path>`, … */
  readonly changes: string[] = [];
  readonly runtime: FakeRuntime;
  /** Of its containers, as the runtime holds them open. */
  readonly logs = new FakeLogs();
  readonly probes: FakeProbeEdge;
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly mqtt: MqttConfig;
  readonly #options: BenchOptions;
  readonly #store: Store;
  readonly #stop = new AbortController();
  readonly #agent: Agent;
  #running: Promise<void> | undefined;

  constructor(options: BenchOptions = {}) {
    this.#options = options;
    this.clock = options.clock ?? new VirtualClock();
    this.broker = options.broker ?? new FakeBroker(this.clock);
    const { clock, root } = this;
    const { latencyMs = {} } = options;
    this.runtime = new FakeRuntime({
      clock,
      images: [IMAGE],
      latencyMs,
      reopenLog: (id) => this.logs.reopen(id),
      onEvent: ({ type, id }) => {
        if (type === "Started") this.#openLog(id);
      },
    });
    this.probes = new FakeProbeEdge(clock);
    mkdirSync(join(root, "manifests"));
    writeFileSync(join(root, "resolv.conf"), "nameserver 192.0.2.53\n");
    const files = stillFiles(this.changes);
    this.#store = Store.open({
      stateDir: join(root, "state"),
      files,
      random: new Mulberry32(7),
      nativeBinding: addonPath,
    });
    this.edges = { ...this.#edges(files), ...options.edges };
    this.mqtt = this.#mqtt();
    this.config = { ...this.#config(), mqtt: this.mqtt };
    this.#agent = new Agent({
      edges: this.edges,
      config: this.config,
      version: "1.0.0",
      nodeName: NODE,
      conditions: [],
    });
  }

  get facts(): Agent["facts"] {
    return this.#agent.facts;
  }

  /** Rows that the agent has changed in its database since its start. */
  get rowsChanged(): number {
    return totalChanges(this.#store.database);
  }

  start(): void {
    this.#running = this.#agent.run(this.#stop.signal);
  }

  /** A clean stop. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.clock.advance(5_000);
    await this.#running;
  }

  /** What the broker keeps of the report. */
  report(): ReportedState | undefined {
    const text = this.broker.retained(`agent/v1/node/${NODE}/reported`);
    return text === undefined ? undefined : (JSON.parse(text) as ReportedState);
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
    this.logs[Symbol.dispose]();
    this.#store[Symbol.dispose]();
    rmSync(this.root, { recursive: true, force: true });
  }

  #openLog(id: string): void {
    const container = this.runtime.containers.get(id);
    const sandbox = this.runtime.sandboxes.get(container?.sandboxId ?? "");
    if (container === undefined || sandbox === undefined) return;
    this.logs.open(id, join(sandbox.config.logDirectory, container.config.logPath));
  }

  #edges(files: Files): Edges {
    const { clock, broker, runtime, lines } = this;
    const link = broker.link();
    return {
      clock,
      random: new Mulberry32(11),
      log: createLogger({ clock, level: "info", write: (line) => void lines.push(line) }),
      files,
      mounts: new SimMounts().edge(new Mortal(() => undefined), () => true),
      runHelper: () => Promise.reject(new Error("no file system hangs here")),
      pulls: NO_PULL_EDGE,
      runProgram: () => Promise.reject(new Error("no registry needs a program here")),
      cgroups: {
        facts: { version: 2, controllers: ["cpu"], mountPoint: "/simulated", hasSwap: false },
        write: () => [],
        oomKills: () => undefined,
      },
      readings: new FakeReadings(),
      counters: new FakeUsage(),
      logind: new FakeLogind(),
      cri: runtime,
      runtimeEvents: () => runtime.events,
      bringPauseImage: () => Promise.resolve(),
      archives: noArchives(),
      probes: this.probes,
      download: () => Promise.reject(new Error("no manifests come from a URL here")),
      mqtt: this.#options.wrap?.(link) ?? link,
      store: this.#store,
      machine: {
        hostname: NODE,
        machineId: "0123456789abcdef0123456789abcdef",
        systemUuid: "01234567-89ab-cdef-0123-456789abcdef",
        serial: "10000000abcdef01",
        mac: "02:00:00:00:00:01",
        cpus: 4,
        memoryBytes: 4 * 1024 ** 3,
        hugePages: {},
        storageBytes: 32 * 1024 ** 3,
        hasAppArmor: false,
        kernelVersion: "6.12.0",
        osImage: "Simulated Linux",
        architecture: "arm64",
      },
      board: () => ({ storage: [] }),
      bootId: "00000000-0000-4000-8000-000000000001",
      diskSpace: () => ({ capacityBytes: 32 * 1024 ** 3, availableBytes: 16 * 1024 ** 3 }),
      addresses: () => [{ interface: "eth0", family: 4, address: "192.0.2.1" }],
      clockSynchronised: () => true,
      clockFloor: new ClockFloor(0),
      verifySignature: () => false,
      rootKeys: () => ({ keys: [], problems: [] }),
      kernelLog: { read: () => [], [Symbol.dispose]: () => undefined },
      trimMemory: () => undefined,
      compressFile: fakeCompress(files),
      sha256,
    };
  }

  #config(): AgentConfig {
    const { root } = this;
    const isMetered = this.#options.profile === "metered";
    const { nodeStatusReportFrequencyMs } = METERED_DEFAULTS;
    return {
      ...CONFIG_DEFAULTS,
      staticPodPath: join(root, "manifests"),
      stateDir: join(root, "state"),
      podLogsDir: join(root, "logs"),
      resolvConf: join(root, "resolv.conf"),
      imageServiceEndpoint: CONFIG_DEFAULTS.containerRuntimeEndpoint,
      nodeLabels: {},
      claimRoot: join(root, "claims"),
      cgroupDriver: "cgroupfs",
      ...(isMetered ? { nodeStatusReportFrequencyMs } : {}),
      ...this.#options.config,
    };
  }

  #mqtt(): MqttConfig {
    const { profile = "normal", mqtt } = this.#options;
    const { podStatus, keepAliveSeconds } = METERED_DEFAULTS;
    const saving = profile === "metered" ? { podStatus, keepAliveSeconds } : {};
    return { ...MQTT_DEFAULTS, ...saving, profile, url: "mqtt://broker", ...mqtt };
  }
}

/** The real ones, below the bench's own directory, with a list of changes; no hints come of what changes. */
function stillFiles(changes: string[]): Files {
  const real = realFiles();
  const note = (change: string, path: string): void => void changes.push(`${change} ${path}`);
  return {
    ...real,
    writeAtomic: (path, data, mode) => {
      note("writeAtomic", path);
      real.writeAtomic(path, data, mode);
    },
    writeLazily: (path, data, mode) => {
      note("writeLazily", path);
      real.writeLazily(path, data, mode);
    },
    rename: (from, to) => {
      note("rename", from);
      real.rename(from, to);
    },
    remove: (path) => {
      note("remove", path);
      real.remove(path);
    },
    removeTree: (path) => {
      note("removeTree", path);
      real.removeTree(path);
    },
    createFile: (path, mode) => {
      note("createFile", path);
      real.createFile(path, mode);
    },
    createDirectory: (path, mode) => {
      note("createDirectory", path);
      real.createDirectory(path, mode);
    },
    makeDirectory: (path, mode) => {
      note("makeDirectory", path);
      real.makeDirectory(path, mode);
    },
    makeLink: (path, target) => {
      note("makeLink", path);
      real.makeLink(path, target);
    },
    watch: () => ({ poll: () => undefined, [Symbol.dispose]: () => undefined }),
  };
}

export function aPodNamed(name: string, spec: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      containers: [{ name: "main", image: IMAGE, resources: { requests: { cpu: "10m" } } }],
      ...spec,
    },
  };
}

export function aDocument(generation: number, more: object = {}): object {
  return {
    apiVersion: "agent/v1",
    kind: "DesiredState",
    target: { node: NODE },
    generation,
    ...more,
  };
}
