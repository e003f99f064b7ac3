// What the local API answers, as far as the doors read it; whatever else it says is passed on untouched.

import type { Rejection } from "../api/desired-pod.ts";
import type { ContainerStatus, NodeStatus, PodStatus } from "../api/pod-status.ts";

export interface ObjectView {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
  };
}

export interface PodView extends ObjectView {
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly { readonly name: string }[];
    readonly initContainers?: readonly {
      readonly name: string;
      readonly restartPolicy?: string;
    }[];
  };
  readonly status: Partial<PodStatus> & {
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface NodeView extends ObjectView {
  readonly status: Partial<NodeStatus>;
}

type Mapping = Readonly<Record<string, unknown>>;

function isMapping(value: unknown): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isNamed(value: unknown): value is Mapping {
  return (
    isMapping(value) &&
    isMapping(value["metadata"]) &&
    typeof value["metadata"]["name"] === "string"
  );
}

function isPod(value: unknown): value is PodView {
  return (
    isNamed(value) &&
    isMapping(value["spec"]) &&
    Array.isArray(value["spec"]["containers"]) &&
    isMapping(value["status"])
  );
}

export function isPodList(value: unknown): value is { readonly items: readonly PodView[] } {
  return isMapping(value) && Array.isArray(value["items"]) && value["items"].every(isPod);
}

export function isNode(value: unknown): value is NodeView {
  return isNamed(value) && isMapping(value["status"]);
}

export function isRejections(value: unknown): value is readonly Rejection[] {
  return (
    Array.isArray(value) &&
    value.every(
      (item) =>
        isMapping(item) &&
        ["source", "ref", "code", "path", "message"].every((key) => typeof item[key] === "string"),
    )
  );
}

export function isVersion(value: unknown): value is { readonly version: string } {
  return isMapping(value) && typeof value["version"] === "string";
}
