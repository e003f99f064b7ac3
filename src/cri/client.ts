// Performs: CriClient over gRPC: one method per rpc, with the kubelet's deadlines. kubelet: remote_runtime,
// remote_image

import type { Clock } from "../lib/clock.ts";
import type {
  AttachRequestInit,
  CallOptions,
  CheckpointContainerArgs,
  ContainerFilterInit,
  ContainerStatsFilterInit,
  CreateContainerArgs,
  CriClient,
  ExecRequestInit,
  ImageSpecInit,
  PodSandboxFilterInit,
  PodSandboxStatsFilterInit,
  PullImageArgs,
  RunPodSandboxArgs,
  UpdateContainerResourcesArgs,
  UpdatePodSandboxResourcesArgs,
  VerboseOptions,
} from "./cri-client.ts";
import { isNotFound } from "./cri-error.ts";
import { execSyncMs, RUN_SANDBOX_MS, VERSION_MS, within, withinMore } from "./deadlines.ts";
import { ImageService, RuntimeService } from "./gen/runtime/v1/api_pb.ts";
import type {
  Container,
  ContainerEventResponse,
  ContainerStats,
  ContainerStatusResponse,
  ExecSyncResponse,
  Image,
  ImageFsInfoResponse,
  MetricDescriptor,
  PodSandbox,
  PodSandboxMetrics,
  PodSandboxStats,
  PodSandboxStatusResponse,
  RuntimeConfigResponse,
  StatusResponse,
  VersionResponse,
} from "./gen/runtime/v1/api_pb.ts";
import { GrpcChannel } from "./grpc.ts";

const runtime = RuntimeService.method;
const images = ImageService.method;

export interface GrpcCriClientOptions {
  /** `containerRuntimeEndpoint` */
  readonly endpoint: string;
  /** `imageServiceEndpoint`; absent = the same socket. */
  readonly imageEndpoint?: string;
  readonly clock: Clock;
}

/** Connects at the first call; dispose it to close the sockets. */
export class GrpcCriClient implements CriClient, Disposable {
  readonly #runtime: GrpcChannel;
  readonly #images: GrpcChannel;

  /** Throws AgentError `InvalidEndpoint`. */
  constructor({ endpoint, imageEndpoint = endpoint, clock }: GrpcCriClientOptions) {
    this.#runtime = new GrpcChannel({ endpoint, clock });
    this.#images =
      imageEndpoint === endpoint
        ? this.#runtime
        : new GrpcChannel({ endpoint: imageEndpoint, clock });
  }

  version(options?: CallOptions): Promise<VersionResponse> {
    const request = { version: "v1" };
    return this.#runtime.unary(runtime.version, request, within(options, VERSION_MS));
  }

  status(options?: VerboseOptions): Promise<StatusResponse> {
    const request = { verbose: options?.verbose ?? false };
    return this.#runtime.unary(runtime.status, request, within(options));
  }

  async updateRuntimeConfig(podCIDR: string, options?: CallOptions): Promise<void> {
    const request = { runtimeConfig: { networkConfig: { podCidr: podCIDR } } };
    await this.#runtime.unary(runtime.updateRuntimeConfig, request, within(options));
  }

  runtimeConfig(options?: CallOptions): Promise<RuntimeConfigResponse> {
    return this.#runtime.unary(runtime.runtimeConfig, {}, within(options));
  }

  async runPodSandbox(args: RunPodSandboxArgs, options?: CallOptions): Promise<string> {
    const request = { config: args.config, runtimeHandler: args.runtimeHandler ?? "" };
    return (
      await this.#runtime.unary(runtime.runPodSandbox, request, within(options, RUN_SANDBOX_MS))
    ).podSandboxId;
  }

