// A pod that runs in the fake runtime, somebody who ends it, and the story of how that went.

import type { NewEvent } from "../../../src/api/v1/events.ts";
import type { ObservedContainer, ObservedPod } from "../../../src/api/pod/observed-pod.ts";
import { allContainers, type Pod } from "../../../src/api/v1/pod.ts";
import type { HttpAnswer, HttpRequest } from "../../../src/host/probe/probe-edge.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { containerConfig } from "../../../src/runtime/cri-config/container-config.ts";
import { PodKiller } from "../../../src/runtime/kill-pod.ts";
import {
  LifecycleRunner,
  type LifecycleRunnerOptions,
} from "../../../src/runtime/lifecycle-hooks.ts";
import { RuntimeReader } from "../../../src/runtime/observe/runtime-reader.ts";
import { sandboxConfig } from "../../../src/runtime/cri-config/sandbox-config.ts";
import { aDesiredPod } from "../../fakes/a-pod.ts";
import { containerFacts, sandboxFacts } from "../../fakes/config-facts.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import type { Program } from "../../fakes/fake-cri-world.ts";
import { FakeRuntime, type FakeRuntimeOptions } from "../../fakes/fake-runtime.ts";
import { NO_TERMINATION_FILES } from "../../fakes/plain-world.ts";

const IMAGE = "local/busybox:1";
const SHOWN: ReadonlySet<string> = new Set([
  "stopContainer",
  "removeContainer",
  "stopPodSandbox",
  "execSync",
]);

export interface KillWorldOptions extends Pick<FakeRuntimeOptions, "exec" | "latencyMs"> {
  /** By container. */
  readonly programs?: Readonly<Record<string, Program>>;
  /** Created and never started. */
  readonly unstarted?: readonly string[];
  readonly answer?: (request: HttpRequest) => Promise<HttpAnswer>;
}

/** There is always a place for the command of a hook. */
export const takePlace: LifecycleRunnerOptions["takePlace"] = () =>
  Promise.resolve({ [Symbol.dispose]: () => undefined });

export class KillWorld {
  readonly clock = new VirtualClock({ monotonic: 0 });
  readonly events: NewEvent[] = [];
  /** `<seconds> <what> <container> …`, in order. */
  readonly story: string[] = [];
  readonly requests: HttpRequest[] = [];
  readonly lines: string[] = [];
  readonly runtime: FakeRuntime;
  readonly #options: KillWorldOptions;
  readonly #names = new Map<string, string>();

  private constructor(options: KillWorldOptions) {
    this.#options = options;
    const { programs = {}, exec, latencyMs = {} } = options;
    this.runtime = new FakeRuntime({
      clock: this.clock,
      images: [IMAGE],
      latencyMs,
      program: ({ config }) => programs[config.metadata?.name ?? ""] ?? {},
      onCall: (call, args) => this.#tell(call, args),
      onEvent: (event) => {
        if (event.type === "Exited" && this.#names.has(event.id)) this.#note("exit", event.id);
      },
      ...(exec === undefined ? {} : { exec }),
    });
  }

  /** All of its containers run, whatever their order would be. */
  static async of(pod: Pod, options: KillWorldOptions = {}): Promise<KillWorld> {
    const world = new KillWorld(options);
    await world.#start(pod);
    return world;
  }

  async #start(pod: Pod): Promise<void> {
    const desired = aDesiredPod(pod);
    const config = sandboxConfig(desired, sandboxFacts({ podLogsDir: "/logs" }));
    const sandboxId = await this.runtime.runPodSandbox({ config });
    for (const container of allContainers(pod.spec)) {
      const facts = containerFacts({ image: { ref: IMAGE, username: "" } });
      const made = containerConfig(desired, container, facts);
      const args = { sandboxId, config: made, sandboxConfig: config };
      const id = await this.runtime.createContainer(args);
      this.#names.set(id, container.name);
      const starts = this.#options.unstarted?.includes(container.name) !== true;
      if (starts) await this.runtime.startContainer(id);
    }
  }

  /** Somebody new, who remembers nothing. */
  killer(): PodKiller {
    const { clock, runtime: cri } = this;
    const log = createLogger({ clock, level: "info", write: (line) => this.lines.push(line) });
    const httpGet = (request: HttpRequest): Promise<HttpAnswer> => {
      this.requests.push(request);
      return this.#options.answer?.(request) ?? Promise.resolve(OK);
    };
    const lifecycle = new LifecycleRunner({
      cri,
      clock,
      redact: (text) => text,
      edge: { httpGet },
      takePlace,
    });
    return new PodKiller({
      cri,
      lifecycle,
      clock,
      log,
      record: (event) => this.events.push(event),
    });
  }

  async look(): Promise<ObservedPod> {
    const reader = new RuntimeReader({
      cri: this.runtime,
      instance: "default",
      files: NO_TERMINATION_FILES,
    });
    const [uid = ""] = (await reader.listPods()).keys();
    const observed = await reader.inspectPod(uid, undefined);
    if (observed === undefined) throw new Error("the runtime has nothing of the pod");
    return { ...observed, observedAt: 1 };
  }

  async container(name: string): Promise<ObservedContainer> {
    const found = (await this.look()).containers.find((container) => container.name === name);
    if (found === undefined) throw new Error(`there is no container ${name}`);
    return found;
  }

  idOf(name: string): string {
    const found = [...this.#names].find(([, known]) => known === name);
    if (found === undefined) throw new Error(`there is no container ${name}`);
    return found[0];
  }

  /** `<reason> <fieldPath> <message>` */
  said(): readonly string[] {
    return this.events.map(
      ({ reason, object, message }) => `${reason} ${object.fieldPath ?? ""} ${message}`,
    );
  }

  #tell(call: string, args: readonly unknown[]): void {
    const [id, more] = args;
    if (!SHOWN.has(call) || typeof id !== "string") return;
    this.#note(call, id, typeof more === "number" ? ` ${more}` : "");
  }

  #note(what: string, id: string, more = ""): void {
    const seconds = this.clock.monotonic() / 1000;
    const name = this.#names.get(id);
    this.story.push(`${seconds} ${what}${name === undefined ? "" : ` ${name}`}${more}`);
  }
}

const OK: HttpAnswer = { status: 200, location: "", body: "" };

/** What became of it, without an unhandled rejection on the way. */
export async function outcome(work: Promise<void>): Promise<unknown> {
  try {
    await work;
    return "done";
  } catch (error) {
    return error;
  }
}
