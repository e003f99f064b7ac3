// The annotations by which a pod's author controls what v1 has no field for.

import { formatDuration, parseDuration } from "../resource/duration.ts";
import { DEVICES_ANNOTATION, deviceErrors } from "../resource/devices.ts";
import type { ObjectMeta, Pod } from "../v1/pod.ts";
import { hinted, type Message, type AnnotationError } from "../decode/field-errors.ts";
import { didYouMean } from "../../lib/suggest.ts";
import { updateAnnotationErrors } from "./update-annotations.ts";
import { dnsLabelError, dnsSubdomainError, isTooLong } from "../validation/validate-names.ts";
import { type JsonObject, isJsonObject } from "../../lib/json.ts";

const BACKOFF_MAX = "agent/backoff-max";
const DEPENDS_ON = "agent/depends-on";
const PULL_STRICT = "agent/pull-strict";
const RESTART_ON_CONFIG_CHANGE = "agent/restart-on-config-change";
export const UNKNOWN_FIELDS = "agent/unknown-fields";
const MIN_BACKOFF_MS = 1000;
const MAX_BACKOFF_MS = 3_600_000;
/** Keeps the reading short, also where every pod of a long file has as many. */
const MAX_DEPENDENCIES = 20;
const STATES: readonly DependencyState[] = ["Ready", "Running", "Succeeded"];

type DependencyState = "Ready" | "Running" | "Succeeded";

/** Another pod of this node that has to reach a state before the first container starts. */
export interface Dependency {
  readonly namespace: string;
  readonly name: string;
  readonly state: DependencyState;
}

type Annotated = Pick<ObjectMeta, "namespace" | "name" | "annotations">;

/** Longest wait in ms between two starts of a crashing container, 1 s to 1 h; undefined = the node's. */
export function backoffMaxMs(pod: Pod): number | undefined {
  const text = pod.metadata.annotations[BACKOFF_MAX];
  const ms = text === undefined ? undefined : parseDuration(text.trim());
  if (ms === undefined) return undefined;
  return Math.round(Math.min(MAX_BACKOFF_MS, Math.max(MIN_BACKOFF_MS, ms)));
}

/** Whether containers that read a ConfigMap or Secret through env or subPath restart when it changes. */
export function restartsOnConfigChange(pod: Pod): boolean {
  return pod.metadata.annotations[RESTART_ON_CONFIG_CHANGE] !== "false";
}

/** Whether `imagePullPolicy: Always` means that no image of this node stands in for a registry out of reach. */
export function pullsStrictly(pod: Pod): boolean {
  return pod.metadata.annotations[PULL_STRICT] === "true";
}

/** In the order they are written, each pod once. Invalid entries of an accepted pod are ignored. */
export function dependenciesOf(pod: Pod): readonly Dependency[] {
  return readDependencies(pod.metadata).dependencies;
}

/**
 * Whether fields that Kubernetes does not know are errors or warnings in this object. Read before anything of the
 * object is judged; a word that is neither is an error of its own.
 */
export function unknownFieldsOf(written: JsonObject): "refuse" | "warn" {
  const metadata = written["metadata"];
  const annotations = isJsonObject(metadata) ? metadata["annotations"] : undefined;
  return isJsonObject(annotations) && annotations[UNKNOWN_FIELDS] === "warn" ? "warn" : "refuse";
}

/** Everything wrong with our own annotations of a pod as written. */
export function annotationErrors(metadata: Annotated): readonly AnnotationError[] {
  return [
    ...readDependencies(metadata).errors,
    ...backoffErrors(metadata.annotations[BACKOFF_MAX]),
    ...CHOICES.flatMap((choice) => choiceErrors(metadata, choice)),
    ...updateAnnotationErrors(metadata.annotations),
    ...deviceErrors(metadata.annotations[DEVICES_ANNOTATION] ?? "").map((error) => ({
      key: DEVICES_ANNOTATION,
      ...error,
    })),
  ];
}

