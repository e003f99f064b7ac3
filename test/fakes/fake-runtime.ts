// A container runtime in memory, with containerd's manners: reserved names, NotFound, who may be
// removed, a status that lags behind the event. It speaks CriClient directly, without gRPC.

import { create } from "@bufbuild/protobuf";
import { deadline, type Clock } from "../../src/lib/clock.ts";
import {
  RUN_SANDBOX_MS,
  VERSION_MS,
  within,
  withinMore,
  type AttachRequestInit,
  type ContainerFilterInit,
  type ContainerStatsFilterInit,
  type CreateContainerArgs,
  type CriClient,
  type ExecRequestInit,
  type ImageSpecInit,
  type PodSandboxFilterInit,
  type PodSandboxStatsFilterInit,
  type PullImageArgs,
  type RunPodSandboxArgs,
  type UpdateContainerResourcesArgs,
  type VerboseOptions,
} from "../../src/cri/cri-client.ts";
import { CriError } from "../../src/cri/cri-error.ts";
import type { CallOptions } from "../../src/cri/grpc-connection.ts";
import {
  CgroupDriver,
  ContainerEventResponseSchema,
  ContainerEventType,
  ContainerFilterSchema,
  ContainerState,
  ContainerStatsFilterSchema,
  ContainerStatsSchema,
  ContainerStatusResponseSchema,
  ExecSyncResponseSchema,
  ImageFsInfoResponseSchema,
  ImageSchema,
  PodSandboxFilterSchema,
  PodSandboxStatsFilterSchema,
  PodSandboxStatsSchema,
  PodSandboxStatusResponseSchema,
  RuntimeConfigResponseSchema,
  StatusResponseSchema,
  VersionResponseSchema,
  type Container,
  type ContainerEventResponse,
  type ContainerStats,
  type ContainerStatusResponse,
  type ExecSyncResponse,
  type Image,
  type ImageFsInfoResponse,
  type MetricDescriptor,
  type PodSandbox,
  type PodSandboxMetrics,
  type PodSandboxStats,
  type PodSandboxStatusResponse,
  type RuntimeConfigResponse,
  type StatusResponse,
  type VersionResponse,
} from "../../src/cri/gen/runtime/v1/api_pb.ts";
import type {
  RuntimeEvent,
  TaskEvent,
  TaskEventType,
} from "../../src/containerd/runtime-events.ts";
import { FakeEvents } from "./fake-cri-events.ts";
import { Faults, type CallName, type Fault } from "./fake-cri-faults.ts";
import {
  containerConfigOf,
  containerName,
  hasLabels,
  listedContainer,
  listedSandbox,
  matchesContainer,
  matchesSandbox,
  notFound,
  refused,
  sandboxConfigOf,
  sandboxName,
  statusOfContainer,
  statusOfSandbox,
  usesHostNetwork,
  type FakeContainer,
  type FakeImage,
  type FakeSandbox,
  type Program,
} from "./fake-cri-world.ts";
import { GrpcCode } from "../../src/lib/grpc-code.ts";
import { normalizedImageName } from "../../src/containerd/containerd.ts";

export interface RecordedCall {
  readonly call: CallName;
  readonly args: readonly unknown[];
  /** Clock.monotonic() at which it began. */
  readonly at: number;
}

/** Whether a process ended by itself (or by the test's hand), or because a call ended it. */
export type ExitCause = "self" | "call";

export interface FakeRuntimeOptions {
  readonly clock: Clock;
  /** References that are on the node from the beginning. */
  readonly images?: readonly string[];
  /** References that PullImage can get; default: every one. */
  readonly pullable?: readonly string[];
  /** Bytes of an image; default 1000. */
  readonly sizeOf?: (name: string) => bigint | undefined;
  /** The image of every sandbox; default: there. */
  readonly sandboxImage?: { readonly name: string; readonly present: boolean };
  readonly networkReady?: boolean;
  /** How long a call takes, by name. */
  readonly latencyMs?: Partial<Record<CallName, number>>;
  /** How long CRI still says RUNNING behind an exit's event. */
  readonly statusLagMs?: number;
  /** What runs in a new container. */
  readonly program?: (container: FakeContainer) => Program;
  /** Sees every call as it begins. */
  readonly onCall?: (call: CallName, args: readonly unknown[]) => void;
  /** Sees what happens as it happens, exit codes too, also when the event stream tells nobody. */
  readonly onEvent?: (event: TaskEvent, cause: ExitCause) => void;
  /** Sees that a container ends without having started, of which no event tells. */
  readonly onStartError?: (container: FakeContainer) => void;
  /** How long an event is under way. */
  readonly eventLagMs?: number;
  /** Whether the event of an exit says its code, as containerd's own does and CRI's does not; default true. */
  readonly tellsExits?: boolean;
  /** Whether GetContainerEvents exists. */
  readonly servesContainerEvents?: boolean;
  /** Opens the log file of a running container anew; what it throws is the runtime's error. */
  readonly reopenLog?: (id: string) => void;
  /** Answer of ExecSync. */
  readonly exec?: (
    container: FakeContainer,
    cmd: readonly string[],
  ) => { readonly exitCode: number; readonly stdout?: string; readonly stderr?: string };
}

