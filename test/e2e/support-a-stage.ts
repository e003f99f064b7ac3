// What a file of tests stands on: a private containerd with images, the test's own eyes on it, journals, and agents.

import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { test } from "bun:test";

import { AgentProcess, type AgentOptions } from "../harness/agent-process.ts";
import { always, eventually } from "../harness/eventually.ts";
import { BUSYBOX_1, BUSYBOX_2, importImages, PAUSE } from "../harness/images.ts";
import {
  isUnavailable,
  startPrivateContainerd,
  type PrivateContainerd,
  type PrivateContainerdOptions,
  type Unavailable,
} from "../harness/private-containerd.ts";
import { testWhenAvailable } from "../harness/skip-reasons.ts";
import { makeTempDirectory, type TempDirectory } from "../harness/temp-directory.ts";
import { listTasks } from "../harness/containerd-lists.ts";
import { ContainerdWatch, type ContainerdEvent } from "../harness/watch-containerd.ts";
import { podManifest, type PodRecipe } from "./support-a-pods.ts";

/** A place in the stream of containerd's events. */
export type Mark = number;

export class Stage {
  readonly temp: TempDirectory;
  /** `test`, or a skipping one that says why. */
  readonly test: typeof test;
  readonly #started: PrivateContainerd | Unavailable;
  #watch: ContainerdWatch | undefined;

  private constructor(temp: TempDirectory, started: PrivateContainerd | Unavailable) {
    this.temp = temp;
    this.#started = started;
    this.test = testWhenAvailable(started);
  }

  static async open(options: PrivateContainerdOptions = {}): Promise<Stage> {
    const temp = makeTempDirectory();
    const started = await startPrivateContainerd(temp, options);
    const stage = new Stage(temp, started);
    mkdirSync(stage.journals, { recursive: true });
    if (isUnavailable(started)) return stage;
    const images = options.sandboxImage === undefined ? [] : [PAUSE];
    await importImages(started, temp.directory("images"), [...images, BUSYBOX_1, BUSYBOX_2]);
    stage.#watch = await ContainerdWatch.start(started, temp);
    return stage;
  }

