// Performs: typed calls of protobuf-es services over @grpc/grpc-js and one unix socket.

import {
  create,
  fromBinary,
  toBinary,
  type DescMessage,
  type DescMethod,
  type MessageInitShape,
  type MessageShape,
  type DescMethodBiDiStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
} from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { deadline, type Clock, type Deadline } from "../lib/clock.ts";
import { AgentError } from "../lib/errors.ts";
import { CriError, ifFound } from "./cri-error.ts";
import { GrpcCode } from "../lib/grpc-code.ts";
import type { Meter } from "../lib/meter.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds; absent = the call's own default, or no limit. */
  readonly timeoutMs?: number | undefined;
}

export interface CallSettings extends CallOptions {
  /** Request headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface GrpcChannelOptions {
  /** A unix socket as URL. */
  readonly endpoint: string;
  readonly clock: Clock;
  /** Counts the calls; absent = they are not counted. */
  readonly meter?: Meter;
  /** Largest answer in bytes; a larger one is refused by its header. Absent = 64 MiB. */
  readonly maxReceiveBytes?: number;
}

const MAX_MESSAGE = 64 * 1024 * 1024;

// No HTTP/2 keepalive: containerd treats pings within five minutes as abuse and closes the connection.
const CHANNEL_OPTIONS = {
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1000,
  "grpc.max_send_message_length": MAX_MESSAGE,
  // A retry by the library would repeat calls whose first try may have taken effect.
  "grpc.enable_retries": 0,
  // One connection per channel, so that closing a channel closes its socket.
  "grpc.use_local_subchannel_pool": 1,
} as const;

/** Dispose it to end the stream. */
export interface Conversation<I extends DescMessage, O extends DescMessage> extends Disposable {
  /** Only after the answer to the request before. Throws CriError. */
  ask(request: MessageInitShape<I>): Promise<MessageShape<O>>;
}

/** One connection to one socket; connects at the first call and reconnects after every loss. */
export class GrpcChannel implements Disposable {
  readonly endpoint: string;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #meter: Meter | undefined;

  /** Throws AgentError `InvalidEndpoint`; does not connect yet. */
  constructor({ endpoint, clock, meter, maxReceiveBytes = MAX_MESSAGE }: GrpcChannelOptions) {
    if (!/^unix:\/\/\/./.test(endpoint))
      throw new AgentError({
        reason: "InvalidEndpoint",
        message: `runtime endpoint "${endpoint}" is not a unix socket; write it as unix:///run/containerd/containerd.sock`,
      });
    this.endpoint = endpoint;
    this.#clock = clock;
    this.#meter = meter;
    this.#client = new Client(endpoint, credentials.createInsecure(), {
      ...CHANNEL_OPTIONS,
      "grpc.max_receive_message_length": maxReceiveBytes,
    });
  }

  /** Throws CriError. */
  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    settings: CallSettings = {},
  ): Promise<MessageShape<O>> {
    using limit = this.#limit(method, settings);
    const labels = { operation_type: operationOf(method.name) };
    const begun = this.#clock.monotonic();
    this.#meter?.count("kubelet_runtime_operations_total", labels);
    try {
      return await new Promise<MessageShape<O>>((resolve, reject) => {
        const call = this.#client.makeUnaryRequest(
          ...wire(method),
          create(method.input, request),
          metadataOf(settings),
          (error: ServiceError | null, response?: MessageShape<O>) => {
            if (response === undefined) reject(error ?? new Error("no response message"));
            else resolve(response);
          },
        );
        limit.onEnd(() => call.cancel());
      });
    } catch (thrown) {
      this.#meter?.count("kubelet_runtime_operations_errors_total", labels);
      throw limit.explain(thrown);
    } finally {
      const seconds = (this.#clock.monotonic() - begun) / 1000;
      this.#meter?.observe("kubelet_runtime_operations_duration_seconds", seconds, labels);
    }
  }

  /** The server's messages until it ends the stream; throws CriError on anything but a proper end. Leaving the loop cancels the call. */
  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    settings: CallSettings = {},
  ): AsyncGenerator<MessageShape<O>, void, undefined> {
    using limit = this.#limit(method, settings);
    const call = this.#client.makeServerStreamRequest(
      ...wire(method),
      create(method.input, request),
      metadataOf(settings),
    );
    limit.onEnd(() => call.cancel());
    // The error of a call that was cancelled here has no other listener.
    call.on("error", () => undefined);
    try {
      yield* call as AsyncIterable<MessageShape<O>>;
    } catch (thrown) {
      throw limit.explain(thrown);
    } finally {
      call.cancel();
    }
  }

  /** Sends all requests, then collects all responses of a two-way stream. Throws CriError. */
  async exchange<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    requests: readonly MessageInitShape<I>[],
    settings: CallSettings = {},
  ): Promise<readonly MessageShape<O>[]> {
    using limit = this.#limit(method, settings);
    const call = this.#client.makeBidiStreamRequest(...wire(method), metadataOf(settings));
    limit.onEnd(() => call.cancel());
    call.on("error", () => undefined);
    const responses: MessageShape<O>[] = [];
    try {
      for (const request of requests) call.write(create(method.input, request));
      call.end();
      for await (const response of call as AsyncIterable<MessageShape<O>>) responses.push(response);
      return responses;
    } catch (thrown) {
      throw limit.explain(thrown);
    } finally {
      call.cancel();
    }
  }

  /** Opens a two-way stream of requests that are answered one by one; `timeoutMs` is for each answer. */
  converse<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    settings: CallSettings = {},
  ): Conversation<I, O> {
    const call = this.#client.makeBidiStreamRequest(...wire(method), metadataOf(settings));
    call.on("error", () => undefined);
    const answers = (call as AsyncIterable<MessageShape<O>>)[Symbol.asyncIterator]();
    return {
      ask: async (request) => {
        using limit = this.#limit(method, settings);
        limit.onEnd(() => call.cancel());
        try {
          call.write(create(method.input, request));
          const answer = await answers.next();
          if (answer.done === true) throw new Error("the stream ended without an answer");
          return answer.value;
        } catch (thrown) {
          throw limit.explain(thrown);
        }
      },
      [Symbol.dispose]: () => {
        call.end();
        call.cancel();
      },
    };
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  // The library's own deadline uses the wall clock: a step forward would end every call at once. So the agent's clock
  // cancels the call.
  #limit(method: DescMethod, { signal, timeoutMs }: CallSettings): CallLimit {
    const timer = timeoutMs === undefined ? undefined : deadline(this.#clock, timeoutMs, signal);
    return new CallLimit({ call: method.name, endpoint: this.endpoint, signal, timeoutMs, timer });
  }
}