export interface Abilities {
  readonly runtimeHandlers?: {
    readonly name: string;
    readonly features?: {
      readonly recursiveReadOnlyMounts: boolean;
      readonly userNamespaces: boolean;
    };
  }[];
  readonly features?: { readonly supplementalGroupsPolicy: boolean };
  /** Of containerd's own configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
}

const PAUSE = "registry.k8s.io/pause:3.6";
const EVENT_TYPES: Readonly<Partial<Record<TaskEventType, ContainerEventType>>> = {
  Created: ContainerEventType.CONTAINER_CREATED_EVENT,
  Started: ContainerEventType.CONTAINER_STARTED_EVENT,
  Exited: ContainerEventType.CONTAINER_STOPPED_EVENT,
  Deleted: ContainerEventType.CONTAINER_DELETED_EVENT,
};

interface ContainerUse {
  readonly memoryBytes: number;
  readonly layerBytes: number;
}

export class FakeRuntime implements CriClient {
  /** What a container uses, as its statistics show it. */
  usage: (container: FakeContainer) => ContainerUse = () => {
    return { memoryBytes: 1_000_000, layerBytes: 0 };
  };
  readonly calls: RecordedCall[] = [];
  readonly faults = new Faults();
  readonly events: FakeEvents;
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly containers = new Map<string, FakeContainer>();
  readonly images = new Map<string, FakeImage>();
  networkReady: boolean;
  /** What Status tells of handlers and features, and the rest of its configuration. */
  abilities: Abilities = {};
  podCIDR = "";
  readonly sandboxImage: string;
  readonly #options: FakeRuntimeOptions;
  readonly #clock: Clock;
  #up = true;
  #next = 1;
  /** Calls that began before the daemon went do nothing any more. */
  #epoch = 0;
  /** What ends each call under way when the daemon goes. A race against one lasting promise would keep every call for ever. */
  readonly #givesUp = new Set<(error: CriError) => void>();
  /** Names that calls under way hold: containerd reserves before it works. */
  readonly #underWay = new Set<string>();
  /** Dead, but not yet said so by the status. */
  readonly #dying = new Set<string>();

