// The annotations by which a pod's author controls what v1 has no field for, each as a field of its own; those about
// updates are declared in update-annotations.ts.

import { hinted, type Findings, type Message } from "../decode/field-errors.ts";
import { invalidAt } from "../decode/field-reader.ts";
import { formatDuration, parseDuration } from "../resource/duration.ts";
import { DEVICES_ANNOTATION, deviceErrors } from "../resource/devices.ts";
import { fieldOf, judged } from "../schema/codec.ts";
import type { Field, JsonSchema, Type } from "../schema/type.ts";
import { exactText } from "../schema/values.ts";
import { dnsLabelError, dnsSubdomainError, isTooLong } from "../validation/validate-names.ts";
import {
  annotationReader,
  choice,
  FLAG,
  type Annotated,
  type Annotations,
} from "./annotation-reader.ts";
import { UPDATE_FIELDS } from "./update-annotations.ts";
import { mapValues, memberOf, type JsonObject } from "../../lib/json.ts";
import { didYouMean } from "../../lib/suggest.ts";

const MIN_BACKOFF_MS = 1000;
const MAX_BACKOFF_MS = 3_600_000;
/** Keeps the reading short, also where every pod of a long file has as many. */
const MAX_DEPENDENCIES = 20;
const STATES: readonly DependencyState[] = ["Ready", "Running", "Succeeded"];
const DEPENDS_ON = "agent/depends-on";
export const UNKNOWN_FIELDS = "agent/unknown-fields";

/** Milliseconds; outside of the bounds the nearest one. */
const BACKOFF: Type<number> = {
  name: "string",
  read(at) {
    const ms = parseDuration(String(at.value).trim());
    if (ms === undefined || ms < MIN_BACKOFF_MS || ms > MAX_BACKOFF_MS) {
      const [least, most] = [MIN_BACKOFF_MS, MAX_BACKOFF_MS].map(formatDuration);
      invalidAt(at, `must be a duration between ${least} and ${most}, such as "90s" or "5m"`);
    }
    if (ms === undefined) return undefined;
    return Math.round(Math.min(MAX_BACKOFF_MS, Math.max(MIN_BACKOFF_MS, ms)));
  },
  write: formatDuration,
  schema: () => ({ type: "string", pattern: "^\\s*[0-9.][0-9.a-zµμ]*\\s*$" }),
};

const DEVICES = judged(exactText, (text, { findings, path }) => {
  for (const { value, message } of deviceErrors(text)) findings.invalid(path, value, message);
});

/** By the whole name of the annotation. */
const FIELDS = {
  [DEPENDS_ON]: fieldOf(exactText)({
    about:
      'Pods that must have come so far before this one starts, such as "shop/db:Ready". States: Ready, Running, Succeeded.',
  }),
  "agent/backoff-max": fieldOf(BACKOFF)({
    about: "Longest pause between two restarts of a crashing container, 1s to 1h.",
  }),
  [DEVICES_ANNOTATION]: fieldOf(DEVICES)({
    about: 'Devices without privileged, such as "/dev/ttyUSB0, /dev/i2c-1:/dev/i2c-0".',
  }),
  "agent/pull-strict": fieldOf(FLAG)({
    about:
      "true: a registry that cannot be reached keeps the pod waiting, with imagePullPolicy Always.",
  }),
  "agent/restart-on-config-change": fieldOf(FLAG)({
    about: "false: a changed ConfigMap or Secret restarts no container.",
  }),
  [UNKNOWN_FIELDS]: fieldOf(choice(["warn", "refuse"]))({
    about: "warn: an unknown field is a warning, not an error.",
  }),
  ...UPDATE_FIELDS,
};

export const ANNOTATION_SCHEMAS = mapValues<Field, JsonSchema>(FIELDS, (field) => field.schema());

const annotationOf = annotationReader(FIELDS);

/** Everything wrong with our own annotations of a pod as written. */
export function judgeAnnotations(metadata: NamedMetadata, findings: Findings): void {
  const node = { findings, path: ["metadata", "annotations"], value: metadata.annotations };
  readDependencies(metadata, (value, message) =>
    findings.invalid([...node.path, DEPENDS_ON], value, message),
  );
  for (const [key, field] of Object.entries(FIELDS)) field.read(node, key);
}

/** Longest wait in ms between two starts of a crashing container, 1 s to 1 h; undefined = the node's. */
export function backoffMaxMs(pod: Annotated): number | undefined {
  return annotationOf(pod, "agent/backoff-max");
}

/** Whether containers that read a ConfigMap or Secret through env or subPath restart when it changes. */
export function restartsOnConfigChange(pod: Annotated): boolean {
  return annotationOf(pod, "agent/restart-on-config-change") !== "false";
}

/** Whether `imagePullPolicy: Always` means that no image of this node stands in for a registry out of reach. */
export function pullsStrictly(pod: Annotated): boolean {
  return annotationOf(pod, "agent/pull-strict") === "true";
}

/**
 * Whether fields that Kubernetes does not know are errors or warnings in this object. Read before anything of the
 * object is judged; a word that is neither is an error of its own.
 */
export function unknownFieldsOf(written: JsonObject): "refuse" | "warn" {
  const annotations = memberOf(written["metadata"], "annotations");
  return memberOf(annotations, UNKNOWN_FIELDS) === "warn" ? "warn" : "refuse";
}

type DependencyState = "Ready" | "Running" | "Succeeded";

/** Another pod of this node that has to reach a state before the first container starts. */
export interface Dependency {
  readonly namespace: string;
  readonly name: string;
  readonly state: DependencyState;
}

interface NamedMetadata {
  readonly namespace: string;
  readonly name: string;
  readonly annotations: Annotations;
}

/** In the order they are written, each pod once. Invalid entries of an accepted pod are ignored. */
export function dependenciesOf(pod: { readonly metadata: NamedMetadata }): readonly Dependency[] {
  return readDependencies(pod.metadata, () => {});
}

/** `report`: of what is wrong with an entry. */
function readDependencies(
  metadata: NamedMetadata,
  report: (value: string, message: Message) => void,
): readonly Dependency[] {
  const text = metadata.annotations[DEPENDS_ON] ?? "";
  if (text.trim() === "") return [];
  const dependencies = new Map<string, Dependency>();
  const entries = text.split(",").map((entry) => entry.trim());
  if (entries.length > MAX_DEPENDENCIES)
    report(text, `must name at most ${MAX_DEPENDENCIES} pods, not ${entries.length}`);
  for (const value of entries.slice(0, MAX_DEPENDENCIES)) {
    const read = readDependency(value, metadata.namespace);
    if (!("name" in read)) {
      report(value, read.wrong);
      continue;
    }
    const name = `${read.namespace}/${read.name}`;
    const message = misfit(name, { isThere: dependencies.has(name), of: metadata });
    if (message !== undefined) report(value, message);
    else dependencies.set(name, read);
  }
  return [...dependencies.values()];
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
  { isThere, of }: { readonly isThere: boolean; readonly of: NamedMetadata },
): string | undefined {
  if (podName === `${of.namespace}/${of.name}`)
    return "is the pod itself, which would wait for ever; leave it out";
  return isThere ? "names a pod that stands here already; keep one of them" : undefined;
}
