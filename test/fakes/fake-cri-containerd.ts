// containerd's own services as far as the agent uses them: events, content, images, leases.

import { create, toBinary } from "@bufbuild/protobuf";
import type { TaskEvent } from "../../src/containerd/runtime-events.ts";
import {
  TaskCreateSchema,
  TaskDeleteSchema,
  TaskExitSchema,
  TaskOOMSchema,
  TaskStartSchema,
} from "../../src/containerd/gen/containerd/events/task_pb.ts";
import {
  Content,
  WriteAction,
} from "../../src/containerd/gen/containerd/services/content/v1/content_pb.ts";
import { Events } from "../../src/containerd/gen/containerd/services/events/v1/events_pb.ts";
import {
  Images,
  type Image,
} from "../../src/containerd/gen/containerd/services/images/v1/images_pb.ts";
import { Leases } from "../../src/containerd/gen/containerd/services/leases/v1/leases_pb.ts";
import {
  EnvelopeSchema,
  type Envelope,
} from "../../src/containerd/gen/containerd/types/types_pb.ts";
import { CriError } from "../../src/cri/cri-error.ts";
import type { FakeServer, ServedCall } from "./fake-cri-server.ts";
import type { FakeRuntime } from "./fake-runtime.ts";
import { GrpcCode } from "../../src/lib/grpc-code.ts";

export interface StoredBlob {
  readonly data: Uint8Array;
  labels: Record<string, string>;
}

/** What a test sets beforehand and reads afterwards. */
export class FakeContainerdState {
  /** So many published events fall into the gap between a SUBSCRIBE and its taking effect. */
  lostPublishes = 0;
  /** Filters of every subscription so far. */
  readonly filters: string[][] = [];
  readonly blobs = new Map<string, StoredBlob>();
  readonly images = new Map<string, Image>();
  readonly leases = new Set<string>();
  /** Raw envelopes for all streams: what a test wants to add to the model's events. */
  send: (envelope: Envelope) => void = () => undefined;
}

export function addContainerdServices(
  server: FakeServer,
  runtime: FakeRuntime,
  state: FakeContainerdState,
): void {
  addEvents(server, runtime, state);
  addContent(server, state);
  addImages(server, runtime, state);
  server.unary(Leases.method.create, async ({ id }) => {
    if (state.leases.has(id)) throw failure("Create", GrpcCode.ALREADY_EXISTS, "lease exists");
    state.leases.add(id);
    return { lease: { id } };
  });
  server.unary(Leases.method.delete, async ({ id }) => {
    if (!state.leases.delete(id)) throw failure("Delete", GrpcCode.NOT_FOUND, "no such lease");
    return {};
  });
}

function addEvents(server: FakeServer, runtime: FakeRuntime, state: FakeContainerdState): void {
  const sinks = new Set<(envelope: Envelope) => void>();
  state.send = (envelope) => {
    for (const sink of sinks) sink(envelope);
  };
  server.stream(Events.method.subscribe, ({ filters }, call) => {
    state.filters.push(filters);
    return envelopes(runtime, sinks, call);
  });
  server.unary(Events.method.publish, async ({ topic, event }, call) => {
    const namespace = namespaceOf(call);
    if (state.lostPublishes > 0) {
      state.lostPublishes -= 1;
      return {};
    }
    state.send(
      create(
        EnvelopeSchema,
        event === undefined ? { topic, namespace } : { topic, namespace, event },
      ),
    );
    return {};
  });
}