  constructor(options: FakeRuntimeOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.networkReady = options.networkReady ?? true;
    this.sandboxImage = options.sandboxImage?.name ?? PAUSE;
    this.events = new FakeEvents(() => this.#mustBeUp("Subscribe"));
    for (const name of options.images ?? []) this.addImage(name);
    if (options.sandboxImage?.present !== false) this.addImage(this.sandboxImage);
  }

  // What a test does to the world.

  addImage(
    name: string,
    more: { readonly uid?: bigint; readonly username?: string; readonly size?: bigint } = {},
  ): void {
    const id = `sha256:${new Bun.CryptoHasher("sha256").update(name).digest("hex")}`;
    const { uid, username = "", size = this.#options.sizeOf?.(name) ?? 1000n } = more;
    this.images.set(name, { id, name, size, uid, username });
  }

  /** What is reserved and nothing has been made of: by calls under way, or by one that was given up and keeps it. */
  get heldNames(): ReadonlySet<string> {
    return this.#underWay;
  }

  /** Bytes of all images. */
  get imageBytes(): bigint {
    return [...this.images.values()].reduce((sum, { size }) => sum + size, 0n);
  }

  /** The container's process ends. */
  exit(id: string, exitCode: number, cause: { readonly oom?: boolean } = {}): void {
    this.#exit(id, exitCode, { ...cause, by: "self" });
  }

  #exit(
    id: string,
    exitCode: number,
    cause: { readonly oom?: boolean; readonly by: ExitCause },
  ): void {
    const container = this.containers.get(id);
    if (container?.state !== ContainerState.CONTAINER_RUNNING || this.#dying.has(id)) return;
    if (cause.oom === true) this.#emit({ type: "OOM", id });
    this.#dying.add(id);
    const exit = { code: exitCode, at: this.#clock.now() };
    this.#emit({ type: "Exited", id, exit }, cause.by);
    this.#emit({ type: "Deleted", id });
    const reason = cause.oom === true ? "OOMKilled" : exitCode === 0 ? "Completed" : "Error";
    const finishedAt = this.#now();
    const settle = (): void => {
      this.#dying.delete(id);
      if (container.state !== ContainerState.CONTAINER_RUNNING) return;
      Object.assign(container, { exitCode, reason, finishedAt });
      container.state = ContainerState.CONTAINER_EXITED;
    };
    const lag = this.#options.statusLagMs ?? 0;
    if (lag === 0) settle();
    else this.#clock.after(lag, settle);
  }

  /** The sandbox's own process dies (its containers do not). */
  killSandbox(id: string): void {
    const sandbox = this.sandboxes.get(id);
    if (sandbox?.ready !== true) return;
    sandbox.ready = false;
    this.#emit({ type: "Exited", id });
    this.#emit({ type: "Deleted", id });
  }

  /** The runtime lost the container's shim: it cannot say whether the process lives. */
  lose(id: string): void {
    const container = this.containers.get(id);
    if (container?.state !== ContainerState.CONTAINER_RUNNING || this.#dying.has(id)) return;
    container.state = ContainerState.CONTAINER_UNKNOWN;
  }

  /** The daemon goes away; containers run on. Calls fail until `start`, those under way at once. */
  stop(): void {
    this.#up = false;
    this.#dropCalls();
    this.events.end(this.#unavailable("Subscribe"));
  }

  start(): void {
    this.#up = true;
  }

  /** The machine restarts: nothing runs any more, nobody was told. */
  reboot(): void {
    this.#dropCalls();
    this.events.end(this.#unavailable("Subscribe"));
    for (const sandbox of this.sandboxes.values()) sandbox.ready = false;
    this.#dying.clear();
    for (const container of this.containers.values())
      if (container.state === ContainerState.CONTAINER_RUNNING) {
        Object.assign(container, { exitCode: 255, reason: "Unknown", finishedAt: this.#now() });
        container.state = ContainerState.CONTAINER_EXITED;
      }
  }

  /** Names of the calls so far, for order assertions. */
  callNames(): readonly CallName[] {
    return this.calls.map(({ call }) => call);
  }

  /** Whether its process lives: the status may say RUNNING a little longer. */
  isAlive(id: string): boolean {
    const state = this.containers.get(id)?.state;
    return state === ContainerState.CONTAINER_RUNNING && !this.#dying.has(id);
  }

  running(): readonly FakeContainer[] {
    return [...this.containers.values()].filter(
      ({ state }) => state === ContainerState.CONTAINER_RUNNING,
    );
  }

  // CriClient: the runtime.

  version(options?: CallOptions): Promise<VersionResponse> {
    const limits = within(options, VERSION_MS);
    return this.#call({ call: "version", args: [], limits }, () =>
      create(VersionResponseSchema, {
        version: "0.1.0",
        runtimeName: "containerd",
        runtimeVersion: "1.6.20",
        runtimeApiVersion: "v1",
      }),
    );
  }

  status(options?: VerboseOptions): Promise<StatusResponse> {
    return this.#call({ call: "status", args: [], limits: within(options) }, () => {
      const { config: more, ...abilities } = this.abilities;
      const config = { sandboxImage: this.sandboxImage, ...more };
      return create(StatusResponseSchema, {
        ...abilities,
        status: {
          conditions: [
            { type: "RuntimeReady", status: true },
            {
              type: "NetworkReady",
              status: this.networkReady,
              reason: this.networkReady ? "" : "NetworkPluginNotReady",
              message: this.networkReady ? "" : "cni plugin not initialized",
            },
          ],
        },
        info: options?.verbose === true ? { config: JSON.stringify(config) } : {},
      });
    });
  }

  updateRuntimeConfig(podCIDR: string, options?: CallOptions): Promise<void> {
    const request = {
      call: "updateRuntimeConfig",
      args: [podCIDR],
      limits: within(options),
    } as const;
    return this.#call(request, () => {
      this.podCIDR = podCIDR;
    });
  }

  runtimeConfig(options?: CallOptions): Promise<RuntimeConfigResponse> {
    return this.#call({ call: "runtimeConfig", args: [], limits: within(options) }, () =>
      create(RuntimeConfigResponseSchema, { linux: { cgroupDriver: CgroupDriver.CGROUPFS } }),
    );
  }

  runPodSandbox(args: RunPodSandboxArgs, options?: CallOptions): Promise<string> {
    const call = "runPodSandbox";
    const config = sandboxConfigOf(args.config);
    const reserve = (): string => this.#reserveSandbox(config);
    const limits = within(options, RUN_SANDBOX_MS);
    return this.#call({ call, args: [args], limits, reserve }, () => {
      const reserved = sandboxName(config);
      const hostNetwork = usesHostNetwork(config);
      if (!this.images.has(this.sandboxImage))
        throw refused("RunPodSandbox", `failed to get sandbox image "${this.sandboxImage}"`);
      if (hostNetwork && config.hostname !== "")
        throw refused("RunPodSandbox", "unable to set hostname without a private UTS namespace");
      if (!hostNetwork && !this.networkReady)
        throw refused("RunPodSandbox", "failed to setup network: cni plugin not initialized");
      const n = this.#next++;
      const id = `sandbox${n}`;
      const ip = hostNetwork ? "" : `10.88.${n >> 8}.${n & 255}`;
      const runtimeHandler = args.runtimeHandler ?? "";
      const createdAt = this.#now();
      this.sandboxes.set(id, { id, reserved, config, runtimeHandler, createdAt, ip, ready: true });
      this.#emit({ type: "Created", id });
      this.#emit({ type: "Started", id });
      return id;
    });
  }

