// Kubernetes events: recorded by every room, kept by status/events, sent upstream.

import type { Pod } from "./pod.ts";

export type EventType = "Normal" | "Warning";

export interface EventObject {
  /** `Pod` or `Node`. */
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** Of a pod: two lives under one name are two objects. */
  readonly uid?: string;
  /** `spec.containers{web}`, as the kubelet names the container an event is about. */
  readonly fieldPath?: string;
}

export interface NewEvent {
  readonly type: EventType;
  /** Kubernetes' word: `Pulled`, `BackOff`, `FailedMount`, … */
  readonly reason: string;
  readonly object: EventObject;
  readonly message: string;
}

/** An event with how often and when it was recorded. */
export interface RecordedEvent extends NewEvent {
  /** Unique in this process; a repetition keeps it. */
  readonly id: number;
  /** How often the same event was recorded. */
  readonly count: number;
  /** Wall-clock milliseconds, for display only. */
  readonly first: number;
  readonly last: number;
}

/** Never throws, never waits. */
export type RecordEvent = (event: NewEvent) => void;

/** An event without the object that it is about. */
export type EventContent = Pick<NewEvent, "type" | "reason" | "message">;

export function normal(reason: string, message: string): EventContent {
  return { type: "Normal", reason, message };
}

export function warning(reason: string, message: string): EventContent {
  return { type: "Warning", reason, message };
}

/** An event about one container of a pod. */
export function containerEvent(
  { metadata, spec }: Pod,
  container: string,
  content: EventContent,
): NewEvent {
  const isInit = spec.initContainers.some(({ name }) => name === container);
  const fieldPath = `spec.${isInit ? "initContainers" : "containers"}{${container}}`;
  return podEvent(metadata, { ...content, fieldPath });
}

/** An event about a pod, or about one container of it. */
export function podEvent(
  pod: { readonly namespace: string; readonly name: string; readonly uid: string },
  content: EventContent & { readonly fieldPath?: string },
): NewEvent {
  const { namespace, name, uid } = pod;
  const { fieldPath, ...event } = content;
  const object = { kind: "Pod", namespace, name, uid };
  return { ...event, object: fieldPath === undefined ? object : { ...object, fieldPath } };
}
