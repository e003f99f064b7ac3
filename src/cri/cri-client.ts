// Performs: CRI over gRPC: one method per rpc that the kubelet makes, with the kubelet's deadlines. kubelet:
// remote_runtime, remote_image

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Clock } from "../lib/clock.ts";
import {
  ImageService,
  RuntimeService,
  type AttachRequestSchema,
  type AuthConfigSchema,
  type ContainerConfigSchema,
  type ContainerEventResponse,
  type ContainerFilterSchema,
  type ContainerStatsFilterSchema,
  type ExecRequestSchema,
  type ImageSpecSchema,
  type LinuxContainerResourcesSchema,
  type LinuxContainerSecurityContextSchema,
  type LinuxSandboxSecurityContextSchema,
  type MountSchema,
  type NamespaceOptionSchema,
  type PodSandboxConfigSchema,
  type PodSandboxFilterSchema,
  type PodSandboxStatsFilterSchema,
  type SecurityProfileSchema,
} from "./gen/runtime/v1/api_pb.ts";
import {
  GrpcChannel,
  ignoreNotFound,
  type CallOptions,
  type CallSettings,
} from "./grpc-connection.ts";

/** Plain objects with every field optional; a message of the same type is accepted too. */
export type PodSandboxConfigInit = MessageInitShape<typeof PodSandboxConfigSchema>;
export type ContainerConfigInit = MessageInitShape<typeof ContainerConfigSchema>;
export type ImageSpecInit = MessageInitShape<typeof ImageSpecSchema>;
type AuthConfigInit = MessageInitShape<typeof AuthConfigSchema>;
export type LinuxContainerResourcesInit = MessageInitShape<typeof LinuxContainerResourcesSchema>;
export type LinuxContainerSecurityContextInit = MessageInitShape<
  typeof LinuxContainerSecurityContextSchema
>;
export type LinuxSandboxSecurityContextInit = MessageInitShape<
  typeof LinuxSandboxSecurityContextSchema
>;
export type MountInit = MessageInitShape<typeof MountSchema>;
export type NamespaceOptionInit = MessageInitShape<typeof NamespaceOptionSchema>;
export type SecurityProfileInit = MessageInitShape<typeof SecurityProfileSchema>;
export type PodSandboxFilterInit = MessageInitShape<typeof PodSandboxFilterSchema>;
export type ContainerFilterInit = MessageInitShape<typeof ContainerFilterSchema>;
export type ContainerStatsFilterInit = MessageInitShape<typeof ContainerStatsFilterSchema>;
export type PodSandboxStatsFilterInit = MessageInitShape<typeof PodSandboxStatsFilterSchema>;
export type ExecRequestInit = MessageInitShape<typeof ExecRequestSchema>;
export type AttachRequestInit = MessageInitShape<typeof AttachRequestSchema>;

export interface VerboseOptions extends CallOptions {
  /** Also fill `info`, the runtime's own JSON. */
  readonly verbose?: boolean;
}

export interface RunPodSandboxArgs {
  readonly config: PodSandboxConfigInit;
  /** Absent = the runtime's default. */
  readonly runtimeHandler?: string | undefined;
}

export interface CreateContainerArgs {
  readonly sandboxId: string;
  readonly config: ContainerConfigInit;
  /** The config the sandbox was made from. */
  readonly sandboxConfig: PodSandboxConfigInit;
}