  stopPodSandbox(id: string, options?: CallOptions): Promise<void> {
    return this.#call({ call: "stopPodSandbox", args: [id], limits: within(options) }, async () => {
      const sandbox = this.sandboxes.get(id);
      if (sandbox === undefined) return;
      if (!usesHostNetwork(sandbox.config) && !this.networkReady)
        throw refused("StopPodSandbox", "failed to destroy network: cni plugin not initialized");
      for (const container of this.#containersOf(id)) this.#end(container);
      const lag = this.#options.statusLagMs ?? 0;
      if (lag > 0 && this.#containersOf(id).some((one) => this.#dying.has(one.id)))
        await this.#clock.sleep(lag);
      this.killSandbox(id);
    });
  }

  removePodSandbox(id: string, options?: CallOptions): Promise<void> {
    return this.#call({ call: "removePodSandbox", args: [id], limits: within(options) }, () => {
      if (this.sandboxes.get(id) === undefined) return;
      for (const container of this.#containersOf(id)) {
        this.#end(container);
        this.containers.delete(container.id);
      }
      this.killSandbox(id);
      this.sandboxes.delete(id);
    });
  }

  podSandboxStatus(id: string, options?: VerboseOptions): Promise<PodSandboxStatusResponse> {
    return this.#call({ call: "podSandboxStatus", args: [id], limits: within(options) }, () => {
      const sandbox = this.#sandbox("PodSandboxStatus", id);
      return create(PodSandboxStatusResponseSchema, { status: statusOfSandbox(sandbox) });
    });
  }

  listPodSandbox(
    filter: PodSandboxFilterInit = {},
    options?: CallOptions,
  ): Promise<readonly PodSandbox[]> {
    return this.#call({ call: "listPodSandbox", args: [filter], limits: within(options) }, () => {
      const wanted = create(PodSandboxFilterSchema, filter);
      const all = [...this.sandboxes.values()];
      return all.filter((sandbox) => matchesSandbox(wanted, sandbox)).map(listedSandbox);
    });
  }

  updatePodSandboxResources(id: string, args: unknown, options?: CallOptions): Promise<void> {
    const request = {
      call: "updatePodSandboxResources",
      args: [id, args],
      limits: within(options),
    } as const;
    return this.#call(request, () => {
      this.#sandbox("UpdatePodSandboxResources", id);
    });
  }

  createContainer(args: CreateContainerArgs, options?: CallOptions): Promise<string> {
    const call = "CreateContainer";
    const { sandboxId } = args;
    const config = containerConfigOf(args.config);
    const reserve = (): string => this.#reserveContainer(config, this.#sandbox(call, sandboxId));
    const limits = within(options);
    return this.#call({ call: "createContainer", args: [args], limits, reserve }, () => {
      const sandbox = this.#sandbox(call, sandboxId);
      if (!sandbox.ready) throw notFound(call, `task ${sandboxId}`);
      const reserved = containerName(config, sandbox.config);
      const image = this.#image(config.image?.image ?? "");
      if (image === undefined) throw notFound(call, `image "${config.image?.image}"`);
      const container: FakeContainer = {
        id: `container${this.#next++}`,
        sandboxId,
        reserved,
        config,
        imageId: image.id,
        createdAt: this.#now(),
        program: {},
        state: ContainerState.CONTAINER_CREATED,
        startedAt: 0n,
        finishedAt: 0n,
        exitCode: 0,
        reason: "",
        message: "",
      };
      container.program = this.#options.program?.(container) ?? {};
      this.containers.set(container.id, container);
      return container.id;
    });
  }

  startContainer(id: string, options?: CallOptions): Promise<void> {
    return this.#call({ call: "startContainer", args: [id], limits: within(options) }, () => {
      const container = this.#container("StartContainer", id);
      const { program, state, sandboxId } = container;
      if (state !== ContainerState.CONTAINER_CREATED)
        throw refused("StartContainer", `container is in state ${state}`);
      const startError = this.#sandbox("StartContainer", sandboxId).ready
        ? program.startError
        : `sandbox container "${sandboxId}" is not running`;
      if (startError === undefined) container.startedAt = this.#now();
      else {
        Object.assign(container, { exitCode: 128, reason: "StartError", finishedAt: this.#now() });
        container.message = startError;
        container.state = ContainerState.CONTAINER_EXITED;
        this.#options.onStartError?.(container);
        throw refused("StartContainer", startError);
      }
      container.state = ContainerState.CONTAINER_RUNNING;
      this.#emit({ type: "Created", id });
      this.#emit({ type: "Started", id });
      if (program.exitsAfterMs !== undefined)
        this.#clock.after(program.exitsAfterMs, () => this.exit(id, program.exitCode ?? 0));
    });
  }

  stopContainer(id: string, graceSeconds: number, options?: CallOptions): Promise<void> {
    const limits = withinMore(graceSeconds, options);
    return this.#call({ call: "stopContainer", args: [id, graceSeconds], limits }, async () => {
      const container = this.containers.get(id);
      if (container?.state === ContainerState.CONTAINER_UNKNOWN) this.#end(container);
      if (container?.state !== ContainerState.CONTAINER_RUNNING) return;
      const epoch = this.#epoch;
      const { stopsAfterMs = 0, stopCode = 143 } = container.program;
      const graceMs = graceSeconds * 1000;
      const obeys = graceMs > 0 && stopsAfterMs < graceMs;
      // Whoever is dead already keeps nobody waiting but for the record of it.
      const takes = this.#dying.has(id) ? 0 : obeys ? stopsAfterMs : graceMs;
      if (takes > 0) await this.#clock.sleep(takes);
      // The signal was sent before the daemon went; nobody is left to send the second one.
      if (epoch === this.#epoch || obeys) this.#exit(id, obeys ? stopCode : 137, { by: "call" });
      const lag = this.#options.statusLagMs ?? 0;
      if (lag > 0) await this.#clock.sleep(lag);
    });
  }

  removeContainer(id: string, options?: CallOptions): Promise<void> {
    return this.#call({ call: "removeContainer", args: [id], limits: within(options) }, () => {
      const container = this.containers.get(id);
      if (container !== undefined) this.#end(container);
      this.containers.delete(id);
    });
  }

  listContainers(
    filter: ContainerFilterInit = {},
    options?: CallOptions,
  ): Promise<readonly Container[]> {
    return this.#call({ call: "listContainers", args: [filter], limits: within(options) }, () => {
      const wanted = create(ContainerFilterSchema, filter);
      const all = [...this.containers.values()];
      return all.filter((container) => matchesContainer(wanted, container)).map(listedContainer);
    });
  }

  containerStatus(id: string, options?: VerboseOptions): Promise<ContainerStatusResponse> {
    return this.#call({ call: "containerStatus", args: [id], limits: within(options) }, () => {
      const container = this.#container("ContainerStatus", id);
      const directory = this.sandboxes.get(container.sandboxId)?.config.logDirectory ?? "";
      const status = statusOfContainer(container, directory);
      return create(ContainerStatusResponseSchema, { status });
    });
  }

  updateContainerResources(
    id: string,
    args: UpdateContainerResourcesArgs,
    options?: CallOptions,
  ): Promise<void> {
    const request = {
      call: "updateContainerResources",
      args: [id, args],
      limits: within(options),
    } as const;
    return this.#call(request, () => {
      this.#container("UpdateContainerResources", id);
    });
  }

  reopenContainerLog(id: string, options?: CallOptions): Promise<void> {
    return this.#call({ call: "reopenContainerLog", args: [id], limits: within(options) }, () => {
      if (this.#container("ReopenContainerLog", id).state !== ContainerState.CONTAINER_RUNNING)
        throw refused("ReopenContainerLog", "container is not running");
      this.#options.reopenLog?.(id);
    });
  }

  checkpointContainer(id: string, args: unknown, options?: CallOptions): Promise<void> {
    const request = {
      call: "checkpointContainer",
      args: [id, args],
      limits: within(options),
    } as const;
    return this.#call(request, () => this.#unimplemented("CheckpointContainer"));
  }

  execSync(
    id: string,
    args: { readonly cmd: readonly string[]; readonly timeoutSeconds: number },
    options?: CallOptions,
  ): Promise<ExecSyncResponse> {
    const limits = withinMore(args.timeoutSeconds, options);
    return this.#call({ call: "execSync", args: [id, args], limits }, () => {
      const container = this.#container("ExecSync", id);
      if (container.state !== ContainerState.CONTAINER_RUNNING)
        throw refused("ExecSync", "container is not running");
      const { exitCode, stdout, stderr } = this.#options.exec?.(container, args.cmd) ?? {
        exitCode: 0,
      };
      const bytes = (text = ""): Uint8Array => new TextEncoder().encode(text);
      const output = { stdout: bytes(stdout), stderr: bytes(stderr) };
      return create(ExecSyncResponseSchema, { exitCode, ...output });
    });
  }

  exec(request: ExecRequestInit, options?: CallOptions): Promise<string> {
    return this.#call({ call: "exec", args: [request], limits: within(options) }, () => {
      this.#container("Exec", request.containerId ?? "");
      return "http://127.0.0.1:1/exec/token";
    });
  }

  attach(request: AttachRequestInit, options?: CallOptions): Promise<string> {
    return this.#call({ call: "attach", args: [request], limits: within(options) }, () => {
      this.#container("Attach", request.containerId ?? "");
      return "http://127.0.0.1:1/attach/token";
    });
  }

  portForward(sandboxId: string, ports: readonly number[], options?: CallOptions): Promise<string> {
    const args = [sandboxId, ports];
    return this.#call({ call: "portForward", args, limits: within(options) }, () => {
      this.#sandbox("PortForward", sandboxId);
      return "http://127.0.0.1:1/portforward/token";
    });
  }

  containerStats(id: string, options?: CallOptions): Promise<ContainerStats | undefined> {
    return this.#call({ call: "containerStats", args: [id], limits: within(options) }, () =>
      this.#stats(this.#container("ContainerStats", id)),
    );
  }

  listContainerStats(
    filter: ContainerStatsFilterInit = {},
    options?: CallOptions,
  ): Promise<readonly ContainerStats[]> {
    const request = {
      call: "listContainerStats",
      args: [filter],
      limits: within(options),
    } as const;
    return this.#call(request, () => {
      const { id, podSandboxId, labelSelector } = create(ContainerStatsFilterSchema, filter);
      const wanted = create(ContainerFilterSchema, { id, podSandboxId, labelSelector });
      const running = this.running().filter((container) => matchesContainer(wanted, container));
      return running.map((container) => this.#stats(container));
    });
  }

  podSandboxStats(id: string, options?: CallOptions): Promise<PodSandboxStats | undefined> {
    return this.#call({ call: "podSandboxStats", args: [id], limits: within(options) }, () =>
      this.#sandboxStats(this.#sandbox("PodSandboxStats", id)),
    );
  }

  listPodSandboxStats(
    filter: PodSandboxStatsFilterInit = {},
    options?: CallOptions,
  ): Promise<readonly PodSandboxStats[]> {
    const request = {
      call: "listPodSandboxStats",
      args: [filter],
      limits: within(options),
    } as const;
    return this.#call(request, () => {
      const { id, labelSelector } = create(PodSandboxStatsFilterSchema, filter);
      return [...this.sandboxes.values()]
        .filter((sandbox) => id === "" || sandbox.id === id)
        .filter((sandbox) => hasLabels(sandbox.config.labels, labelSelector))
        .map((sandbox) => this.#sandboxStats(sandbox));
    });
  }

  listMetricDescriptors(options?: CallOptions): Promise<readonly MetricDescriptor[]> {
    return this.#call(
      { call: "listMetricDescriptors", args: [], limits: within(options) },
      () => [],
    );
  }

  listPodSandboxMetrics(options?: CallOptions): Promise<readonly PodSandboxMetrics[]> {
    return this.#call(
      { call: "listPodSandboxMetrics", args: [], limits: within(options) },
      () => [],
    );
  }

  async *getContainerEvents(
    options?: CallOptions,
  ): AsyncGenerator<ContainerEventResponse, void, undefined> {
    this.calls.push({ call: "getContainerEvents", args: [], at: this.#clock.monotonic() });
    this.#mustBeUp("GetContainerEvents");
    if (this.#options.servesContainerEvents !== true) this.#unimplemented("GetContainerEvents");
    const signal = options?.signal ?? new AbortController().signal;
    for await (const event of this.events.subscribe(signal)) {
      const response = this.#eventResponse(event);
      if (response !== undefined) yield response;
    }
    if (signal.aborted)
      throw new CriError({
        call: "GetContainerEvents",
        code: GrpcCode.CANCELED,
        details: "cancelled before the runtime answered",
      });
  }

  // CriClient: images.

  listImages(image?: ImageSpecInit, options?: CallOptions): Promise<readonly Image[]> {
    return this.#call({ call: "listImages", args: [image], limits: within(options) }, () => {
      const only = image === undefined ? undefined : this.#image(image.image ?? "");
      const listed = image === undefined ? [...this.images.values()] : only ? [only] : [];
      return listed.map((found) => this.#shown(found));
    });
  }

  imageStatus(image: ImageSpecInit, options?: CallOptions): Promise<Image | undefined> {
    return this.#call({ call: "imageStatus", args: [image], limits: within(options) }, () => {
      const found = this.#image(image.image ?? "");
      return found === undefined ? undefined : this.#shown(found);
    });
  }

  pullImage(args: PullImageArgs, options?: CallOptions): Promise<string> {
    const limits = { signal: options?.signal, timeoutMs: options?.timeoutMs };
    return this.#call({ call: "pullImage", args: [args], limits }, () => {
      const name = args.image.image ?? "";
      if (this.#options.pullable?.includes(name) === false)
        throw notFound("PullImage", `image "${name}": failed to pull and unpack`);
      this.addImage(name);
      return this.images.get(name)!.id;
    });
  }

  removeImage(image: ImageSpecInit, options?: CallOptions): Promise<void> {
    return this.#call({ call: "removeImage", args: [image], limits: within(options) }, () => {
      const found = this.#image(image.image ?? "");
      if (found !== undefined) this.images.delete(found.name);
    });
  }

  imageFsInfo(options?: CallOptions): Promise<ImageFsInfoResponse> {
    return this.#call({ call: "imageFsInfo", args: [], limits: within(options) }, () => {
      const used = this.imageBytes;
      const filesystem = {
        fsId: { mountpoint: "/var/lib/containerd" },
        usedBytes: { value: used },
      };
      return create(ImageFsInfoResponseSchema, { imageFilesystems: [filesystem] });
    });
  }

  // Inside.

  // The runtime carries a call out even if the caller has given up: only the answer is lost.
  async #call<T>(request: Request, effect: () => T | Promise<T>): Promise<T> {
    const { call, args, limits } = request;
    const name = call[0]!.toUpperCase() + call.slice(1);
    this.calls.push({ call, args, at: this.#clock.monotonic() });
    this.#mustBeUp(name);
    this.#options.onCall?.(call, args);
    const fault = this.faults.take(call, args);
    const givenUp = Promise.withResolvers<never>();
    givenUp.promise.catch(() => undefined);
    const work = this.#work(request, { fault, givenUp: givenUp.promise }, effect);
    try {
      return await this.#limited(name, limits, work);
    } finally {
      givenUp.reject(this.#unavailable(name));
    }
  }

  async #work<T>(
    { call, reserve }: Request,
    { fault, givenUp }: { fault: Fault | undefined; givenUp: Promise<never> },
    effect: () => T | Promise<T>,
  ): Promise<T> {
    const name = call[0]!.toUpperCase() + call.slice(1);
    const epoch = this.#epoch;
    if (fault?.type === "fail" && fault.effect === undefined)
      throw new CriError({ call: name, code: fault.code, details: fault.details });
    const held = reserve?.();
    if (held !== undefined) this.#underWay.add(held);
    let result: T;
    try {
      if (fault?.type === "hang" && fault.effect === undefined) return await givenUp;
      const wait = fault?.type === "delay" ? fault.ms : (this.#options.latencyMs?.[call] ?? 0);
      if (wait > 0) await this.#clock.sleep(wait);
      if (epoch !== this.#epoch) throw this.#unavailable(name);
      const effected = effect();
      result = effected instanceof Promise ? await effected : effected;
    } finally {
      const isKept = fault?.type === "hang" && fault.keepsName === true;
      // After a restart of the daemon the name may be another call's.
      if (held !== undefined && !isKept && epoch === this.#epoch) this.#underWay.delete(held);
    }
    if (fault?.type === "fail")
      throw new CriError({ call: name, code: fault.code, details: fault.details });
    return fault?.type === "hang" ? forever() : result;
  }

  async #limited<T>(call: string, limits: CallOptions, work: Promise<T>): Promise<T> {
    const { signal, timeoutMs } = limits;
    const gone = Promise.withResolvers<never>();
    const timer = timeoutMs === undefined ? undefined : deadline(this.#clock, timeoutMs, signal);
    const joined = timer?.signal ?? signal;
    const abort = (): void =>
      gone.reject(
        signal?.aborted === true
          ? new CriError({
              call,
              code: GrpcCode.CANCELED,
              details: "cancelled before the runtime answered",
            })
          : new CriError({
              call,
              code: GrpcCode.DEADLINE_EXCEEDED,
              details: `no answer within ${(timeoutMs ?? 0) / 1000} s`,
            }),
      );
    if (joined?.aborted === true) abort();
    joined?.addEventListener("abort", abort, { once: true });
    this.#givesUp.add(gone.reject);
    try {
      return await Promise.race([gone.promise, work]);
    } finally {
      this.#givesUp.delete(gone.reject);
      joined?.removeEventListener("abort", abort);
      timer?.[Symbol.dispose]();
    }
  }

  #reserveSandbox(config: ReturnType<typeof sandboxConfigOf>): string {
    const name = sandboxName(config);
    const holder = [...this.sandboxes.values()].find((other) => other.reserved === name);
    return this.#reserve("RunPodSandbox", { kind: "sandbox", name, holder });
  }

  #reserveContainer(config: ReturnType<typeof containerConfigOf>, sandbox: FakeSandbox): string {
    const name = containerName(config, sandbox.config);
    const holder = [...this.containers.values()].find((other) => other.reserved === name);
    return this.#reserve("CreateContainer", { kind: "container", name, holder });
  }

  #reserve(
    call: string,
    wanted: { kind: string; name: string; holder: { readonly id: string } | undefined },
  ): string {
    const { kind, name, holder } = wanted;
    const key = `${kind} ${name}`;
    if (holder === undefined && !this.#underWay.has(key)) return key;
    const details = `failed to reserve ${kind} name "${name}": name "${name}" is reserved for`;
    throw refused(call, `${details} "${holder?.id ?? "somebody"}"`);
  }

  /** Whatever runs in it is killed. */
  #end(container: FakeContainer): void {
    this.#exit(container.id, 137, { by: "call" });
    if (container.state !== ContainerState.CONTAINER_UNKNOWN) return;
    Object.assign(container, { exitCode: 255, reason: "Unknown", finishedAt: this.#now() });
    container.state = ContainerState.CONTAINER_EXITED;
  }

  #emit(event: TaskEvent, cause: ExitCause = "self"): void {
    this.#options.onEvent?.(event, cause);
    const { eventLagMs = 0, tellsExits = true } = this.#options;
    const { type, id } = event;
    const told = tellsExits ? event : { type, id };
    if (eventLagMs === 0) this.events.emit(told);
    else this.#clock.after(eventLagMs, () => this.events.emit(told));
  }

  #dropCalls(): void {
    this.#epoch += 1;
    this.#underWay.clear();
    for (const giveUp of this.#givesUp) giveUp(this.#unavailable("Call"));
  }

  #eventResponse(event: RuntimeEvent): ContainerEventResponse | undefined {
    if (event.type === "Subscribed") return undefined;
    const containerEventType = EVENT_TYPES[event.type];
    if (containerEventType === undefined) return undefined;
    const containerId = event.id;
    const createdAt = this.#now();
    return create(ContainerEventResponseSchema, { containerId, containerEventType, createdAt });
  }

  #stats(container: FakeContainer): ContainerStats {
    const { id, config } = container;
    const { labels, annotations, metadata } = config;
    const usage = this.usage(container);
    return create(ContainerStatsSchema, {
      attributes: { id, metadata: { ...metadata! }, labels, annotations },
      cpu: { timestamp: this.#now(), usageCoreNanoSeconds: { value: 1_000_000n } },
      memory: { timestamp: this.#now(), workingSetBytes: { value: BigInt(usage.memoryBytes) } },
      writableLayer: { usedBytes: { value: BigInt(usage.layerBytes) }, inodesUsed: { value: 1n } },
    });
  }

  #sandboxStats(sandbox: FakeSandbox): PodSandboxStats {
    const { id, config } = sandbox;
    const { labels, annotations, metadata } = config;
    const attributes = { id, metadata: { ...metadata! }, labels, annotations };
    const containers = this.#containersOf(id).map((container) => this.#stats(container));
    return create(PodSandboxStatsSchema, { attributes, linux: { containers } });
  }

  #containersOf(sandboxId: string): readonly FakeContainer[] {
    return [...this.containers.values()].filter((other) => other.sandboxId === sandboxId);
  }

  #sandbox(call: string, id: string): FakeSandbox {
    const sandbox = this.sandboxes.get(id);
    if (sandbox === undefined) throw notFound(call, `sandbox "${id}"`);
    return sandbox;
  }

  #container(call: string, id: string): FakeContainer {
    const container = this.containers.get(id);
    if (container === undefined) throw notFound(call, `container "${id}"`);
    return container;
  }

  #image(reference: string): FakeImage | undefined {
    return (
      this.images.get(reference) ??
      this.images.get(normalizedImageName(reference)) ??
      [...this.images.values()].find((image) => image.id === reference)
    );
  }

  #shown(image: FakeImage): Image {
    const { id, name, size, username, uid } = image;
    const spec = { id, repoTags: [name], size, username, pinned: name === this.sandboxImage };
    return create(ImageSchema, uid === undefined ? spec : { ...spec, uid: { value: uid } });
  }

  #now(): bigint {
    return BigInt(Math.round(this.#clock.now())) * 1_000_000n;
  }

  #mustBeUp(call: string): void {
    if (!this.#up) throw this.#unavailable(call);
  }

  #unavailable(call: string): CriError {
    return new CriError({ call, code: GrpcCode.UNAVAILABLE, details: "the runtime is not there" });
  }

  #unimplemented(call: string): never {
    const details = `method ${call} not implemented`;
    throw new CriError({ call, code: GrpcCode.UNIMPLEMENTED, details });
  }
}

interface Request {
  readonly call: CallName;
  readonly args: readonly unknown[];
  readonly limits: CallOptions;
  /** What the call holds while it is under way; throws when somebody else does. */
  readonly reserve?: () => string;
}

function forever(): Promise<never> {
  return new Promise(() => undefined);
}
