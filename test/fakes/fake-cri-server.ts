// The fake runtime behind a real gRPC server on a unix socket: both CRI services, nothing of its own.

import {
  create,
  fromBinary,
  toBinary,
  type DescMessage,
  type DescMethod,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  Server,
  ServerCredentials,
  type Metadata,
  type MethodDefinition,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { CriError } from "../../src/cri/cri-error.ts";
import type { CallOptions } from "../../src/cri/grpc-connection.ts";
import { ImageService, RuntimeService } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import { addContainerdServices, type FakeContainerdState } from "./fake-cri-containerd.ts";
import type { FakeRuntime } from "./fake-runtime.ts";
import { GrpcCode } from "../../src/lib/grpc-code.ts";

const runtimeMethods = RuntimeService.method;
const imageMethods = ImageService.method;
/** The client's deadline counts, not the model's. */
const NO_LIMIT_MS = 2 ** 31 - 1;

type Method<I extends DescMessage, O extends DescMessage> = Omit<
  DescMethod,
  "input" | "output" | "methodKind"
> & { readonly input: I; readonly output: O };

/** What a handler is told about its call. */
export interface ServedCall {
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
  readonly metadata: Metadata;
}

/** A gRPC server to which handlers are added one by one, typed by their rpc. */
export class FakeServer {
  readonly #server = new Server({ "grpc.max_receive_message_length": 64 * 1024 * 1024 });

  unary<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    answer: (request: MessageShape<I>, call: ServedCall) => Promise<MessageInitShape<O>>,
  ): void {
    const handler = async (
      call: ServerUnaryCall<MessageShape<I>, MessageShape<O>>,
      done: sendUnaryData<MessageShape<O>>,
    ): Promise<void> => {
      const gone = new AbortController();
      call.on("cancelled", () => gone.abort());
      try {
        const served = { signal: gone.signal, metadata: call.metadata };
        done(null, create(method.output, await answer(call.request, served)));
      } catch (thrown) {
        done(statusOf(thrown));
      }
    };
    this.#add(method, handler, { requestStream: false, responseStream: false });
  }

  stream<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    answer: (request: MessageShape<I>, call: ServedCall) => AsyncIterable<MessageInitShape<O>>,
  ): void {
    const handler = async (
      call: ServerWritableStream<MessageShape<I>, MessageShape<O>>,
    ): Promise<void> => {
      const gone = new AbortController();
      call.on("cancelled", () => gone.abort());
      try {
        const served = { signal: gone.signal, metadata: call.metadata };
        for await (const response of answer(call.request, served))
          call.write(create(method.output, response));
        call.end();
      } catch (thrown) {
        call.emit("error", statusOf(thrown));
      }
    };
    this.#add(method, handler, { requestStream: false, responseStream: true });
  }

  /** One answer per request. */
  duplex<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    answer: (request: MessageShape<I>, call: ServedCall) => MessageInitShape<O>,
  ): void {
    const handler = (call: ServerDuplexStream<MessageShape<I>, MessageShape<O>>): void => {
      const served = { signal: new AbortController().signal, metadata: call.metadata };
      call.on("data", (request: MessageShape<I>) => {
        try {
          call.write(create(method.output, answer(request, served)));
        } catch (thrown) {
          call.emit("error", statusOf(thrown));
        }
      });
      call.on("end", () => call.end());
    };
    this.#add(method, handler, { requestStream: true, responseStream: true });
  }

  async listen(socket: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
  }

  /** Breaks every connection. */
  close(): void {
    this.#server.forceShutdown();
  }

  #add<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    handler: (...args: never[]) => unknown,
    kind: { readonly requestStream: boolean; readonly responseStream: boolean },
  ): void {
    const definition: MethodDefinition<MessageShape<I>, MessageShape<O>> = {
      path: `/${method.parent.typeName}/${method.name}`,
      ...kind,
      requestSerialize: (message) => Buffer.from(toBinary(method.input, message)),
      requestDeserialize: (bytes) => fromBinary(method.input, bytes),
      responseSerialize: (message) => Buffer.from(toBinary(method.output, message)),
      responseDeserialize: (bytes) => fromBinary(method.output, bytes),
    };
    this.#server.addService({ [method.name]: definition }, { [method.name]: handler as never });
  }
}

