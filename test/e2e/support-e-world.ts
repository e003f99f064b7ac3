// What the tests of a pod's world stand on: fixtures with blanks, agents that share nothing, and a look from inside.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import type { test } from "bun:test";
import { parseAllDocuments } from "yaml";

import type { AgentOptions, AgentProcess } from "../harness/agent-process.ts";
import type { Broker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import { execSync } from "../harness/exec-sync.ts";
import { listTasks } from "../harness/containerd-lists.ts";
import type { Stage } from "./support-a-stage.ts";
import { LifeStage, type Blanks } from "./support-c-life.ts";
import { containerOf, idOf, podOf } from "./support-c-views.ts";

const FIXTURES = resolve(import.meta.dir, "../fixtures/e2e/world");
/** `(PORT)` in a fixture; `$(PORT)` is the pod's own affair. */
const BLANK = /(?<!\$)\(([A-Z_]+)\)/g;

export type WorldAgent = Partial<AgentOptions> & { readonly broker?: Broker };

/** One container of a pod of the namespace `default`. */
export interface Place {
  readonly agent: AgentProcess;
  readonly pod: string;
  /** Default `main`. */
  readonly container?: string;
}

export class World {
  /** Journals of what containers say. */
  readonly life: LifeStage;
  readonly stage: Stage;
  readonly e2e: typeof test;

  private constructor(life: LifeStage) {
    this.life = life;
    this.stage = life.stage;
    this.e2e = life.stage.test;
  }

  static async open(): Promise<World> {
    return new World(await LifeStage.open());
  }

  close(): void {
    this.stage.close();
  }

  /** A directory of the host, for whatever pods share with the test. */
  directory(name: string): string {
    return this.stage.temp.directory(name);
  }

  /** Directories, node name and instance are called `name`: nothing is shared with another agent. */
  agent(name: string, { broker, config, mqtt, ...options }: WorldAgent = {}): AgentProcess {
    return this.stage.agent({
      name,
      nodeName: name,
      instance: name,
      config: { crashLoopBackOff: { maxContainerRestartPeriod: "1s" }, ...config },
      ...(broker === undefined ? {} : { mqttUrl: broker.url }),
      mqtt: { reconnectMax: "1s", ...mqtt },
      ...options,
    });
  }

  /** A fixture's text with its blanks filled; `(JOURNALS)` is filled always. */
  fixture(name: string, blanks: Blanks = {}): string {
    const all: Blanks = { JOURNALS: this.stage.journals, ...blanks };
    return readFileSync(join(FIXTURES, `${name}.yaml`), "utf8").replaceAll(
      BLANK,
      (_blank, word: string) => {
        const value = all[word];
        if (value === undefined) throw new Error(`${name}.yaml needs a value for (${word})`);
        return String(value);
      },
    );
  }

  put(agent: AgentProcess, name: string, blanks: Blanks = {}): void {
    agent.writeManifest(`${name}.yaml`, this.fixture(name, blanks));
  }

  /** The objects of a fixture. */
  documents(name: string, blanks: Blanks = {}): readonly object[] {
    return parseAllDocuments(this.fixture(name, blanks)).map(
      (document) => document.toJS() as object,
    );
  }

  /** What a shell in the container prints; throws with its error output when it fails. */
  async inside(place: Place, script: string): Promise<string> {
    const id = idOf(await statusOf(place));
    const { containerd } = this.stage;
    const { stdout, stderr, exitCode } = await execSync(containerd, id, ["sh", "-c", script]);
    if (exitCode !== 0)
      throw new Error(`\`${script}\` exited with ${exitCode}: ${stderr}${stdout}`);
    return stdout;
  }

  /** Waits until the shell prints exactly this; white space around it does not count. */
  async untilInside(place: Place, script: string, wanted: string): Promise<void> {
    await eventually(
      `in ${place.pod} \`${script}\` says ${JSON.stringify(wanted)}`,
      async () => {
        const said = (await this.inside(place, script)).trim();
        if (said !== wanted) throw new Error(`it says ${JSON.stringify(said)}`);
        return true;
      },
      { timeout: 60_000, interval: 50, explain: () => place.agent.logTail() },
    );
  }

  /** Environment of the container's first process, as the kernel has it. */
  async environment(place: Place): Promise<ReadonlyMap<string, string>> {
    const text = await this.inside(place, "cat /proc/1/environ");
    const entries = text.split("\0").filter((entry) => entry !== "");
    return new Map(
      entries.map((entry) => {
        const at = entry.indexOf("=");
        return [entry.slice(0, at), entry.slice(at + 1)];
      }),
    );
  }

  /** UID of the pod, as its sandbox carries it. */
  async uid(pod: string): Promise<string> {
    const [sandbox = ""] = await this.stage.containersOf(pod, "sandbox");
    return (await this.stage.info(sandbox)).Labels["io.kubernetes.pod.uid"] ?? "";
  }

  /** Of the container's first process, on the host. */
  async pid(place: Place): Promise<number> {
    const id = idOf(await statusOf(place));
    const task = (await listTasks(this.stage.containerd)).find((one) => one.id === id);
    if (task === undefined) throw new Error(`${place.pod} has no task`);
    return task.pid;
  }
}

async function statusOf({ agent, pod, container = "main" }: Place) {
  return containerOf(await podOf(agent, pod), container);
}