  async stopPodSandbox(id: string, options?: CallOptions): Promise<void> {
    const request = { podSandboxId: id };
    await goneIsFine(this.#runtime.unary(runtime.stopPodSandbox, request, within(options)));
  }

  async removePodSandbox(id: string, options?: CallOptions): Promise<void> {
    const request = { podSandboxId: id };
    await goneIsFine(this.#runtime.unary(runtime.removePodSandbox, request, within(options)));
  }

  podSandboxStatus(id: string, options?: VerboseOptions): Promise<PodSandboxStatusResponse> {
    const request = { podSandboxId: id, verbose: options?.verbose ?? false };
    return this.#runtime.unary(runtime.podSandboxStatus, request, within(options));
  }

  async listPodSandbox(
    filter: PodSandboxFilterInit = {},
    options?: CallOptions,
  ): Promise<readonly PodSandbox[]> {
    return (await this.#runtime.unary(runtime.listPodSandbox, { filter }, within(options))).items;
  }

  async updatePodSandboxResources(
    id: string,
    args: UpdatePodSandboxResourcesArgs,
    options?: CallOptions,
  ): Promise<void> {
    const request = { podSandboxId: id, ...args };
    await this.#runtime.unary(runtime.updatePodSandboxResources, request, within(options));
  }

  async createContainer(args: CreateContainerArgs, options?: CallOptions): Promise<string> {
    const { sandboxId: podSandboxId, config, sandboxConfig } = args;
    const request = { podSandboxId, config, sandboxConfig };
    return (await this.#runtime.unary(runtime.createContainer, request, within(options)))
      .containerId;
  }

  async startContainer(id: string, options?: CallOptions): Promise<void> {
    await this.#runtime.unary(runtime.startContainer, { containerId: id }, within(options));
  }

  async stopContainer(id: string, graceSeconds: number, options?: CallOptions): Promise<void> {
    const request = { containerId: id, timeout: BigInt(graceSeconds) };
    const settings = withinMore(graceSeconds, options);
    await goneIsFine(this.#runtime.unary(runtime.stopContainer, request, settings));
  }

  async removeContainer(id: string, options?: CallOptions): Promise<void> {
    const request = { containerId: id };
    await goneIsFine(this.#runtime.unary(runtime.removeContainer, request, within(options)));
  }

  async listContainers(
    filter: ContainerFilterInit = {},
    options?: CallOptions,
  ): Promise<readonly Container[]> {
    return (await this.#runtime.unary(runtime.listContainers, { filter }, within(options)))
      .containers;
  }

  containerStatus(id: string, options?: VerboseOptions): Promise<ContainerStatusResponse> {
    const request = { containerId: id, verbose: options?.verbose ?? false };
    return this.#runtime.unary(runtime.containerStatus, request, within(options));
  }

  async updateContainerResources(
    id: string,
    args: UpdateContainerResourcesArgs,
    options?: CallOptions,
  ): Promise<void> {
    const request = { containerId: id, linux: args.linux, annotations: { ...args.annotations } };
    await this.#runtime.unary(runtime.updateContainerResources, request, within(options));
  }

  async reopenContainerLog(id: string, options?: CallOptions): Promise<void> {
    await this.#runtime.unary(runtime.reopenContainerLog, { containerId: id }, within(options));
  }

  async checkpointContainer(
    id: string,
    args: CheckpointContainerArgs,
    options?: CallOptions,
  ): Promise<void> {
    const { location, timeoutSeconds } = args;
    const request = { containerId: id, location, timeout: BigInt(timeoutSeconds) };
    const settings = withinMore(timeoutSeconds, options);
    await this.#runtime.unary(runtime.checkpointContainer, request, settings);
  }

  execSync(
    id: string,
    args: { readonly cmd: readonly string[]; readonly timeoutSeconds: number },
    options?: CallOptions,
  ): Promise<ExecSyncResponse> {
    const { cmd, timeoutSeconds } = args;
    const request = { containerId: id, cmd: [...cmd], timeout: BigInt(timeoutSeconds) };
    const { signal, timeoutMs = execSyncMs(timeoutSeconds) } = options ?? {};
    return this.#runtime.unary(runtime.execSync, request, { signal, timeoutMs });
  }

  async exec(request: ExecRequestInit, options?: CallOptions): Promise<string> {
    return (await this.#runtime.unary(runtime.exec, request, within(options))).url;
  }

  async attach(request: AttachRequestInit, options?: CallOptions): Promise<string> {
    return (await this.#runtime.unary(runtime.attach, request, within(options))).url;
  }

  async portForward(
    sandboxId: string,
    ports: readonly number[],
    options?: CallOptions,
  ): Promise<string> {
    const request = { podSandboxId: sandboxId, port: [...ports] };
    return (await this.#runtime.unary(runtime.portForward, request, within(options))).url;
  }

  async containerStats(id: string, options?: CallOptions): Promise<ContainerStats | undefined> {
    const request = { containerId: id };
    return (await this.#runtime.unary(runtime.containerStats, request, within(options))).stats;
  }

  async listContainerStats(
    filter: ContainerStatsFilterInit = {},
    options?: CallOptions,
  ): Promise<readonly ContainerStats[]> {
    return (await this.#runtime.unary(runtime.listContainerStats, { filter }, within(options)))
      .stats;
  }

  async podSandboxStats(id: string, options?: CallOptions): Promise<PodSandboxStats | undefined> {
    const request = { podSandboxId: id };
    return (await this.#runtime.unary(runtime.podSandboxStats, request, within(options))).stats;
  }

  async listPodSandboxStats(
    filter: PodSandboxStatsFilterInit = {},
    options?: CallOptions,
  ): Promise<readonly PodSandboxStats[]> {
    return (await this.#runtime.unary(runtime.listPodSandboxStats, { filter }, within(options)))
      .stats;
  }

  async listMetricDescriptors(options?: CallOptions): Promise<readonly MetricDescriptor[]> {
    return (await this.#runtime.unary(runtime.listMetricDescriptors, {}, within(options)))
      .descriptors;
  }

  async listPodSandboxMetrics(options?: CallOptions): Promise<readonly PodSandboxMetrics[]> {
    return (await this.#runtime.unary(runtime.listPodSandboxMetrics, {}, within(options)))
      .podMetrics;
  }

  getContainerEvents(options?: CallOptions): AsyncIterable<ContainerEventResponse> {
    return this.#runtime.stream(runtime.getContainerEvents, {}, options);
  }

  async listImages(image?: ImageSpecInit, options?: CallOptions): Promise<readonly Image[]> {
    const request = { filter: { image } };
    return (await this.#images.unary(images.listImages, request, within(options))).images;
  }

  async imageStatus(image: ImageSpecInit, options?: CallOptions): Promise<Image | undefined> {
    return (await this.#images.unary(images.imageStatus, { image }, within(options))).image;
  }

  async pullImage(args: PullImageArgs, options?: CallOptions): Promise<string> {
    const { image, auth, sandboxConfig } = args;
    const request = { image, auth, sandboxConfig };
    return (await this.#images.unary(images.pullImage, request, options)).imageRef;
  }

  async removeImage(image: ImageSpecInit, options?: CallOptions): Promise<void> {
    await goneIsFine(this.#images.unary(images.removeImage, { image }, within(options)));
  }

  imageFsInfo(options?: CallOptions): Promise<ImageFsInfoResponse> {
    return this.#images.unary(images.imageFsInfo, {}, within(options));
  }

  [Symbol.dispose](): void {
    this.#runtime[Symbol.dispose]();
    if (this.#images !== this.#runtime) this.#images[Symbol.dispose]();
  }
}

async function goneIsFine(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (thrown) {
    if (!isNotFound(thrown)) throw thrown;
  }
}
