// Performs: CriClient over gRPC: one method per rpc, with the kubelet's deadlines. kubelet: remote_runtime,
// remote_image

import type { Clock } from "../lib/clock.ts";
import type { CriClient, ImageServiceClient, RuntimeServiceClient } from "./cri-client.ts";
import { execSyncMs, RUN_SANDBOX_MS, VERSION_MS, within, withinMore } from "./deadlines.ts";
import { ImageService, RuntimeService } from "./gen/runtime/v1/api_pb.ts";
import { GrpcChannel, ignoreNotFound } from "./grpc.ts";

export interface GrpcCriClientOptions {
  /** `containerRuntimeEndpoint` */
  readonly endpoint: string;
  /** `imageServiceEndpoint`; absent = the same socket. */
  readonly imageEndpoint?: string;
  readonly clock: Clock;
}

/** Connects at the first call; dispose it to close the sockets. */
export type GrpcCriClient = CriClient & Disposable;

/** Throws AgentError `InvalidEndpoint`. */
export function grpcCriClient(options: GrpcCriClientOptions): GrpcCriClient {
  const { endpoint, imageEndpoint = endpoint, clock } = options;
  const runtime = new GrpcChannel({ endpoint, clock });
  const images =
    imageEndpoint === endpoint ? runtime : new GrpcChannel({ endpoint: imageEndpoint, clock });
  return {
    ...runtimeCalls(runtime),
    ...imageCalls(images),
    [Symbol.dispose](): void {
      runtime[Symbol.dispose]();
      if (images !== runtime) images[Symbol.dispose]();
    },
  };
}

function runtimeCalls(channel: GrpcChannel): RuntimeServiceClient {
  const { method } = RuntimeService;
  return {
    version: (options) =>
      channel.unary(method.version, { version: "v1" }, within(options, VERSION_MS)),
    status: (options) =>
      channel.unary(method.status, { verbose: options?.verbose ?? false }, within(options)),
    async updateRuntimeConfig(podCIDR, options) {
      const request = { runtimeConfig: { networkConfig: { podCidr: podCIDR } } };
      await channel.unary(method.updateRuntimeConfig, request, within(options));
    },
    runtimeConfig: (options) => channel.unary(method.runtimeConfig, {}, within(options)),

    async runPodSandbox({ config, runtimeHandler = "" }, options) {
      const limits = within(options, RUN_SANDBOX_MS);
      const sandbox = await channel.unary(method.runPodSandbox, { config, runtimeHandler }, limits);
      return sandbox.podSandboxId;
    },
    stopPodSandbox: (podSandboxId, options) =>
      ignoreNotFound(channel.unary(method.stopPodSandbox, { podSandboxId }, within(options))),
    removePodSandbox: (podSandboxId, options) =>
      ignoreNotFound(channel.unary(method.removePodSandbox, { podSandboxId }, within(options))),
    podSandboxStatus(podSandboxId, options) {
      const request = { podSandboxId, verbose: options?.verbose ?? false };
      return channel.unary(method.podSandboxStatus, request, within(options));
    },
    listPodSandbox: async (filter = {}, options) =>
      (await channel.unary(method.listPodSandbox, { filter }, within(options))).items,
    async updatePodSandboxResources(podSandboxId, args, options) {
      const request = { podSandboxId, ...args };
      await channel.unary(method.updatePodSandboxResources, request, within(options));
    },

    async createContainer({ sandboxId: podSandboxId, config, sandboxConfig }, options) {
      const request = { podSandboxId, config, sandboxConfig };
      return (await channel.unary(method.createContainer, request, within(options))).containerId;
    },
    async startContainer(containerId, options) {
      await channel.unary(method.startContainer, { containerId }, within(options));
    },
    stopContainer(containerId, graceSeconds, options) {
      const request = { containerId, timeout: BigInt(graceSeconds) };
      const limits = withinMore(graceSeconds, options);
      return ignoreNotFound(channel.unary(method.stopContainer, request, limits));
    },
    removeContainer: (containerId, options) =>
      ignoreNotFound(channel.unary(method.removeContainer, { containerId }, within(options))),
    listContainers: async (filter = {}, options) =>
      (await channel.unary(method.listContainers, { filter }, within(options))).containers,
    containerStatus(containerId, options) {
      const request = { containerId, verbose: options?.verbose ?? false };
      return channel.unary(method.containerStatus, request, within(options));
    },
    async updateContainerResources(containerId, { linux, annotations }, options) {
      const request = { containerId, linux, annotations: { ...annotations } };
      await channel.unary(method.updateContainerResources, request, within(options));
    },
    async reopenContainerLog(containerId, options) {
      await channel.unary(method.reopenContainerLog, { containerId }, within(options));
    },
    async checkpointContainer(containerId, { location, timeoutSeconds }, options) {
      const request = { containerId, location, timeout: BigInt(timeoutSeconds) };
      const limits = withinMore(timeoutSeconds, options);
      await channel.unary(method.checkpointContainer, request, limits);
    },

    execSync(containerId, { cmd, timeoutSeconds }, options) {
      const request = { containerId, cmd: [...cmd], timeout: BigInt(timeoutSeconds) };
      const { signal, timeoutMs = execSyncMs(timeoutSeconds) } = options ?? {};
      return channel.unary(method.execSync, request, { signal, timeoutMs });
    },
    exec: async (request, options) =>
      (await channel.unary(method.exec, request, within(options))).url,
    attach: async (request, options) =>
      (await channel.unary(method.attach, request, within(options))).url,
    async portForward(podSandboxId, ports, options) {
      const request = { podSandboxId, port: [...ports] };
      return (await channel.unary(method.portForward, request, within(options))).url;
    },

    containerStats: async (containerId, options) =>
      (await channel.unary(method.containerStats, { containerId }, within(options))).stats,
    listContainerStats: async (filter = {}, options) =>
      (await channel.unary(method.listContainerStats, { filter }, within(options))).stats,
    podSandboxStats: async (podSandboxId, options) =>
      (await channel.unary(method.podSandboxStats, { podSandboxId }, within(options))).stats,
    listPodSandboxStats: async (filter = {}, options) =>
      (await channel.unary(method.listPodSandboxStats, { filter }, within(options))).stats,
    listMetricDescriptors: async (options) =>
      (await channel.unary(method.listMetricDescriptors, {}, within(options))).descriptors,
    listPodSandboxMetrics: async (options) =>
      (await channel.unary(method.listPodSandboxMetrics, {}, within(options))).podMetrics,

    getContainerEvents: (options) => channel.stream(method.getContainerEvents, {}, options),
  };
}

function imageCalls(channel: GrpcChannel): ImageServiceClient {
  const { method } = ImageService;
  return {
    listImages: async (image, options) =>
      (await channel.unary(method.listImages, { filter: { image } }, within(options))).images,
    imageStatus: async (image, options) =>
      (await channel.unary(method.imageStatus, { image }, within(options))).image,
    async pullImage({ image, auth, sandboxConfig }, options) {
      const request = { image, auth, sandboxConfig };
      return (await channel.unary(method.pullImage, request, options)).imageRef;
    },
    removeImage: (image, options) =>
      ignoreNotFound(channel.unary(method.removeImage, { image }, within(options))),
    imageFsInfo: (options) => channel.unary(method.imageFsInfo, {}, within(options)),
  };
}
