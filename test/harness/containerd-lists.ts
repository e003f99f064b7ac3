// containerd's lists of containers and tasks in the namespace of CRI, by its own API: a process of `ctr` for each look, and for
// each container, took half of the processor time of the tests.

import { BinaryReader } from "@bufbuild/protobuf/wire";

import type { PrivateContainerd } from "./private-containerd.ts";
import { rawCall } from "./raw-grpc.ts";

const NAMESPACE = { "containerd-namespace": "k8s.io" };
const BYTES = 2;
const STATUS = ["UNKNOWN", "CREATED", "RUNNING", "STOPPED", "PAUSED", "PAUSING"];

export interface ContainerFacts {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly image: string;
}

export interface TaskFacts {
  readonly id: string;
  readonly pid: number;
  /** containerd's word: RUNNING, STOPPED, CREATED, … */
  readonly status: string;
}

type Socket = Pick<PrivateContainerd, "socket">;

/** Tasks; sandboxes have one each. */
export async function listTasks({ socket }: Socket): Promise<readonly TaskFacts[]> {
  const method = "/containerd.services.tasks.v1.Tasks/List";
  const answer = await rawCall(socket, method, { metadata: NAMESPACE });
  // containerd.v1.types.Process: id = 2, pid = 3, status = 4.
  return items(answer).map((item) => {
    const { texts, numbers } = fieldsOf(item);
    const status = STATUS[numbers.get(4) ?? 0] ?? "UNKNOWN";
    return { id: texts.get(2)?.[0]?.toString() ?? "", pid: numbers.get(3) ?? 0, status };
  });
}

/** Containers with their labels, sandboxes among them (`io.cri-containerd.kind: sandbox`). */
export async function listContainers({ socket }: Socket): Promise<readonly ContainerFacts[]> {
  const method = "/containerd.services.containers.v1.Containers/List";
  const answer = await rawCall(socket, method, { metadata: NAMESPACE });
  // containerd.services.containers.v1.Container: id = 1, labels = 2, image = 3.
  return items(answer).map((item) => {
    const { texts } = fieldsOf(item);
    const labels = (texts.get(2) ?? []).map((entry) => {
      const { texts: pair } = fieldsOf(entry);
      return [pair.get(1)?.[0]?.toString() ?? "", pair.get(2)?.[0]?.toString() ?? ""] as const;
    });
    const [id = "", image = ""] = [1, 3].map((field) => texts.get(field)?.[0]?.toString());
    return { id, labels: Object.fromEntries(labels), image };
  });
}

/** Both answers hold their items in field 1. */
function items(answer: Uint8Array): readonly Buffer[] {
  return fieldsOf(answer).texts.get(1) ?? [];
}

interface Fields {
  /** Texts, maps and messages, in their order. */
  readonly texts: ReadonlyMap<number, readonly Buffer[]>;
  readonly numbers: ReadonlyMap<number, number>;
}

function fieldsOf(message: Uint8Array): Fields {
  const texts = new Map<number, Buffer[]>();
  const numbers = new Map<number, number>();
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (Number(type) === BYTES)
      texts.set(field, [...(texts.get(field) ?? []), Buffer.from(reader.bytes())]);
    else if (Number(type) === 0) numbers.set(field, Number(reader.uint64()));
    else reader.skip(type);
  }
  return { texts, numbers };
}
