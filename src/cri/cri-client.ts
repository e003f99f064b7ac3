// Performs: the interface of CRI: every call that the kubelet makes to a container runtime, without gRPC.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  AttachRequestSchema,
  AuthConfigSchema,
  ContainerConfigSchema,
  ContainerEventResponse,
  ContainerFilterSchema,
  ContainerStats,
  ContainerStatsFilterSchema,
  ContainerStatusResponse,
  Container,
  ExecRequestSchema,
  ExecSyncResponse,
  Image,
  ImageFsInfoResponse,
  ImageSpecSchema,
  LinuxContainerResourcesSchema,
  LinuxContainerSecurityContextSchema,
  LinuxSandboxSecurityContextSchema,
  MetricDescriptor,
  MountSchema,
  NamespaceOptionSchema,
  PodSandbox,
  PodSandboxConfigSchema,
  PodSandboxFilterSchema,
  PodSandboxMetrics,
  PodSandboxStats,
  PodSandboxStatsFilterSchema,
  PodSandboxStatusResponse,
  RuntimeConfigResponse,
  SecurityProfileSchema,
  StatusResponse,
  VersionResponse,
} from "./gen/runtime/v1/api_pb.ts";

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

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds; instead of the call's own default. */
  readonly timeoutMs?: number | undefined;
}

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

/** Every method throws CriError; without `timeoutMs` the kubelet's deadline applies (two minutes unless noted). */
export interface RuntimeServiceClient {
  /** Deadline 10 s: also the health check. */
  version(options?: CallOptions): Promise<VersionResponse>;
  status(options?: VerboseOptions): Promise<StatusResponse>;
  updateRuntimeConfig(podCIDR: string, options?: CallOptions): Promise<void>;
  /** `linux.cgroupDriver`; older runtimes throw `Unimplemented`. */
  runtimeConfig(options?: CallOptions): Promise<RuntimeConfigResponse>;

  /** The id of the new sandbox. Deadline four minutes. */
  runPodSandbox(args: RunPodSandboxArgs, options?: CallOptions): Promise<string>;
  /** Idempotent; a missing sandbox counts as stopped. */
  stopPodSandbox(id: string, options?: CallOptions): Promise<void>;
  /** Idempotent; a missing sandbox counts as removed. */
  removePodSandbox(id: string, options?: CallOptions): Promise<void>;
  podSandboxStatus(id: string, options?: VerboseOptions): Promise<PodSandboxStatusResponse>;
  listPodSandbox(
    filter?: PodSandboxFilterInit,
    options?: CallOptions,
  ): Promise<readonly PodSandbox[]>;
  updatePodSandboxResources(
    id: string,
    args: UpdatePodSandboxResourcesArgs,
    options?: CallOptions,
  ): Promise<void>;

  /** The id of the new container. */
  createContainer(args: CreateContainerArgs, options?: CallOptions): Promise<string>;
  startContainer(id: string, options?: CallOptions): Promise<void>;
  /** Stop signal, then SIGKILL after the grace period. Deadline grace + 2 min; a missing container counts as stopped. */
  stopContainer(id: string, graceSeconds: number, options?: CallOptions): Promise<void>;
  /** A missing container counts as removed. */
  removeContainer(id: string, options?: CallOptions): Promise<void>;
  listContainers(
    filter?: ContainerFilterInit,
    options?: CallOptions,
  ): Promise<readonly Container[]>;
  containerStatus(id: string, options?: VerboseOptions): Promise<ContainerStatusResponse>;
  updateContainerResources(
    id: string,
    args: UpdateContainerResourcesArgs,
    options?: CallOptions,
  ): Promise<void>;
  reopenContainerLog(id: string, options?: CallOptions): Promise<void>;
  checkpointContainer(
    id: string,
    args: CheckpointContainerArgs,
    options?: CallOptions,
  ): Promise<void>;

  /** Runs a command and collects its output. `timeoutSeconds` 0 = none; the deadline is 10 s later. */
  execSync(
    id: string,
    args: { readonly cmd: readonly string[]; readonly timeoutSeconds: number },
    options?: CallOptions,
  ): Promise<ExecSyncResponse>;
  /** The URL of the runtime's streaming server. */
  exec(request: ExecRequestInit, options?: CallOptions): Promise<string>;
  attach(request: AttachRequestInit, options?: CallOptions): Promise<string>;
  portForward(sandboxId: string, ports: readonly number[], options?: CallOptions): Promise<string>;

  containerStats(id: string, options?: CallOptions): Promise<ContainerStats | undefined>;
  listContainerStats(
    filter?: ContainerStatsFilterInit,
    options?: CallOptions,
  ): Promise<readonly ContainerStats[]>;
  podSandboxStats(id: string, options?: CallOptions): Promise<PodSandboxStats | undefined>;
  listPodSandboxStats(
    filter?: PodSandboxStatsFilterInit,
    options?: CallOptions,
  ): Promise<readonly PodSandboxStats[]>;
  listMetricDescriptors(options?: CallOptions): Promise<readonly MetricDescriptor[]>;
  listPodSandboxMetrics(options?: CallOptions): Promise<readonly PodSandboxMetrics[]>;

  /** No deadline; ends with the stream, throws CriError when it breaks or the signal aborts. */
  getContainerEvents(options?: CallOptions): AsyncIterable<ContainerEventResponse>;
}

/** Every method throws CriError. An image is named by reference, id or digest. */
export interface ImageServiceClient {
  listImages(image?: ImageSpecInit, options?: CallOptions): Promise<readonly Image[]>;
  /** undefined = the image is not on this node. */
  imageStatus(image: ImageSpecInit, options?: CallOptions): Promise<Image | undefined>;
  /** The reference (digest or id) of the pulled image. No deadline of its own: give a signal. */
  pullImage(args: PullImageArgs, options?: CallOptions): Promise<string>;
  /** A missing image counts as removed. */
  removeImage(image: ImageSpecInit, options?: CallOptions): Promise<void>;
  imageFsInfo(options?: CallOptions): Promise<ImageFsInfoResponse>;
}

/** The container runtime. */
export interface CriClient extends RuntimeServiceClient, ImageServiceClient {}