function statusOf(thrown: unknown): {
  code: number;
  details: string;
  name: string;
  message: string;
} {
  const code = thrown instanceof CriError ? thrown.code : GrpcCode.UNKNOWN;
  const details = thrown instanceof CriError ? thrown.details : String(thrown);
  return { code, details, name: "Error", message: details };
}

export interface FakeCriServerOptions {
  readonly runtime: FakeRuntime;
  /** Path of the socket file. */
  readonly socket: string;
  /** Also serve containerd's own services; absent = a runtime that is not containerd. */
  readonly containerd?: FakeContainerdState;
  /** false = a containerd whose CRI plugin is disabled. */
  readonly cri?: boolean;
}

export interface FakeCriServer extends Disposable {
  readonly endpoint: string;
}

/** Listens until disposed; disposing breaks every connection. */
export async function startFakeCriServer(options: FakeCriServerOptions): Promise<FakeCriServer> {
  const server = new FakeServer();
  if (options.cri !== false) {
    addRuntimeService(server, options.runtime);
    addStatsService(server, options.runtime);
    addImageService(server, options.runtime);
  }
  if (options.containerd !== undefined)
    addContainerdServices(server, options.runtime, options.containerd);
  await server.listen(options.socket);
  return {
    endpoint: `unix://${options.socket}`,
    [Symbol.dispose]: (): void => server.close(),
  };
}

function unlimited({ signal }: ServedCall): CallOptions {
  return { signal, timeoutMs: NO_LIMIT_MS };
}

function addRuntimeService(server: FakeServer, model: FakeRuntime): void {
  const m = runtimeMethods;
  server.unary(m.version, (_, call) => model.version(unlimited(call)));
  server.unary(m.status, ({ verbose }, call) => model.status({ verbose, ...unlimited(call) }));
  server.unary(m.updateRuntimeConfig, async ({ runtimeConfig }, call) => {
    await model.updateRuntimeConfig(runtimeConfig?.networkConfig?.podCidr ?? "", unlimited(call));
    return {};
  });
  server.unary(m.runtimeConfig, (_, call) => model.runtimeConfig(unlimited(call)));
  server.unary(m.runPodSandbox, async ({ config, runtimeHandler }, call) => {
    const args = { config: config!, runtimeHandler };
    return { podSandboxId: await model.runPodSandbox(args, unlimited(call)) };
  });
  server.unary(m.stopPodSandbox, async ({ podSandboxId }, call) => {
    await model.stopPodSandbox(podSandboxId, unlimited(call));
    return {};
  });
  server.unary(m.removePodSandbox, async ({ podSandboxId }, call) => {
    await model.removePodSandbox(podSandboxId, unlimited(call));
    return {};
  });
  server.unary(m.podSandboxStatus, ({ podSandboxId }, call) =>
    model.podSandboxStatus(podSandboxId, unlimited(call)),
  );
  server.unary(m.listPodSandbox, async ({ filter }, call) => ({
    items: [...(await model.listPodSandbox(filter, unlimited(call)))],
  }));
  server.unary(m.updatePodSandboxResources, async ({ podSandboxId, ...args }, call) => {
    await model.updatePodSandboxResources(podSandboxId, args, unlimited(call));
    return {};
  });
  server.unary(m.createContainer, async (request, call) => {
    const { podSandboxId: sandboxId, config, sandboxConfig } = request;
    const args = { sandboxId, config: config!, sandboxConfig: sandboxConfig! };
    return { containerId: await model.createContainer(args, unlimited(call)) };
  });
  server.unary(m.startContainer, async ({ containerId }, call) => {
    await model.startContainer(containerId, unlimited(call));
    return {};
  });
  server.unary(m.stopContainer, async ({ containerId, timeout }, call) => {
    await model.stopContainer(containerId, Number(timeout), unlimited(call));
    return {};
  });
  server.unary(m.removeContainer, async ({ containerId }, call) => {
    await model.removeContainer(containerId, unlimited(call));
    return {};
  });
  server.unary(m.listContainers, async ({ filter }, call) => ({
    containers: [...(await model.listContainers(filter, unlimited(call)))],
  }));
  server.unary(m.containerStatus, ({ containerId }, call) =>
    model.containerStatus(containerId, unlimited(call)),
  );
  server.unary(m.updateContainerResources, async (request, call) => {
    const { containerId, linux, annotations } = request;
    const args = { linux: linux ?? {}, annotations };
    await model.updateContainerResources(containerId, args, unlimited(call));
    return {};
  });
  server.unary(m.reopenContainerLog, async ({ containerId }, call) => {
    await model.reopenContainerLog(containerId, unlimited(call));
    return {};
  });
  server.unary(m.checkpointContainer, async ({ containerId, location, timeout }, call) => {
    const args = { location, timeoutSeconds: Number(timeout) };
    await model.checkpointContainer(containerId, args, unlimited(call));
    return {};
  });
  server.unary(m.execSync, ({ containerId, cmd, timeout }, call) =>
    model.execSync(containerId, { cmd, timeoutSeconds: Number(timeout) }, unlimited(call)),
  );
  server.unary(m.exec, async (request, call) => ({
    url: await model.exec(request, unlimited(call)),
  }));
  server.unary(m.attach, async (request, call) => ({
    url: await model.attach(request, unlimited(call)),
  }));
  server.unary(m.portForward, async ({ podSandboxId, port }, call) => ({
    url: await model.portForward(podSandboxId, port, unlimited(call)),
  }));
  server.stream(m.getContainerEvents, (_, call) => model.getContainerEvents(unlimited(call)));
}