/** `RunPodSandbox` is `run_podsandbox`. kubelet: the operation types of its metrics */
function operationOf(method: string): string {
  return method
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "_")
    .toLowerCase()
    .replace("pod_sandbox", "podsandbox")
    .replace("update_container_resources", "update_container");
}

interface CallLimitOptions extends CallOptions {
  readonly call: string;
  readonly endpoint: string;
  readonly timer: Deadline | undefined;
}

/** Cancels one call at its deadline or at the caller's abort, and reports which of them it was. */
class CallLimit implements Disposable {
  readonly #options: CallLimitOptions;
  readonly #signal: AbortSignal | undefined;
  #end: (() => void) | undefined;

  constructor(options: CallLimitOptions) {
    this.#options = options;
    this.#signal = options.timer?.signal ?? options.signal;
  }

  onEnd(end: () => void): void {
    this.#end = end;
    if (this.#signal?.aborted === true) end();
    else this.#signal?.addEventListener("abort", end, { once: true });
  }

  explain(thrown: unknown): CriError {
    const { call, endpoint, signal, timer, timeoutMs } = this.#options;
    const error = (code: number, details: string): CriError =>
      new CriError({ call, code, details, cause: thrown });
    if (signal?.aborted === true)
      return error(GrpcCode.CANCELED, "cancelled before the runtime answered");
    if (timer?.signal.aborted === true)
      return error(GrpcCode.DEADLINE_EXCEEDED, `no answer within ${(timeoutMs ?? 0) / 1000} s`);
    if (!isServiceError(thrown)) return error(GrpcCode.INTERNAL, String(thrown));
    const { code, details } = thrown;
    return error(code, code === GrpcCode.UNAVAILABLE ? lost(endpoint, details) : details);
  }

  [Symbol.dispose](): void {
    if (this.#end !== undefined) this.#signal?.removeEventListener("abort", this.#end);
    this.#options.timer?.[Symbol.dispose]();
  }
}

/** What does not exist counts as stopped, or as removed. */
export async function ignoreNotFound(call: Promise<unknown>): Promise<void> {
  await ifFound(call);
}

function isServiceError(thrown: unknown): thrown is ServiceError {
  return thrown instanceof Error && "code" in thrown && "details" in thrown;
}

// Without the library's own phrases, only the system's error.
function lost(endpoint: string, details: string): string {
  const cause = details
    .replace(/^No connection established\. Last error: (?:Error: )?/, "")
    .replace(/\.? *Resolution note: *$/, "");
  return `no connection to ${endpoint}: ${cause}`;
}

/** The path of a method, and how its messages become bytes and are read. */
function wire<I extends DescMessage, O extends DescMessage>(
  method: DescMethod & { readonly input: I; readonly output: O },
): [
  path: string,
  encode: (message: MessageShape<I>) => Buffer,
  decode: (bytes: Uint8Array) => MessageShape<O>,
] {
  return [
    `/${method.parent.typeName}/${method.name}`,
    (message) => viewOf(toBinary(method.input, message)),
    (bytes) => fromBinary(method.output, bytes),
  ];
}

function metadataOf({ headers = {} }: CallSettings): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

/** Without a copy. */
function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
