// Which pod and container a person means, with kubectl's words. kubectl: podcmd

import { isPod, type ObjectView } from "../../node/api-views.ts";
import { DEFAULT_CONTAINER } from "../../api/pod/selected-container.ts";
import { CliError, UsageError } from "../exit-codes.ts";
import { barePodName } from "../pod-argument.ts";
import { printable } from "../terminal-text.ts";

export interface ContainerView {
  readonly name: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
}

export interface PodView extends ObjectView {
  readonly spec: {
    readonly containers: readonly ContainerView[];
    readonly initContainers?: readonly ContainerView[];
  };
  readonly status: { readonly phase?: string };
}

export function isPodView(value: unknown): value is PodView {
  return isPod(value);
}

/** `web` or `pod/web`. Throws UsageError for "". */
export function podNameOf(written: string | undefined, usage: string): string {
  const name = barePodName(written ?? "");
  if (name === "" || name.includes("/")) throw new UsageError(`name a pod: ${usage}`);
  return name;
}

export function containersOf({ spec }: PodView): readonly ContainerView[] {
  return [...spec.containers, ...(spec.initContainers ?? [])];
}

export interface ChosenContainer {
  readonly container: ContainerView;
  /** For standard error; "" = nothing. */
  readonly notice: string;
}

/** Throws CliError for a container that the pod does not have. */
export function chosenContainer(pod: PodView, wanted: string | undefined): ChosenContainer {
  const { metadata, spec } = pod;
  const all = containersOf(pod);
  if (wanted !== undefined) {
    const container = all.find(({ name }) => name === wanted);
    if (container !== undefined) return { container, notice: "" };
    throw new CliError(`container ${wanted} not found in pod ${metadata.name}`);
  }
  const annotated = metadata.annotations?.[DEFAULT_CONTAINER];
  const preferred = all.find(({ name }) => name === annotated);
  if (preferred !== undefined) return { container: preferred, notice: "" };
  const [first] = spec.containers;
  if (first === undefined) throw new CliError(`pod ${metadata.name} has no containers`);
  const missing =
    annotated === undefined || annotated === ""
      ? ""
      : `Default container name "${printable(annotated)}" not found in pod ${metadata.name}\n`;
  const names = [
    ...spec.containers.map(({ name }) => name),
    ...(spec.initContainers ?? []).map(({ name }) => `${name} (init)`),
  ].join(", ");
  const notice = all.length > 1 ? `Defaulted container "${first.name}" out of: ${names}\n` : "";
  return { container: first, notice: missing + notice };
}

/** Throws CliError if nothing runs in the pod any more. */
export function mustRun({ status }: PodView, verb: "exec" | "attach"): void {
  if (status.phase !== "Succeeded" && status.phase !== "Failed") return;
  const what = verb === "exec" ? "cannot exec into a container" : "cannot attach a container";
  throw new CliError(`${what} in a completed pod; current phase is ${status.phase}`);
}
