// Decodes the envelopes of containerd's event stream.

import { fromBinary } from "@bufbuild/protobuf";
import {
  TaskCreateSchema,
  TaskDeleteSchema,
  TaskExitSchema,
  TaskOOMSchema,
  TaskStartSchema,
  type TaskExit,
} from "./gen/containerd/events/task_pb.ts";
import type { Envelope } from "./gen/containerd/types/types_pb.ts";
import type { TaskEvent, TaskEventType } from "./runtime-events.ts";

/** undefined for topics that do not concern a container, and for processes exec'ed into one. */
export function taskEvent(envelope: Pick<Envelope, "topic" | "event">): TaskEvent | undefined {
  const payload = envelope.event?.value ?? new Uint8Array();
  switch (envelope.topic) {
    case "/tasks/create":
      return ofContainer("Created", fromBinary(TaskCreateSchema, payload));
    case "/tasks/start":
      return ofContainer("Started", fromBinary(TaskStartSchema, payload));
    case "/tasks/exit":
      return exited(fromBinary(TaskExitSchema, payload));
    case "/tasks/delete":
      return ofContainer("Deleted", fromBinary(TaskDeleteSchema, payload));
    case "/tasks/oom":
      return ofContainer("OOM", fromBinary(TaskOOMSchema, payload));
  }
  return undefined;
}

function exited(exit: TaskExit): TaskEvent | undefined {
  const event = ofContainer("Exited", exit);
  if (event === undefined || exit.exitedAt === undefined) return event;
  const { seconds, nanos } = exit.exitedAt;
  const at = Number(seconds) * 1_000 + Math.floor(nanos / 1_000_000);
  return { ...event, exit: { code: exit.exitStatus, at } };
}

interface Subject {
  readonly containerId: string;
  /** The process: the container's own id, the id of an exec, or empty. */
  readonly id?: string;
}

function ofContainer(type: TaskEventType, subject: Subject): TaskEvent | undefined {
  const { containerId, id = "" } = subject;
  if (id !== "" && id !== containerId) return undefined;
  return { type, id: containerId };
}
