// What the tests of a pod's life stand on: fixtures with a journal, gates that let their containers go on, and agents.

import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { afterAll, beforeAll, type test } from "bun:test";
import { parseAllDocuments } from "yaml";

import { AgentProcess, type AgentOptions } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import type { ContainerdEvent } from "../harness/watch-containerd.ts";
import { exitStatus, Stage } from "./support-a-stage.ts";

const FIXTURES = resolve(import.meta.dir, "../fixtures/e2e/life");
/** `(PORT)` in a fixture. */
const BLANK = /\(([A-Z_]+)\)/g;

export type Blanks = Readonly<Record<string, string | number>>;

export interface JournalLine {
  /** Seconds since boot. */
  readonly at: number;
  /** `app start`. */
  readonly said: string;
}

export interface ContainerEnd {
  /** Seconds since boot. */
  readonly at: number;
  readonly exitCode: number;
}

/** What the tests of one file share. */
export interface Life {
  readonly life: LifeStage;
  readonly stage: Stage;
  /** `test`, or a skipping one that says why. */
  readonly e2e: typeof test;
  /** Runs from before the first test to the end of the file. */
  readonly agent: AgentProcess;
}

export async function openLife(): Promise<Life> {
  const life = await LifeStage.open();
  const { stage } = life;
  // Without containerd every test is skipped, and this one is never started.
  const nowhere = { endpoint: "unix:///nowhere", cgroupRoot: "/" };
  const agent = stage.available ? life.agent() : new AgentProcess(stage.temp, nowhere);
  beforeAll(async () => {
    if (stage.available) await agent.startReady();
  }, 180_000);
  afterAll(() => stage.close(), 180_000);
  return { life, stage, e2e: stage.test, agent };
}

export class LifeStage {
  readonly stage: Stage;

  private constructor(stage: Stage) {
    this.stage = stage;
  }

  static async open(): Promise<LifeStage> {
    const stage = await Stage.open();
    const bin = join(FIXTURES, "bin");
    for (const name of readdirSync(bin)) {
      const path = join(stage.journals, name);
      cpSync(join(bin, name), path);
      chmodSync(path, 0o755);
    }
    return new LifeStage(stage);
  }

  /** An agent whose crash loops wait no longer than `backoff` between two starts. */
  agent(options: Partial<AgentOptions> & { readonly backoff?: string } = {}): AgentProcess {
    const { backoff = "1s", config, ...rest } = options;
    const crashLoopBackOff = { maxContainerRestartPeriod: backoff };
    return this.stage.agent({ ...rest, config: { crashLoopBackOff, ...config } });
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

  lines(pod: string): readonly JournalLine[] {
    return this.stage.journal(pod).map((line) => {
      const space = line.indexOf(" ");
      return { at: Number(line.slice(0, space)), said: line.slice(space + 1) };
    });
  }

  said(pod: string): readonly string[] {
    return this.lines(pod).map(({ said }) => said);
  }

  /** Waits until the journal has come to exactly these lines. */
  async journalIs(pod: string, lines: readonly string[], timeout = 60_000): Promise<void> {
    const wanted = JSON.stringify(lines);
    await eventually(
      `the journal of ${pod} is ${wanted}`,
      () => JSON.stringify(this.said(pod)) === wanted,
      { timeout, explain: () => `the journal of ${pod}: ${JSON.stringify(this.said(pod))}` },
    );
  }

  /** The line that says so for the `nth` time; waits for it. */
  async heard(pod: string, said: string, nth = 1): Promise<JournalLine> {
    return eventually(
      `${pod} says "${said}" ${nth} times`,
      () => this.lines(pod).filter((line) => line.said === said)[nth - 1],
      {
        timeout: 60_000,
        explain: () => `the journal of ${pod}: ${JSON.stringify(this.said(pod))}`,
      },
    );
  }

  /** Lets the container go on that waits at this gate, or that looks for it. */
  openGate(name: string): void {
    writeFileSync(this.#gate(name), "");
  }

  closeGate(name: string): void {
    rmSync(this.#gate(name), { force: true });
  }

  /** How a container ended, by containerd's own event; waits for it. */
  async end(id: string): Promise<ContainerEnd> {
    const exit = await eventually(`container ${id} has ended`, () => this.#exitOf(id), {
      timeout: 60_000,
    });
    return { at: sinceBoot(exit), exitCode: exitStatus(exit) ?? 0 };
  }

  hasEnded(id: string): boolean {
    return this.#exitOf(id) !== undefined;
  }

  /** Ends the first process of a container or sandbox. */
  async killTask(id: string): Promise<void> {
    await this.stage.containerd.ctr("tasks", "kill", "--signal", "SIGKILL", id);
  }

  #exitOf(id: string): ContainerdEvent | undefined {
    return this.stage.watch.exits().find((event) => event.containerId === id);
  }

  #gate(name: string): string {
    return join(this.stage.journals, `open-${name}`);
  }
}

/** Seconds since boot, as the journals have them. */
export function uptime(): number {
  return Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]);
}

function sinceBoot(event: ContainerdEvent): number {
  return uptime() - (Date.now() - event.at) / 1_000;
}