function backoffErrors(text: string | undefined): readonly AnnotationError[] {
  if (text === undefined) return [];
  const ms = parseDuration(text.trim());
  if (ms !== undefined && ms >= MIN_BACKOFF_MS && ms <= MAX_BACKOFF_MS) return [];
  const [least, most] = [MIN_BACKOFF_MS, MAX_BACKOFF_MS].map(formatDuration);
  const message = `must be a duration between ${least} and ${most}, such as "90s" or "5m"`;
  return [{ key: BACKOFF_MAX, value: text, message }];
}

interface Choice {
  readonly key: string;
  readonly words: readonly [string, string];
  readonly note?: string;
}

const CHOICES: readonly Choice[] = [
  { key: UNKNOWN_FIELDS, words: ["warn", "refuse"], note: " (the default)" },
  { key: RESTART_ON_CONFIG_CHANGE, words: ["true", "false"] },
  { key: PULL_STRICT, words: ["true", "false"] },
];

function choiceErrors(
  { annotations }: Annotated,
  { key, words, note = "" }: Choice,
): readonly AnnotationError[] {
  const value = annotations[key];
  if (value === undefined || words.includes(value)) return [];
  return [{ key, value, message: `must be "${words[0]}" or "${words[1]}"${note}` }];
}

interface ReadDependencies {
  readonly dependencies: readonly Dependency[];
  readonly errors: readonly AnnotationError[];
}

function readDependencies(metadata: Annotated): ReadDependencies {
  const text = metadata.annotations[DEPENDS_ON] ?? "";
  if (text.trim() === "") return { dependencies: [], errors: [] };
  const dependencies = new Map<string, Dependency>();
  const errors: AnnotationError[] = [];
  const entries = text.split(",").map((entry) => entry.trim());
  if (entries.length > MAX_DEPENDENCIES) {
    const message = `must name at most ${MAX_DEPENDENCIES} pods, not ${entries.length}`;
    errors.push({ key: DEPENDS_ON, value: text, message });
  }
  for (const value of entries.slice(0, MAX_DEPENDENCIES)) {
    const read = readDependency(value, metadata.namespace);
    if (!("name" in read)) {
      errors.push({ key: DEPENDS_ON, value, message: read.wrong });
      continue;
    }
    const name = `${read.namespace}/${read.name}`;
    const message = misfit(name, { isThere: dependencies.has(name), of: metadata });
    if (message !== undefined) errors.push({ key: DEPENDS_ON, value, message });
    else dependencies.set(name, read);
  }
  return { dependencies: [...dependencies.values()], errors };
}

/** One entry, or what is wrong with it. */
function readDependency(
  written: string,
  ownNamespace: string,
): Dependency | { readonly wrong: Message } {
  const [place = "", state = "Ready", ...more] = written.split(":", 3).map((part) => part.trim());
  const [name = "", namespace = ownNamespace, ...deeper] = place.split("/", 3).toReversed();
  if (!isPodName(name) || !isNamespace(namespace) || more.length > 0 || deeper.length > 0)
    return { wrong: "must name a pod, as namespace/pod:Ready; several with commas between them" };
  const known = STATES.find((word) => word === state);
  if (known !== undefined) return { namespace, name, state: known };
  const message = "must wait for Ready, Running or Succeeded";
  return { wrong: hinted(message, () => didYouMean(state, STATES)) };
}

function isPodName(name: string): boolean {
  return name !== "" && dnsSubdomainError(name) === undefined && !isTooLong(name);
}

function isNamespace(namespace: string): boolean {
  return namespace !== "" && dnsLabelError(namespace) === undefined;
}

/** What is wrong with a dependency that is well written. */
function misfit(
  podName: string,
  { isThere, of }: { readonly isThere: boolean; readonly of: Annotated },
): string | undefined {
  if (podName === `${of.namespace}/${of.name}`)
    return "is the pod itself, which would wait for ever; leave it out";
  return isThere ? "names a pod that stands here already; keep one of them" : undefined;
}
