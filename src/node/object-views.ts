// What commands show of the node: the local API's own views, without the values of environments and Secrets (MQTT.md §5).

import type { LocalObject } from "../api/v1/local-object.ts";
import { type Container, type Pod, allContainers } from "../api/v1/pod.ts";
import type { ContainerState, ContainerStatus, PodStatus } from "../api/v1/pod-status.ts";
import type { PodEntry } from "./pod-list.ts";

const HIDDEN = "<hidden>";
/** A shorter value stands in too many texts that have nothing to do with it. */
const SHORTEST_SECRET = 6;
/** kubectl writes the whole object into it, values and all. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** The same pod without what its containers got as environment, and without their last words. */
export function withoutValues(entry: PodEntry): PodEntry {
  return { ...entry, pod: podWithoutValues(entry.pod), status: quiet(entry.status) };
}

function podWithoutValues(pod: Pod): Pod {
  const { metadata, spec } = pod;
  const { [LAST_APPLIED]: _, ...annotations } = metadata.annotations;
  return {
    ...pod,
    metadata: { ...metadata, annotations },
    spec: {
      ...spec,
      initContainers: spec.initContainers.map(withoutEnv),
      containers: spec.containers.map(withoutEnv),
    },
  };
}

function withoutEnv(container: Container): Container {
  const env = container.env.map((variable) =>
    "valueFrom" in variable ? variable : { ...variable, value: HIDDEN },
  );
  return { ...container, env };
}

/** A termination message is whatever the container wrote, be it the Secret it could not use. */
function quiet(status: PodStatus): PodStatus {
  return {
    ...status,
    initContainerStatuses: status.initContainerStatuses.map(quietContainer),
    containerStatuses: status.containerStatuses.map(quietContainer),
  };
}

function quietContainer(status: ContainerStatus): ContainerStatus {
  return { ...status, state: quietState(status.state), lastState: quietState(status.lastState) };
}

function quietState(state: ContainerState): ContainerState {
  const { terminated } = state;
  if (terminated?.message === undefined) return state;
  const bytes = new TextEncoder().encode(terminated.message).length;
  return { ...state, terminated: { ...terminated, message: `<hidden: ${bytes} bytes>` } };
}

/** Texts that must not stand in any answer. */
export function secretTexts(
  objects: readonly LocalObject[],
  pods: readonly Pod[],
): ReadonlySet<string> {
  const ofSecrets = objects.flatMap((object) =>
    object.kind === "Secret" ? Object.values(object.data).flatMap(textsOf) : [],
  );
  const ofEnv = pods.flatMap(({ spec }) =>
    allContainers(spec).flatMap(({ env }) =>
      env.flatMap((variable) => ("value" in variable ? [variable.value] : [])),
    ),
  );
  // A name of a pod or an image may well be in an environment too: only what looks like no word is hidden everywhere.
  const odd = ofEnv.filter(
    (value) => value.length >= 16 && /\d/.test(value) && /[A-Za-z]/.test(value),
  );
  return new Set([...ofSecrets, ...odd].filter((text) => text.length >= SHORTEST_SECRET));
}

/** As it is, and as a program may print it. */
function textsOf(bytes: Uint8Array): readonly string[] {
  const text = new TextDecoder().decode(bytes);
  return [text, text.trim(), bytes.toBase64()];
}

/** The same value, with those texts hidden wherever they stand. */
export function scrubbed(value: unknown, secrets: ReadonlySet<string>): unknown {
  if (secrets.size === 0) return value;
  // The longest first: one may be the beginning of another.
  const all = [...secrets].toSorted((a, b) => b.length - a.length);
  return scrub(value, all);
}

function scrub(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === "string")
    return secrets.reduce((text, secret) => text.replaceAll(secret, HIDDEN), value);
  if (Array.isArray(value)) return value.map((item) => scrub(item, secrets));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, scrub(member, secrets)]),
  );
}