  get available(): boolean {
    return !isUnavailable(this.#started);
  }

  get containerd(): PrivateContainerd {
    if (isUnavailable(this.#started)) throw new Error(this.#started.unavailable);
    return this.#started;
  }

  get watch(): ContainerdWatch {
    if (this.#watch === undefined) throw new Error("containerd is not watched");
    return this.#watch;
  }

  /** Directory on the host in which every pod has its journal. */
  get journals(): string {
    return join(this.temp.path, "journals");
  }

  /** An agent on this containerd that is not started yet. */
  agent(options: Partial<AgentOptions> = {}): AgentProcess {
    const { endpoint, cgroupRoot } = this.containerd;
    return new AgentProcess(this.temp, { endpoint, cgroupRoot, ...options });
  }

  close(): void {
    this.#watch?.[Symbol.dispose]();
    this.temp.remove();
  }

  manifest(recipe: PodRecipe): object {
    return podManifest(this.journals, recipe);
  }

  /** Lines that the starts and stops of a pod wrote. */
  journal(pod: string): readonly string[] {
    const path = join(this.journals, pod);
    return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
  }

  /** Waits until the journal has come to exactly these lines. */
  async journalIs(pod: string, lines: readonly string[], timeout = 60_000): Promise<void> {
    const wanted = JSON.stringify(lines);
    await eventually(
      `the journal of ${pod} is ${wanted}`,
      () => JSON.stringify(this.journal(pod)) === wanted,
      { timeout, explain: () => `the journal of ${pod}: ${JSON.stringify(this.journal(pod))}` },
    );
  }

  mark(): Mark {
    return this.watch.events.length;
  }

  /** Starts of app containers since the mark. */
  starts(since: Mark): readonly ContainerdEvent[] {
    return this.#since(this.watch.starts(), since);
  }

  /** Ends of app containers since the mark. */
  exits(since: Mark): readonly ContainerdEvent[] {
    return this.#since(this.watch.exits(), since);
  }

  /** Waits for so many starts and ends of app containers since the mark: a journal may be ahead of the events. */
  async counts(
    since: Mark,
    wanted: { readonly starts: number; readonly exits: number },
  ): Promise<void> {
    await eventually(
      `${wanted.starts} app containers have started and ${wanted.exits} ended`,
      () => this.#areCounts(since, wanted),
      { explain: () => JSON.stringify([this.starts(since), this.exits(since)]) },
    );
  }

  /** The same, and for `duration` ms there is not one more. */
  async countsStay(
    since: Mark,
    wanted: { readonly starts: number; readonly exits: number },
    duration: number,
  ): Promise<void> {
    await this.counts(since, wanted);
    await always("no container starts or ends", duration, () => this.#areCounts(since, wanted));
  }

  /** Fails when an app container starts or ends within `duration` ms, or has done so since the mark. */
  async staysQuiet(since: Mark, duration: number): Promise<void> {
    const none = { starts: 0, exits: 0 };
    await always("no container starts or ends", duration, () => this.#areCounts(since, none));
  }

  #areCounts(
    since: Mark,
    { starts, exits }: { readonly starts: number; readonly exits: number },
  ): boolean {
    return this.starts(since).length === starts && this.exits(since).length === exits;
  }

  /** The most app containers that ran at one moment since the mark, if none ran then. */
  maxRunning(since: Mark): number {
    const steps = [
      ...this.starts(since).map(({ at }) => ({ at, step: 1 })),
      ...this.exits(since).map(({ at }) => ({ at, step: -1 })),
    ].toSorted((a, b) => a.at - b.at || a.step - b.step);
    let running = 0;
    return Math.max(0, ...steps.map(({ step }) => (running += step)));
  }

  /** Containers of a pod, whatever their state. */
  async containersOf(
    pod: string,
    kind: "container" | "sandbox" = "container",
  ): Promise<readonly string[]> {
    const listed = await this.containerd.ctr(
      "containers",
      "list",
      "--quiet",
      `labels."io.kubernetes.pod.name"==${pod},labels."io.cri-containerd.kind"==${kind}`,
    );
    return listed.split("\n").filter((line) => line !== "");
  }

  /** The id of the only running container of a pod; waits for it. */
  async running(pod: string): Promise<string> {
    return eventually(
      `exactly one container of ${pod} runs`,
      async () => {
        const running = await this.#runningIds();
        const own = (await this.containersOf(pod)).filter((id) => running.has(id));
        return own.length === 1 ? own[0] : undefined;
      },
      { timeout: 60_000, interval: 100 },
    );
  }

  /** What `ctr containers info` says. */
  async info(id: string): Promise<ContainerInfo> {
    return JSON.parse(await this.containerd.ctr("containers", "info", id)) as ContainerInfo;
  }

  /** Removes every manifest of an agent and waits until none of its containers is left. */
  async clear(agent: AgentProcess): Promise<void> {
    for (const name of readdirSync(agent.paths.manifests)) agent.removeManifest(name);
    await eventually(
      "no container is left",
      async () =>
        (await this.containerd.ctr("containers", "list", "--quiet")).trim() === "" ? true : false,
      { timeout: 60_000, interval: 100, explain: () => agent.logTail() },
    );
  }

  async #runningIds(): Promise<ReadonlySet<string>> {
    const tasks = await listTasks(this.containerd);
    return new Set(tasks.filter(({ status }) => status === "RUNNING").map(({ id }) => id));
  }

  /** Of events, those of app containers after the mark; the image in the event of the creation tells them from sandboxes. */
  #since(events: readonly ContainerdEvent[], since: Mark): readonly ContainerdEvent[] {
    const later = new Set(this.watch.events.slice(since));
    const apps = new Set(
      this.watch.events
        .filter(({ topic, body }) => topic === "/containers/create" && isApp(body["image"]))
        .map(({ containerId }) => containerId),
    );
    return events.filter((event) => later.has(event) && apps.has(event.containerId));
  }
}

export interface ContainerInfo {
  readonly Labels: Readonly<Record<string, string>>;
  readonly Spec: {
    readonly linux: {
      readonly namespaces: readonly { readonly type: string; readonly path?: string }[];
    };
  };
}

function isApp(image: unknown): boolean {
  return typeof image === "string" && image.includes("local/busybox");
}

/** containerd's exit status of a `/tasks/exit`; protobuf leaves 0 out. */
export function exitStatus(event: ContainerdEvent | undefined): number | undefined {
  return event === undefined ? undefined : Number(event.body["exit_status"] ?? 0);
}
