// The half of the agent that makes pods run, in process: fake runtime, virtual time, real SQLite and files.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { AgentConfig } from "../../src/api/config.ts";
import type { DesiredPod, DesiredState, SourceName } from "../../src/api/desired-pod.ts";
import { ANNOTATION, LABEL } from "../../src/api/labels.ts";
import type { Container } from "../../src/api/pod.ts";
import type { Edges } from "../../src/agent/edges.ts";
import { buildPods, type Pods } from "../../src/agent/pods.ts";
import { NamespaceMode } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import { realFiles } from "../../src/host/real-files.ts";
import { AgentError } from "../../src/lib/errors.ts";
import { createLogger } from "../../src/lib/logger.ts";
import type { Random } from "../../src/lib/random.ts";
import type { PodConfigs } from "../../src/runtime/pod-runtime.ts";
import { Store } from "../../src/store/store.ts";
import { aContainer, aDesiredPod, aPod } from "../fakes/a-pod.ts";
import { VirtualClock } from "../fakes/fake-clock.ts";
import { FakeRuntime, type FakeRuntimeOptions } from "../fakes/fake-runtime.ts";

export const IMAGE = "local/busybox:1";

const steadyRandom: Random = { next: () => 0.5, hex: (length) => "ab".repeat(length) };

export class PodWorld implements Disposable {
  readonly clock = new VirtualClock();
  readonly runtime: FakeRuntime;
  readonly directory = mkdtempSync("/tmp/agent-world-");
  readonly lines: string[] = [];
  /** Images that ensureImage finds. */
  readonly images = new Set([IMAGE]);
  #process: Process | undefined;

  constructor(options: Partial<FakeRuntimeOptions> = {}) {
    this.runtime = new FakeRuntime({ clock: this.clock, images: [IMAGE], ...options });
  }

  get pods(): Pods {
    if (this.#process === undefined) throw new Error("the agent is not running");
    return this.#process.pods;
  }

  /** Starts the agent's pod half: lists the runtime, then follows its events. */
  async start(): Promise<void> {
    const process = this.#boot();
    this.#process = process;
    await process.pods.lifecycle.relist(process.stop.signal);
    void process.pods.lifecycle.runEvents(process.stop.signal);
    void process.pods.lifecycle.runRelist(process.stop.signal);
    await this.clock.settle();
  }

  /** Ends it as kill -9 would: the database closes under it, nothing is finished. */
  async kill(): Promise<void> {
    this.#process?.stop.abort();
    this.#process?.store[Symbol.dispose]();
    this.#process = undefined;
    await this.clock.settle();
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** What shall run, from one source that has spoken unless said otherwise. */
  async desire(
    pods: readonly DesiredPod[],
    ready: readonly SourceName[] = ["file"],
  ): Promise<void> {
    const desired: DesiredState = { pods, ready: new Set(ready), rejected: [] };
    this.pods.workers.apply(desired);
    await this.clock.settle();
  }

  /** `pod/container/attempt` of what runs, sorted. */
  running(): readonly string[] {
    return this.runtime
      .running()
      .map(({ config }) => {
        const name = config.labels[LABEL.podName] ?? "?";
        return `${name}/${config.metadata?.name}/${config.metadata?.attempt}`;
      })
      .toSorted();
  }

  /** Ids of running containers. */
  ids(): readonly string[] {
    return this.runtime.running().map(({ id }) => id);
  }

  [Symbol.dispose](): void {
    this.#process?.stop.abort();
    this.#process?.store[Symbol.dispose]();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #boot(): Process {
    const stop = new AbortController();
    const files = realFiles();
    const store = Store.open({ stateDir: this.directory, files, random: steadyRandom });
    const log = createLogger({
      clock: this.clock,
      level: "debug",
      write: (line) => this.lines.push(line),
    });
    const { clock, runtime } = this;
    const edges = { clock, random: steadyRandom, log, files, cri: runtime, store };
    const pods = buildPods({
      edges: edges as unknown as Edges,
      config: this.#config(),
      configs: plainConfigs(join(this.directory, "logs")),
      events: runtime.events,
      ensureImage: (container) => this.#image(container),
      setUpVolumes: () => new Map([["-", "/"]]),
      tearDownVolumes: () => undefined,
      removeCgroup: () => undefined,
      requireNetwork: () => this.#network(),
      hostIPs: () => ["192.0.2.1"],
      onPodChanged: (uid) => pods.workers.notify(uid),
      onStatusChanged: () => undefined,
      signal: stop.signal,
    });
    return { stop, store, pods };
  }

  #config(): AgentConfig {
    const config = {
      instance: "default",
      podLogsDir: join(this.directory, "logs"),
      maxContainerRestartPeriodMs: 300_000,
    };
    return config as AgentConfig;
  }

  async #image({ image }: Container): Promise<string> {
    await Promise.resolve();
    if (this.images.has(image)) return image;
    throw new AgentError({ reason: "ErrImagePull", message: `${image}: not found` });
  }

  async #network(): Promise<void> {
    await Promise.resolve();
    if (!this.runtime.networkReady)
      throw new AgentError({ reason: "NetworkNotReady", message: "cni plugin not initialized" });
  }
}

interface Process {
  readonly stop: AbortController;
  readonly store: Store;
  readonly pods: Pods;
}

/** A pod named `name` whose UID follows from `spec`. */
export function pod(
  name: string,
  version = "1",
  spec: Parameters<typeof aPod>[0] = {},
): DesiredPod {
  const containers = [aContainer("a")];
  return aDesiredPod(aPod({ containers, ...spec }, { name, uid: `${name}-${version}` }));
}

/** As little of CRI's configuration as identity needs. */
function plainConfigs(logs: string): PodConfigs {
  const labels = ({ uid, pod: { metadata } }: DesiredPod): Record<string, string> => ({
    [LABEL.managed]: "true",
    [LABEL.instance]: "default",
    [LABEL.podUID]: uid,
    [LABEL.podName]: metadata.name,
    [LABEL.podNamespace]: metadata.namespace,
  });
  return {
    sandbox: (desired, attempt) => ({
      metadata: {
        name: desired.pod.metadata.name,
        namespace: desired.pod.metadata.namespace,
        uid: desired.uid,
        attempt,
      },
      labels: labels(desired),
      annotations: { [ANNOTATION.source]: desired.source },
      linux: {
        securityContext: {
          namespaceOptions: {
            network: desired.pod.spec.hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
          },
        },
      },
    }),
    container: (desired, container, { attempt }) => ({
      metadata: { name: container.name, attempt },
      image: { image: container.image },
      labels: { ...labels(desired), [LABEL.containerName]: container.name },
      annotations: {
        [ANNOTATION.gracePeriod]: String(desired.pod.spec.terminationGracePeriodSeconds),
      },
    }),
    containerLogDirectory: ({ uid, pod: { metadata } }, container) =>
      join(logs, `${metadata.namespace}_${metadata.name}_${uid}`, container),
  };
}
