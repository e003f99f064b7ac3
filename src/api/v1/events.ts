// What happened, in Kubernetes' words: said by the rooms, remembered by status/events, sent upstream.

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

/** An event with how often and when it was said. */
export interface RecordedEvent extends NewEvent {
  /** Unique in this process; a repetition keeps it. */
  readonly id: number;
  /** How often the same was said. */
  readonly count: number;
  /** Wall ms; for showing only. */
  readonly first: number;
  readonly last: number;
}

/** Never throws, never waits. */
export type RecordEvent = (event: NewEvent) => void;

/** An event before it is said of what. */
export type Said = Pick<NewEvent, "type" | "reason" | "message">;

/** An event about one container of a pod. */
export function containerEvent({ metadata, spec }: Pod, container: string, said: Said): NewEvent {
  const isInit = spec.initContainers.some(({ name }) => name === container);
  const fieldPath = `spec.${isInit ? "initContainers" : "containers"}{${container}}`;
  return podEvent(metadata, { ...said, fieldPath });
}

/** An event about a pod, or about one container of it. */
export function podEvent(
  pod: { readonly namespace: string; readonly name: string; readonly uid: string },
  said: Said & { readonly fieldPath?: string },
): NewEvent {
  const { namespace, name, uid } = pod;
  const { fieldPath, ...event } = said;
  const object = { kind: "Pod", namespace, name, uid };
  return { ...event, object: fieldPath === undefined ? object : { ...object, fieldPath } };
}
