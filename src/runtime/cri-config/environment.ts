// The environment of a container: envFrom first, then env in order.
// kubelet: makeEnvironmentVariables, without the variables of Services

import {
  podField,
  containerResource,
  type DownwardFacts,
  type NodeAllocatable,
} from "../../api/pod/downward.ts";
import type { LocalObjects } from "../../api/v1/object/local-object.ts";
import { warning, type EventContent } from "../../api/v1/events.ts";
import type { EnvFrom, EnvVar } from "../../api/v1/environment.ts";
import type { KeySelector } from "../../api/v1/key-and-field-refs.ts";
import { configError } from "../../lib/errors.ts";
import type { EnvFiles } from "./env-file.ts";
import { ExpandedTotal, expandValue, sizeOf, type EnvValue } from "./expansion.ts";
import type { Pod } from "../../api/v1/pod.ts";
import type { Container } from "../../api/v1/container.ts";

export interface EnvironmentFacts {
  readonly objects: LocalObjects;
  readonly downward: DownwardFacts;
  /** For a container without a limit of its own. */
  readonly node: NodeAllocatable;
  /** The files that its variables refer to. */
  readonly files: Pick<EnvFiles, "value">;
}

export interface EnvEntry {
  readonly name: string;
  readonly value: EnvValue;
}

export interface Environment {
  /** Each name once: at the position of its first definition, with the value of the last. */
  readonly env: readonly EnvEntry[];
  /** Report the keys that were skipped. */
  readonly events: readonly EventContent[];
}

/**
 * Throws AgentError `CreateContainerConfigError` for a missing reference that is not optional, an impossible value, or more
 * than 1 MiB in total.
 */
export function resolveEnvironment(
  pod: Pod,
  container: Container,
  facts: EnvironmentFacts,
): Environment {
  const values = new Values();
  const events: EventContent[] = [];
  for (const from of container.envFrom) {
    const invalid = addObject(values, from, variablesOf(pod, from, facts.objects));
    if (invalid.length > 0) events.push(skipped(pod, from, invalid));
  }
  for (const variable of container.env) {
    const value = valueOf(variable, { pod, container, facts, values });
    // An optional key that does not exist keeps an earlier definition.
    if (value !== undefined) values.set(variable.name, value);
  }
  const env = [...values].map(([name, value]) => ({ name, value }));
  const impossible = env.find(({ value }) => holdsNul(value));
  // The runtime would refuse it too, but show the value, which may be secret, in its error.
  if (impossible !== undefined)
    throw configError(`the value of environment variable ${impossible.name} contains a NUL byte`);
  return { env, events };
}

/** The values by name, for `$(NAME)` in commands, arguments and paths. */
export function valuesOf(env: readonly EnvEntry[]): ReadonlyMap<string, EnvValue> {
  return new Map(env.map(({ name, value }) => [name, value]));
}

/** Every printable character but "=". k8s: IsRelaxedEnvVarName */
const NAME = /^[ -<>-~]+$/;

type Data = Readonly<Record<string, EnvValue>>;

const KIND = { configMap: "ConfigMap", secret: "Secret" } as const;

/** undefined = does not exist, and is optional. */
function variablesOf(
  { metadata: { namespace } }: Pod,
  { type, name, optional }: Omit<EnvFrom, "prefix">,
  objects: LocalObjects,
): Data | undefined {
  // Binary data of a ConfigMap is for files only.
  const data: Data | undefined = objects[type](namespace, name)?.data;
  if (data !== undefined || optional) return data;
  // Worded like the API server's error.
  const where = `no manifest or desired document that this pod may use has ${KIND[type]} ${namespace}/${name}`;
  throw configError(`${type.toLowerCase()} "${name}" not found: ${where}`);
}

/** Adds the object's entries; returns the names that cannot be variables, sorted. */
function addObject(
  values: Map<string, EnvValue>,
  { prefix }: EnvFrom,
  data: Data = {},
): readonly string[] {
  const names = Object.keys(data).map((key) => `${prefix}${key}`);
  for (const [key, value] of Object.entries(data)) {
    const name = `${prefix}${key}`;
    if (NAME.test(name)) values.set(name, textOf(value));
  }
  return names.filter((name) => !NAME.test(name)).toSorted();
}

function skipped(
  { metadata }: Pod,
  { type, name }: EnvFrom,
  invalid: readonly string[],
): EventContent {
  const object = `EnvFrom ${type} ${metadata.namespace}/${name}`;
  const message = `Keys [${invalid.join(", ")}] from the ${object} were skipped since they are considered invalid environment variable names.`;
  return warning("InvalidEnvironmentVariableNames", message);
}

/** The variables so far. */
class Values extends Map<string, EnvValue> {
  readonly #total = new ExpandedTotal("the environment of the container");

  override set(name: string, value: EnvValue): this {
    const before = this.get(name);
    this.#total.add(sizeOf(value) - (before === undefined ? -sizeOf(name) : sizeOf(before)));
    return super.set(name, value);
  }
}

interface ValueContext {
  readonly pod: Pod;
  readonly container: Container;
  readonly facts: EnvironmentFacts;
  /** The variables defined before this one. */
  readonly values: ReadonlyMap<string, EnvValue>;
}

/** undefined = an optional key that does not exist. */
function valueOf(
  variable: EnvVar,
  { pod, container, facts, values }: ValueContext,
): EnvValue | undefined {
  if ("value" in variable) {
    return expandValue(variable.value, values, `environment variable ${variable.name}`);
  }
  const source = variable.valueFrom;
  switch (source.type) {
    case "fieldRef": {
      const { fieldPath } = source;
      const value = podField(pod, fieldPath, facts.downward);
      if (value === undefined) throw configError(`unsupported fieldPath: ${fieldPath}`);
      return value;
    }
    case "resourceFieldRef": {
      const asked = { container: container.name, node: facts.node };
      const value = containerResource(pod, source, asked);
      if (value !== undefined) return value;
      const { containerName = container.name, resource } = source;
      throw configError(`container ${containerName} has no resource ${resource}`);
    }
    case "configMapKeyRef":
      return keyValue(pod, { ...source, type: "configMap" }, facts.objects);
    case "secretKeyRef":
      return keyValue(pod, { ...source, type: "secret" }, facts.objects);
    case "fileKeyRef":
      return facts.files.value(source);
  }
}

function keyValue(
  pod: Pod,
  selector: KeySelector & Pick<EnvFrom, "type">,
  objects: LocalObjects,
): EnvValue | undefined {
  const { type, name, key, optional } = selector;
  const data = variablesOf(pod, selector, objects);
  const value = data !== undefined && Object.hasOwn(data, key) ? data[key] : undefined;
  if (value !== undefined) return textOf(value);
  if (optional) return undefined;
  throw configError(`couldn't find key ${key} in ${KIND[type]} ${pod.metadata.namespace}/${name}`);
}

function textOf(value: EnvValue): EnvValue {
  if (typeof value === "string") return value;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    // Values may be bytes that are not UTF-8.
    return value;
  }
}

function holdsNul(value: EnvValue): boolean {
  return typeof value === "string" ? value.includes("\0") : value.includes(0);
}
