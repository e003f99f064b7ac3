// Redacts values of Secrets and environment variables in pods, command responses and reports.

import type { LocalObject } from "../api/v1/object/local-object.ts";
import { LAST_APPLIED } from "../api/v1/metadata.ts";
import { type Pod, allContainers } from "../api/v1/pod.ts";
import {
  type ContainerState,
  type ContainerStatus,
  type PodStatus,
  withMessages,
} from "../api/v1/pod-status.ts";
import type { PodEntry } from "./pod-list.ts";
import type { Container } from "../api/v1/container.ts";
import { byteLength, HIDDEN } from "../lib/short-text.ts";

/** Characters; shorter values occur in too many unrelated texts. */
const SHORTEST_SECRET = 6;

/** Texts that must not occur in any response, report, event or log line. */
export function secretTexts(
  objects: readonly LocalObject[],
  pods: readonly Pod[],
): ReadonlySet<string> {
  return new Set([...objects.flatMap(ofObject), ...pods.flatMap(ofPod)]);
}

function ofObject(object: LocalObject): readonly string[] {
  return object.kind === "Secret" ? longEnough(Object.values(object.data).flatMap(textsOf)) : [];
}

function ofPod({ spec }: Pod): readonly string[] {
  const values = allContainers(spec).flatMap(({ env }) =>
    env.flatMap((variable) => ("value" in variable ? [variable.value] : [])),
  );
  // Only values that look like tokens are secrets: a variable may also contain the name of a pod or an image.
  return values.filter((value) => value.length >= 16 && /\d/.test(value) && /[A-Za-z]/.test(value));
}

function longEnough(texts: readonly string[]): readonly string[] {
  return texts.filter((text) => text.length >= SHORTEST_SECRET);
}

/** The text itself, and the forms in which a program may print it. */
function textsOf(bytes: Uint8Array): readonly string[] {
  const text = new TextDecoder().decode(bytes);
  return [text, text.trim(), bytes.toBase64()];
}

/** Earlier values may still occur in the termination message of a container that had read them. */
const REMEMBERED = 300;

/** The node's current secrets. */
export interface SecretSource {
  objects(): readonly LocalObject[];
  pods(): readonly Pod[];
}

const NO_SECRETS: SecretSource = { objects: () => [], pods: () => [] };

/** Redacts with the current secrets and the latest earlier ones. Built before its source: events are redacted from the start. */
export class Redactor {
  /** The current secret texts and the latest earlier ones. */
  readonly #known = new Set<string>();
  /** Each event is redacted, and a Secret may have 1 MiB: what does not change is decoded once. */
  readonly #texts = new WeakMap<object, readonly string[]>();
  #source = NO_SECRETS;
  /** What the known texts were last read from. */
  #from: readonly object[] = [];
  #redact: Change = redactor(new Set());
  /** Each report shows every pod, and most pods have not changed since the last one. */
  #statuses = new WeakMap<PodStatus, PodStatus>();

  follow(source: SecretSource): void {
    this.#source = source;
  }

  secrets(): ReadonlySet<string> {
    const [objects, pods] = [this.#source.objects(), this.#source.pods()];
    const from = [...objects, ...pods];
    if (!isSameList(from, this.#from)) {
      this.#from = from;
      this.#remember([
        ...objects.flatMap((one) => this.#textsOf(one, ofObject)),
        ...pods.flatMap((one) => this.#textsOf(one, ofPod)),
      ]);
    }
    return this.#known;
  }

  #remember(current: readonly string[]): void {
    const texts = new Set(current);
    for (const text of texts) {
      this.#known.delete(text);
      this.#known.add(text);
    }
    for (const oldest of this.#known) {
      if (this.#known.size <= Math.max(REMEMBERED, texts.size)) break;
      this.#known.delete(oldest);
    }
    this.#redact = redactor(this.#known);
    this.#statuses = new WeakMap();
  }

  readonly redact = (text: string): string => {
    this.secrets();
    return this.#redact(text);
  };

  /** Redacts the messages of a status, the only texts in it that pods can write, with the secrets of this moment; equal results are the same object until a secret changes. */
  forStatuses(): (status: PodStatus) => PodStatus {
    if (this.secrets().size === 0) return (status) => status;
    const [change, results] = [this.#redact, this.#statuses];
    return (status) => {
      const result = results.get(status) ?? withMessages(status, change);
      results.set(status, result);
      return result;
    };
  }

  #textsOf<T extends object>(from: T, texts: (from: T) => readonly string[]): readonly string[] {
    const known = this.#texts.get(from) ?? texts(from);
    this.#texts.set(from, known);
    return known;
  }
}

/** `text` with every one of `secrets` replaced by `<hidden>`. */
export function redact(text: string, secrets: ReadonlySet<string>): string {
  return redactor(secrets)(text);
}

type Change = (text: string) => string;

function isSameList(one: readonly object[], other: readonly object[]): boolean {
  return one.length === other.length && one.every((item, at) => item === other[at]);
}

/** Replaces secrets in texts; made once for many of them. */
export function redactor(secrets: ReadonlySet<string>): Change {
  // The longest first, because one may be contained in another.
  const all = [...secrets].toSorted((a, b) => b.length - a.length);
  return (text) => all.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
}

/** Characters; a shorter line of a certificate or a file of settings occurs in unrelated texts. */
const SHORTEST_LINE = 16;

/** The secrets, and each line of those that have several: a log contains one line at a time. */
export function linesOfSecrets(secrets: ReadonlySet<string>): ReadonlySet<string> {
  const lines = [...secrets].flatMap((secret) => secret.split(/\r?\n/));
  return new Set([...secrets, ...lines.filter((line) => line.length >= SHORTEST_LINE)]);
}

/** The JSON value with the secrets replaced in every text, but not in keys. */
export function redactValue(value: unknown, secrets: ReadonlySet<string>): unknown {
  return secrets.size === 0 ? value : changeTexts(value, redactor(secrets));
}

function changeTexts(value: unknown, change: Change): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => changeTexts(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, changeTexts(member, change)]),
  );
}

/** The pod without values of environment variables and without termination messages. */
export function withoutValues(entry: PodEntry): PodEntry {
  return {
    ...entry,
    pod: podWithoutValues(entry.pod),
    // A termination message is any text, perhaps the Secret that the container could not use.
    status: changeContainers(entry.status, ({ terminated }) => ({
      ...(terminated && { terminated: withMessages(terminated, sizeOnly) }),
    })),
  };
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

function sizeOnly(text: string): string {
  return `<hidden: ${byteLength(text)} bytes>`;
}

function changeContainers(
  status: PodStatus,
  change: (state: ContainerState) => ContainerState,
): PodStatus {
  const changed = (one: ContainerStatus): ContainerStatus => ({
    ...one,
    state: { ...one.state, ...change(one.state) },
    lastState: { ...one.lastState, ...change(one.lastState) },
  });
  return {
    ...status,
    initContainerStatuses: status.initContainerStatuses.map(changed),
    containerStatuses: status.containerStatuses.map(changed),
  };
}