async function* envelopes(
  runtime: FakeRuntime,
  sinks: Set<(envelope: Envelope) => void>,
  call: ServedCall,
): AsyncGenerator<Envelope, void, undefined> {
  const queue: Envelope[] = [];
  let wake: () => void = () => undefined;
  let failed: { readonly thrown: unknown } | undefined;
  let ended = false;
  const sink = (envelope: Envelope): void => {
    queue.push(envelope);
    wake();
  };
  sinks.add(sink);
  const pump = async (): Promise<void> => {
    for await (const event of runtime.events.subscribe(call.signal))
      if (event.type !== "Subscribed") sink(envelopeOf(event));
  };
  pump()
    .catch((thrown: unknown) => (failed = { thrown }))
    .finally(() => {
      ended = true;
      wake();
    });
  try {
    for (;;) {
      const next = queue.shift();
      if (next !== undefined) yield next;
      else if (failed !== undefined) throw failed.thrown;
      else if (ended) return;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    sinks.delete(sink);
  }
}

function envelopeOf(event: TaskEvent): Envelope {
  const containerId = event.id;
  switch (event.type) {
    case "Created":
      return taskEnvelope("create", TaskCreateSchema, containerId);
    case "Started":
      return taskEnvelope("start", TaskStartSchema, containerId);
    case "Exited":
      return taskEnvelope("exit", TaskExitSchema, containerId, containerId);
    case "Deleted":
      return taskEnvelope("delete", TaskDeleteSchema, containerId);
    case "OOM":
      return taskEnvelope("oom", TaskOOMSchema, containerId);
  }
}

type TaskSchema =
  | typeof TaskCreateSchema
  | typeof TaskStartSchema
  | typeof TaskExitSchema
  | typeof TaskDeleteSchema
  | typeof TaskOOMSchema;

/** A `/tasks/…` event as containerd sends it; `id` is the process, for exits and deletions. */
export function taskEnvelope(
  topic: string,
  schema: TaskSchema,
  containerId: string,
  id?: string,
): Envelope {
  const message = create(
    schema as typeof TaskExitSchema,
    id === undefined ? { containerId } : { containerId, id },
  );
  return create(EnvelopeSchema, {
    namespace: "k8s.io",
    topic: `/tasks/${topic}`,
    event: { typeUrl: schema.typeName, value: toBinary(schema as typeof TaskExitSchema, message) },
  });
}

function addContent(server: FakeServer, state: FakeContainerdState): void {
  const writing = new Map<string, Uint8Array>();
  server.duplex(Content.method.write, (request, call) => {
    leaseOf(call, state);
    const { action, ref, expected, offset, data, labels, total } = request;
    if (state.blobs.has(expected))
      throw failure("Write", GrpcCode.ALREADY_EXISTS, `content ${expected} already exists`);
    const before = offset === 0n ? new Uint8Array() : (writing.get(ref) ?? new Uint8Array());
    if (offset !== BigInt(before.length))
      throw failure("Write", GrpcCode.OUT_OF_RANGE, `offset ${offset} of ${before.length}`);
    const all = Buffer.concat([before, data]);
    writing.set(ref, all);
    if (action !== WriteAction.COMMIT) return { action, offset: BigInt(all.length) };
    const digest = `sha256:${new Bun.CryptoHasher("sha256").update(all).digest("hex")}`;
    if (digest !== expected || total !== BigInt(all.length))
      throw failure("Write", GrpcCode.FAILED_PRECONDITION, `unexpected commit digest ${digest}`);
    state.blobs.set(digest, { data: all, labels });
    writing.delete(ref);
    return { action, digest, offset: total, total };
  });
  server.unary(Content.method.update, async ({ info }) => {
    const blob = state.blobs.get(info?.digest ?? "");
    if (blob === undefined) throw failure("Update", GrpcCode.NOT_FOUND, "no such content");
    blob.labels = { ...blob.labels, ...info?.labels };
    return {};
  });
}

function addImages(server: FakeServer, runtime: FakeRuntime, state: FakeContainerdState): void {
  const put = (image: Image | undefined, call: ServedCall): Image => {
    leaseOf(call, state);
    if (!state.blobs.has(image?.target?.digest ?? ""))
      throw failure("Create", GrpcCode.NOT_FOUND, "no such content");
    state.images.set(image!.name, image!);
    if (image!.labels["io.cri-containerd.image"] === "managed") runtime.addImage(image!.name);
    return image!;
  };
  server.unary(Images.method.create, async ({ image }, call) => {
    if (state.images.has(image?.name ?? ""))
      throw failure("Create", GrpcCode.ALREADY_EXISTS, `image ${image?.name} already exists`);
    return { image: put(image, call) };
  });
  server.unary(Images.method.update, async ({ image }, call) => ({ image: put(image, call) }));
}

function namespaceOf({ metadata }: ServedCall): string {
  const namespace = metadata.get("containerd-namespace")[0];
  if (typeof namespace === "string") return namespace;
  throw failure("", GrpcCode.FAILED_PRECONDITION, "namespace is required");
}

function leaseOf(call: ServedCall, state: FakeContainerdState): void {
  namespaceOf(call);
  const lease = call.metadata.get("containerd-lease")[0];
  if (typeof lease !== "string" || !state.leases.has(lease))
    throw failure("", GrpcCode.NOT_FOUND, `lease ${String(lease)}: not found`);
}

function failure(call: string, code: number, details: string): CriError {
  return new CriError({ call, code, details });
}