export interface UpdateContainerResourcesArgs {
  readonly linux: LinuxContainerResourcesInit;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface UpdatePodSandboxResourcesArgs {
  readonly overhead?: LinuxContainerResourcesInit;
  readonly resources: LinuxContainerResourcesInit;
}

export interface PullImageArgs {
  readonly image: ImageSpecInit;
  readonly auth?: AuthConfigInit | undefined;
  readonly sandboxConfig?: PodSandboxConfigInit | undefined;
}

interface CheckpointContainerArgs {
  /** Where the archive is written. */
  readonly location: string;
  readonly timeoutSeconds: number;
}

interface ExecSyncArgs {
  readonly cmd: readonly string[];
  readonly timeoutSeconds: number;
}

const DEFAULT_MS = 120_000;
/** Version is the health check: a runtime that does not answer it in time is stuck. */
export const VERSION_MS = 10_000;
/** Includes setting up the network and perhaps pulling the sandbox image. */
export const RUN_SANDBOX_MS = 2 * DEFAULT_MS;
const EXEC_SYNC_EXTRA_MS = 10_000;

/** The caller's deadline, or the call's default, after which its outcome is unknown. kubelet: runtimeRequestTimeout */
export function within(options: CallOptions | undefined, defaultMs = DEFAULT_MS): CallOptions {
  return { signal: options?.signal, timeoutMs: options?.timeoutMs ?? defaultMs };
}

/** For calls in which the runtime itself waits `seconds`: two minutes more. */
export function withinMore(seconds: number, options: CallOptions | undefined): CallOptions {
  return within(options, seconds * 1000 + DEFAULT_MS);
}

export interface GrpcCriClientOptions {
  /** `containerRuntimeEndpoint` */
  readonly endpoint: string;
  /** `imageServiceEndpoint`; absent = the same socket. */
  readonly imageEndpoint?: string;
  readonly clock: Clock;
}

/**
 * The container runtime. Every method throws CriError; without `timeoutMs` the kubelet's deadline applies (two minutes
 * unless noted).
 */
export type CriClient = ReturnType<typeof runtimeCalls> &
  ReturnType<typeof execCalls> &
  ReturnType<typeof imageCalls>;

/** Connects at the first call; dispose it to close the sockets. */
export type GrpcCriClient = CriClient & Disposable;

/** Throws AgentError `InvalidEndpoint`. */
export function grpcCriClient(options: GrpcCriClientOptions): GrpcCriClient {
  const { endpoint, imageEndpoint = endpoint, clock } = options;
  const runtime = new GrpcChannel({ endpoint, clock });
  const outputs = new GrpcChannel({ endpoint, clock, maxReceiveBytes: MAX_OUTPUT });
  const images =
    imageEndpoint === endpoint ? runtime : new GrpcChannel({ endpoint: imageEndpoint, clock });
  return {
    ...runtimeCalls(runtime),
    ...execCalls(outputs),
    ...imageCalls(images),
    [Symbol.dispose](): void {
      runtime[Symbol.dispose]();
      outputs[Symbol.dispose]();
      if (images !== runtime) images[Symbol.dispose]();
    },
  };
}

function runtimeCalls(channel: GrpcChannel) {
  const { method } = RuntimeService;
  return {
    /** Deadline 10 s: also the health check. */
    version: (options?: CallOptions) =>
      channel.unary(method.version, { version: "v1" }, within(options, VERSION_MS)),
    status: (options?: VerboseOptions) =>
      channel.unary(method.status, { verbose: options?.verbose ?? false }, within(options)),
    async updateRuntimeConfig(podCIDR: string, options?: CallOptions) {
      const request = { runtimeConfig: { networkConfig: { podCidr: podCIDR } } };
      await channel.unary(method.updateRuntimeConfig, request, within(options));
    },
    /** `linux.cgroupDriver`; older runtimes throw `Unimplemented`. */
    runtimeConfig: (options?: CallOptions) =>
      channel.unary(method.runtimeConfig, {}, within(options)),

    /** The id of the new sandbox. Deadline four minutes. */
    runPodSandbox({ config, runtimeHandler = "" }: RunPodSandboxArgs, options?: CallOptions) {
      const limits = within(options, RUN_SANDBOX_MS);
      const sandbox = channel.unary(method.runPodSandbox, { config, runtimeHandler }, limits);
      return fieldOf(sandbox, "podSandboxId");
    },
    /** Idempotent; a missing sandbox counts as stopped. */
    stopPodSandbox: (podSandboxId: string, options?: CallOptions) =>
      ignoreNotFound(channel.unary(method.stopPodSandbox, { podSandboxId }, within(options))),
    /** Idempotent; a missing sandbox counts as removed. */
    removePodSandbox: (podSandboxId: string, options?: CallOptions) =>
      ignoreNotFound(channel.unary(method.removePodSandbox, { podSandboxId }, within(options))),
    podSandboxStatus: (podSandboxId: string, options?: CallOptions) =>
      channel.unary(method.podSandboxStatus, { podSandboxId }, within(options)),
    listPodSandbox: (filter: PodSandboxFilterInit = {}, options?: CallOptions) =>
      fieldOf(channel.unary(method.listPodSandbox, { filter }, within(options)), "items"),
    async updatePodSandboxResources(
      podSandboxId: string,
      args: UpdatePodSandboxResourcesArgs,
      options?: CallOptions,
    ) {
      const request = { podSandboxId, ...args };
      await channel.unary(method.updatePodSandboxResources, request, within(options));
    },

    /** The id of the new container. */
    createContainer({ sandboxId, ...configs }: CreateContainerArgs, options?: CallOptions) {
      const request = { podSandboxId: sandboxId, ...configs };
      return fieldOf(
        channel.unary(method.createContainer, request, within(options)),
        "containerId",
      );
    },
    async startContainer(containerId: string, options?: CallOptions) {
      await channel.unary(method.startContainer, { containerId }, within(options));
    },
    /** Stop signal, then SIGKILL after the grace period. Deadline grace + 2 min; a missing container counts as stopped. */
    stopContainer(containerId: string, graceSeconds: number, options?: CallOptions) {
      const request = { containerId, timeout: BigInt(graceSeconds) };
      const limits = withinMore(graceSeconds, options);
      return ignoreNotFound(channel.unary(method.stopContainer, request, limits));
    },
    /** A missing container counts as removed. */
    removeContainer: (containerId: string, options?: CallOptions) =>
      ignoreNotFound(channel.unary(method.removeContainer, { containerId }, within(options))),
    listContainers: (filter: ContainerFilterInit = {}, options?: CallOptions) =>
      fieldOf(channel.unary(method.listContainers, { filter }, within(options)), "containers"),
    containerStatus: (containerId: string, options?: CallOptions) =>
      channel.unary(method.containerStatus, { containerId }, within(options)),
    async updateContainerResources(
      containerId: string,
      { linux, annotations }: UpdateContainerResourcesArgs,
      options?: CallOptions,
    ) {
      const request = { containerId, linux, annotations: { ...annotations } };
      await channel.unary(method.updateContainerResources, request, within(options));
    },
    async reopenContainerLog(containerId: string, options?: CallOptions) {
      await channel.unary(method.reopenContainerLog, { containerId }, within(options));
    },
    async checkpointContainer(
      containerId: string,
      { location, timeoutSeconds }: CheckpointContainerArgs,
      options?: CallOptions,
    ) {
      const request = { containerId, location, timeout: BigInt(timeoutSeconds) };
      const limits = withinMore(timeoutSeconds, options);
      await channel.unary(method.checkpointContainer, request, limits);
    },

    /** The URL of the runtime's streaming server. */
    exec: (request: ExecRequestInit, options?: CallOptions) =>
      fieldOf(channel.unary(method.exec, request, within(options)), "url"),
    attach: (request: AttachRequestInit, options?: CallOptions) =>
      fieldOf(channel.unary(method.attach, request, within(options)), "url"),
    portForward(podSandboxId: string, ports: readonly number[], options?: CallOptions) {
      const request = { podSandboxId, port: [...ports] };
      return fieldOf(channel.unary(method.portForward, request, within(options)), "url");
    },

    containerStats: (containerId: string, options?: CallOptions) =>
      fieldOf(channel.unary(method.containerStats, { containerId }, within(options)), "stats"),
    listContainerStats: (filter: ContainerStatsFilterInit = {}, options?: CallOptions) =>
      fieldOf(channel.unary(method.listContainerStats, { filter }, within(options)), "stats"),
    podSandboxStats: (podSandboxId: string, options?: CallOptions) =>
      fieldOf(channel.unary(method.podSandboxStats, { podSandboxId }, within(options)), "stats"),
    listPodSandboxStats: (filter: PodSandboxStatsFilterInit = {}, options?: CallOptions) =>
      fieldOf(channel.unary(method.listPodSandboxStats, { filter }, within(options)), "stats"),
    listMetricDescriptors: (options?: CallOptions) =>
      fieldOf(channel.unary(method.listMetricDescriptors, {}, within(options)), "descriptors"),
    listPodSandboxMetrics: (options?: CallOptions) =>
      fieldOf(channel.unary(method.listPodSandboxMetrics, {}, within(options)), "podMetrics"),

    /** No deadline; ends with the stream, throws CriError when it breaks or the signal aborts. */
    getContainerEvents: (options?: CallOptions): AsyncIterable<ContainerEventResponse> =>
      channel.stream(method.getContainerEvents, {}, options),
  };
}

/** Containers choose what their probes and hooks write, and the runtime collects up to 32 MiB of it. */
const MAX_OUTPUT = 1024 * 1024;

/** `channel`: a connection of its own, whose answers are small. */
function execCalls(channel: GrpcChannel) {
  return {
    /**
     * Runs a command and collects its output. `timeoutSeconds` 0 = none; the deadline is 10 s later. Throws CriError
     * `ResourceExhausted` if it writes more than 1 MiB.
     */
    execSync(
      containerId: string,
      { cmd, timeoutSeconds }: ExecSyncArgs,
      options: CallOptions = {},
    ) {
      const request = { containerId, cmd: [...cmd], timeout: BigInt(timeoutSeconds) };
      const limit = timeoutSeconds === 0 ? undefined : timeoutSeconds * 1000 + EXEC_SYNC_EXTRA_MS;
      const { signal, timeoutMs = limit } = options;
      return channel.unary(RuntimeService.method.execSync, request, { signal, timeoutMs });
    },
  };
}

/** An image is named by reference, id or digest. */
function imageCalls(channel: GrpcChannel) {
  const { method } = ImageService;
  return {
    listImages: (image?: ImageSpecInit, options?: CallOptions) =>
      fieldOf(channel.unary(method.listImages, { filter: { image } }, within(options)), "images"),
    /** undefined = the image is not on this node. */
    imageStatus: (image: ImageSpecInit, options?: CallOptions) =>
      fieldOf(channel.unary(method.imageStatus, { image }, within(options)), "image"),
    /** The reference (digest or id) of the pulled image. No deadline of its own: give a signal. */
    pullImage: (args: PullImageArgs, options?: CallSettings) =>
      fieldOf(channel.unary(method.pullImage, args, options), "imageRef"),
    /** A missing image counts as removed. */
    removeImage: (image: ImageSpecInit, options?: CallOptions) =>
      ignoreNotFound(channel.unary(method.removeImage, { image }, within(options))),
    imageFsInfo: (options?: CallOptions) => channel.unary(method.imageFsInfo, {}, within(options)),
  };
}

async function fieldOf<T, K extends keyof T>(
  response: Promise<T>,
  field: K,
): Promise<Readonly<T[K]>> {
  return (await response)[field];
}
