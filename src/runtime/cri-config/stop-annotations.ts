// Annotations with what stopping a container takes, for a stop without its spec. Read leniently: the runtime's database
// may have been written by another version or edited.

import { ANNOTATION } from "../../api/pod/labels.ts";
import type { ContainerRole, ObservedContainer } from "../../api/pod/observed-pod.ts";
import { isSidecar } from "../../api/v1/pod.ts";
import { isJsonObject, parseJson, withoutUndefined } from "../../lib/json.ts";
import type { PodSpec } from "../../api/v1/pod-spec.ts";
import { CONTAINER_PORT } from "../../api/v1/container-ports.ts";
import { listOf } from "../../api/schema/codec.ts";
import { readStored } from "../../api/schema/read-value.ts";
import { untagged } from "../../api/schema/union.ts";
import type { Container } from "../../api/v1/container.ts";
import { LIFECYCLE_HANDLER, type LifecycleHandler } from "../../api/v1/lifecycle.ts";

/** The container's role in its pod; undefined = not in the spec. */
export function roleInSpec(spec: PodSpec, name: string): ContainerRole | undefined {
  if (spec.containers.some((container) => container.name === name)) return { type: "App" };
  const sidecars = spec.initContainers.filter((container) => isSidecar(spec, container));
  const position = sidecars.findIndex((container) => container.name === name) + 1;
  if (position > 0) return { type: "Sidecar", position };
  return spec.initContainers.some((container) => container.name === name)
    ? { type: "Init" }
    : undefined;
}

export function stopAnnotations(spec: PodSpec, container: Container): Record<string, string> {
  const { ports, lifecycle } = container;
  const role = roleText(roleInSpec(spec, container.name));
  return {
    ...(role === undefined ? {} : { [ANNOTATION.containerRole]: role }),
    ...(ports.length === 0 ? {} : { [ANNOTATION.ports]: JSON.stringify(ports) }),
    ...(lifecycle.preStop === undefined
      ? {}
      : { [ANNOTATION.preStopHandler]: JSON.stringify(lifecycle.preStop) }),
  };
}

/** Missing or unreadable annotations are absent. Never throws. */
export function stopFactsOf(
  annotations: Readonly<Record<string, string>>,
): Pick<ObservedContainer, "role" | "preStop" | "ports"> {
  const role = readRole(annotations[ANNOTATION.containerRole]);
  const preStop = readHandler(parseJson(annotations[ANNOTATION.preStopHandler] ?? ""));
  // All or nothing: a partial list could resolve a name to another port.
  const ports = readStored(listOf(CONTAINER_PORT), parseJson(annotations[ANNOTATION.ports] ?? ""));
  return withoutUndefined({ role, preStop, ports });
}

function roleText(role: ContainerRole | undefined): string | undefined {
  switch (role?.type) {
    case undefined:
    case "App":
      return undefined;
    case "Init":
      return "init";
    case "Sidecar":
      return `sidecar/${role.position}`;
  }
}

function readRole(text = ""): ContainerRole | undefined {
  if (text === "init") return { type: "Init" };
  const position = /^sidecar\/([1-9][0-9]{0,5})$/.exec(text)?.[1];
  return position === undefined ? undefined : { type: "Sidecar", position: Number(position) };
}

function readHandler(value: unknown): LifecycleHandler | undefined {
  if (!isJsonObject(value)) return undefined;
  const { type, ...action } = value;
  const handler = readStored(LIFECYCLE_HANDLER, untagged({ type: String(type), ...action }));
  // The grace period, which bounds a sleep, is not part of the annotation.
  return handler?.type === "sleep" && handler.seconds < 0 ? undefined : handler;
}
