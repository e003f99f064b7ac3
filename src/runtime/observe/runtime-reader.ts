// Performs: reads the state of this agent's pods from the runtime, with as few calls as possible.

import type {
  ObservedContainer,
  ObservedPod,
  ObservedSandbox,
} from "../../api/pod/observed-pod.ts";
import { LABEL, ourSelector, type RuntimeIdentity } from "../../api/pod/labels.ts";
import type { PodUID } from "../../api/v1/pod.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { ifFound } from "../../cri/cri-error.ts";
import { ContainerState } from "../../cri/gen/runtime/v1/api_pb.ts";
import {
  listedContainer,
  listedSandbox,
  observedContainer,
  observedSandbox,
  type ListedContainer,
  type ListedSandbox,
} from "./observe.ts";
import { readTerminationMessage, type TerminationFiles } from "./termination-reader.ts";
import { compareText } from "../../lib/compare.ts";

/** One pod in the two lists; if the summary is unchanged, the pod need not be inspected. */
export interface PodSummary {
  readonly identity: RuntimeIdentity;
  readonly sandboxes: readonly ListedSandbox[];
  readonly containers: readonly ListedContainer[];
}

export interface RuntimeReaderOptions {
  readonly cri: CriClient;
  readonly instance: string;
  /** For termination messages and logs. */
  readonly files: TerminationFiles;
}

export class RuntimeReader {
  readonly #options: RuntimeReaderOptions;

  constructor(options: RuntimeReaderOptions) {
    this.#options = options;
  }

  /** All pods of this agent, by UID: two calls. */
  async listPods(signal?: AbortSignal): Promise<ReadonlyMap<PodUID, PodSummary>> {
    return this.#list(ourSelector(this.#options.instance), signal);
  }

  /**
   * One pod in full; undefined = the runtime has nothing of it. `before` saves calls: an exited container, and the
   * addresses of a sandbox that is up, do not change any more.
   */
  async inspectPod(
    uid: PodUID,
    before: ObservedPod | undefined,
  ): Promise<Omit<ObservedPod, "observedAt"> | undefined> {
    const ours = ourSelector(this.#options.instance);
    const pods = await this.#list({ ...ours, [LABEL.podUID]: uid });
    const summary = pods.get(uid);
    return summary === undefined ? undefined : this.inspect(summary, before);
  }

  /** The details of a pod that was just listed. */
  async inspect(
    summary: PodSummary,
    before: ObservedPod | undefined,
  ): Promise<Omit<ObservedPod, "observedAt">> {
    const [sandboxes, containers] = await Promise.all([
      Promise.all(summary.sandboxes.map((listed) => this.#sandbox(listed, before))),
      Promise.all(summary.containers.map((listed) => this.#container(listed, before))),
    ]);
    return {
      ...summary.identity,
      source: summary.sandboxes.find((sandbox) => sandbox.source !== undefined)?.source,
      sandboxes: sandboxes.filter((sandbox) => sandbox !== undefined).toSorted(byAttempt),
      containers: containers.filter((container) => container !== undefined).toSorted(byNameAttempt),
    };
  }

  async #list(
    selector: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<PodUID, PodSummary>> {
    const { cri, instance } = this.#options;
    const filter = { labelSelector: selector };
    const [sandboxes, containers] = await Promise.all([
      cri.listPodSandbox(filter, { signal }),
      cri.listContainers(filter, { signal }),
    ]);
    const pods = new Map<
      PodUID,
      { identity: RuntimeIdentity; sandboxes: ListedSandbox[]; containers: ListedContainer[] }
    >();
    const of = (identity: RuntimeIdentity) => {
      const known = pods.get(identity.uid) ?? { identity, sandboxes: [], containers: [] };
      pods.set(identity.uid, known);
      return known;
    };
    for (const sandbox of sandboxes) {
      const listed = listedSandbox(sandbox, instance);
      if (listed !== undefined) of(listed.identity).sandboxes.push(listed);
    }
    for (const container of containers) {
      const listed = listedContainer(container, instance);
      if (listed !== undefined) of(listed.identity).containers.push(listed);
    }
    return pods;
  }

  async #sandbox(
    listed: ListedSandbox,
    before: ObservedPod | undefined,
  ): Promise<ObservedSandbox | undefined> {
    const known = before?.sandboxes.find((sandbox) => sandbox.id === listed.id);
    if (known !== undefined && listed.state === "NotReady") return { ...known, state: "NotReady" };
    const isSettled = known?.state === "Ready" && (known.hostNetwork || known.ips.length > 0);
    if (isSettled) return known;
    const answer = await ifFound(this.#options.cri.podSandboxStatus(listed.id));
    return answer && observedSandbox(listed, answer.status);
  }

  async #container(
    listed: ListedContainer,
    before: ObservedPod | undefined,
  ): Promise<ObservedContainer | undefined> {
    const known = before?.containers.find((container) => container.id === listed.id);
    const isSettled = known?.state === listed.state && known.presumed !== true;
    if (isSettled && listed.state !== "Unknown") return known;
    const { cri, files } = this.#options;
    // It may vanish between the list and this call.
    const status = (await ifFound(cri.containerStatus(listed.id)))?.status;
    if (status === undefined) return undefined;
    const hasExited = status.state === ContainerState.CONTAINER_EXITED;
    const message = hasExited ? readTerminationMessage(files, status) : "";
    return observedContainer(listed, status, message);
  }
}

function byAttempt(a: ObservedSandbox, b: ObservedSandbox): number {
  return b.attempt - a.attempt || b.createdAt - a.createdAt;
}

function byNameAttempt(a: ObservedContainer, b: ObservedContainer): number {
  return compareText(a.name, b.name) || b.attempt - a.attempt;
}