function addStatsService(server: FakeServer, model: FakeRuntime): void {
  const m = runtimeMethods;
  server.unary(m.containerStats, async ({ containerId }, call) => ({
    stats: await model.containerStats(containerId, unlimited(call)),
  }));
  server.unary(m.listContainerStats, async ({ filter }, call) => ({
    stats: [...(await model.listContainerStats(filter, unlimited(call)))],
  }));
  server.unary(m.podSandboxStats, async ({ podSandboxId }, call) => ({
    stats: await model.podSandboxStats(podSandboxId, unlimited(call)),
  }));
  server.unary(m.listPodSandboxStats, async ({ filter }, call) => ({
    stats: [...(await model.listPodSandboxStats(filter, unlimited(call)))],
  }));
  server.unary(m.listMetricDescriptors, async (_, call) => ({
    descriptors: [...(await model.listMetricDescriptors(unlimited(call)))],
  }));
  server.unary(m.listPodSandboxMetrics, async (_, call) => ({
    podMetrics: [...(await model.listPodSandboxMetrics(unlimited(call)))],
  }));
}

function addImageService(server: FakeServer, model: FakeRuntime): void {
  const m = imageMethods;
  server.unary(m.listImages, async ({ filter }, call) => ({
    images: [...(await model.listImages(filter?.image, unlimited(call)))],
  }));
  server.unary(m.imageStatus, async ({ image }, call) => ({
    image: await model.imageStatus(image ?? {}, unlimited(call)),
  }));
  server.unary(m.pullImage, async ({ image, auth, sandboxConfig }, call) => ({
    imageRef: await model.pullImage({ image: image ?? {}, auth, sandboxConfig }, unlimited(call)),
  }));
  server.unary(m.removeImage, async ({ image }, call) => {
    await model.removeImage(image ?? {}, unlimited(call));
    return {};
  });
  server.unary(m.imageFsInfo, (_, call) => model.imageFsInfo(unlimited(call)));
}
