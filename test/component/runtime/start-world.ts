// One pod on a fake runtime, whose containers are started one action at a time; sees what each of them finds.

import { takePlace } from "./kill-world.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { NewEvent } from "../../../src/api/v1/events.ts";
import { allContainers, type Pod } from "../../../src/api/v1/pod.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import type { AgentError } from "../../../src/lib/errors.ts";
import { CreatingPlaces } from "../../../src/runtime/creating-places.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { systemClock } from "../../../src/lib/system-clock.ts";
import type {
  ActionInput,
  ContainerFacts,
  EarlyStart,
  SandboxRef,
} from "../../../src/runtime/decide/action-input.ts";
import type { RuntimeHelper } from "../../../src/runtime/runtime-helper.ts";
import type { PodConfigs } from "../../../src/runtime/pod-configs.ts";
import { ContainerDrafts } from "../../../src/runtime/container-draft.ts";
import { RunOptionsGenerator } from "../../../src/runtime/run-container-options.ts";
import { HostsFiles } from "../../../src/runtime/names/hosts-files.ts";
import { valuesOf } from "../../../src/runtime/cri-config/environment.ts";
import { expand } from "../../../src/runtime/cri-config/expansion.ts";
import { GracePeriod } from "../../../src/runtime/grace-period.ts";
import { PodKiller } from "../../../src/runtime/kill-pod.ts";
import { LifecycleRunner } from "../../../src/runtime/lifecycle-hooks.ts";
import { PodRuntime } from "../../../src/runtime/pod-runtime.ts";
import { ContainerStarter } from "../../../src/runtime/start-container.ts";
import { aDesiredPod } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeRuntime } from "../../fakes/fake-runtime.ts";
import { PLAIN_WORLD } from "../../fakes/plain-world.ts";

const IMAGE = "local/busybox:1";

export class StartWorld implements Disposable {
  readonly clock = new VirtualClock();
  readonly runtime = new FakeRuntime({
    clock: this.clock,
    images: [IMAGE],
    onCall: (call) => this.onCall(call),
  });
  /** Before the runtime does it. */
  onCall: (call: string) => void = () => undefined;
  readonly directory = mkdtempSync("/tmp/agent-start-");
  readonly events: NewEvent[] = [];
  /** Container → what its configuration was made from. */
  readonly facts = new Map<string, ContainerFacts>();
  /** `image policy`, in order. */
  readonly fetched: string[] = [];
  readonly pod: Pod;
  /** What making a sandbox's configuration throws. */
  refusal: AgentError | undefined;
  readonly #runtime: PodRuntime;
  #sandbox: SandboxRef | undefined;
  readonly #early = new Map<string, Promise<EarlyStart | undefined>>();

  constructor(pod: Pod, world: Partial<RuntimeHelper> = {}) {
    this.pod = pod;
    const { clock, runtime: cri, events } = this;
    const files = realFiles();
    const log = createLogger({ clock, level: "error", write: () => undefined });
    const record = (event: NewEvent): void => void events.push(event);
    const node = { ...PLAIN_WORLD, ...world };
    const edge = { httpGet: () => Promise.reject(new Error("no network")) };
    const lifecycle = new LifecycleRunner({ cri, clock, redact: (text) => text, edge, takePlace });
    const configs = this.#configs();
    const ensureImage: ConstructorParameters<typeof PodRuntime>[0]["ensureImage"] = (
      _pod,
      { image, imagePullPolicy },
    ) => {
      this.fetched.push(`${image} ${imagePullPolicy}`);
      return Promise.resolve({ ref: `sha256:${image}`, username: "" });
    };
    const common = {
      cri,
      log,
      configs,
      ensureImage,
      creating: new CreatingPlaces({ priorityClasses: {}, places: 1 }),
      record,
    };
    const hosts = new HostsFiles({
      files,
      clock,
      log,
      helper: node,
      path: configs.etcHosts,
      pods: () => [],
    });
    const runOptions = new RunOptionsGenerator({ helper: node, configs, files, hosts });
    const drafts = new ContainerDrafts({ files, configs, ensureImage, helper: node, runOptions });
    const starter = new ContainerStarter({ ...common, lifecycle, drafts, runOptions });
    const killer = new PodKiller({ cri, lifecycle, clock, log, record });
    this.#runtime = new PodRuntime({ ...common, clock: systemClock(), starter, killer });
  }

  get etcHosts(): string {
    return join(this.directory, "pod", "etc-hosts");
  }

  async createSandbox(): Promise<SandboxRef> {
    const made = await this.#perform({ type: "CreateSandbox", attempt: 0 });
    if (made === undefined) throw new Error("no sandbox was made");
    this.#sandbox = made;
    return made;
  }

  async start(container: string, attempt = 0): Promise<void> {
    await this.#perform({ type: "StartContainer", container, attempt });
  }

  /** Before there is a sandbox; false = it has to wait for one. */
  async draft(container: string): Promise<boolean> {
    const action = { type: "StartContainer", container, attempt: 0 } as const;
    const early = await this.#runtime.beginStart(action, this.#input());
    this.#early.set(container, Promise.resolve(early));
    return early?.draft !== undefined;
  }

  /** Sandbox and all containers, and what the last of them found. */
  async startAll(): Promise<ContainerFacts> {
    await this.createSandbox();
    const containers = allContainers(this.pod.spec);
    for (const { name } of containers) await this.start(name);
    const last = this.facts.get(containers.at(-1)?.name ?? "");
    if (last === undefined) throw new Error("nothing was started");
    return last;
  }

  count(call: "podSandboxStatus"): number {
    return this.runtime.callNames().filter((name) => name === call).length;
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  #perform(action: Parameters<PodRuntime["perform"]>[0]): Promise<SandboxRef | undefined> {
    return this.#runtime.perform(action, this.#input());
  }

  #input(): ActionInput {
    return {
      desired: aDesiredPod(this.pod),
      observed: undefined,
      sandbox: this.#sandbox,
      activeSince: 0,
      volumes: new Map(this.pod.spec.volumes.map(({ name }) => [name, `/volumes/${name}`])),
      images: new Map(),
      early: this.#early,
      reserved: { sandbox: 0, containers: new Map() },
      signal: new AbortController().signal,
      grace: (seconds) => new GracePeriod(seconds),
      onHook: () => undefined,
      onHookFailed: () => undefined,
    };
  }

  #configs(): PodConfigs {
    const { uid, name, namespace } = this.pod.metadata;
    return {
      runtimeHandler: () => "",
      prepareCgroup: () => undefined,
      settleCgroup: () => undefined,
      sandbox: (_desired, { attempt }) => {
        if (this.refusal !== undefined) throw this.refusal;
        return { metadata: { uid, name, namespace, attempt } };
      },
      container: (_desired, container, facts) => {
        this.facts.set(container.name, facts);
        const metadata = { name: container.name, attempt: facts.attempt };
        const values = valuesOf(facts.env);
        const expanded = (words: readonly string[]) =>
          words.map((word) => expand(word, values, "word"));
        const { command, args } = container;
        const image = { image: container.image };
        return { metadata, image, command: expanded(command), args: expanded(args) };
      },
      containerLogDirectory: (_desired, container) => join(this.directory, "logs", container),
      terminationLog: (_desired, container, attempt) =>
        join(this.directory, "pod", container, String(attempt)),
      etcHosts: () => this.etcHosts,
      removeCgroup: () => undefined,
    };
  }
}
