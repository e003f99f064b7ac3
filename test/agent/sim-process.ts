// The process of the moment on a simulated machine: started, stopped and killed as systemd and the world have it, on a
// disk that is full now and then and loses things while nobody runs.

import { messageOf } from "../../src/lib/errors.ts";
import type { Random } from "../../src/lib/random.ts";
import { SimAgent } from "./sim-agent.ts";
import type { Behaviour } from "./sim-behaviour.ts";
import type { SimJudge } from "./sim-judge.ts";
import type { SimMachine } from "./sim-machine.ts";
import { isDeath } from "./sim-mortal.ts";
import { MARK } from "./sim-objects.ts";
import type { SimLine } from "./sim-pulls.ts";
import type { ReportJudge } from "./sim-report-judge.ts";
import type { SimSetup } from "./sim-specs.ts";
import type { SimAct } from "./sim-steps.ts";

/** systemd: RestartSec, TimeoutStopSec */
const RESTART_MS = 5_000;
const STOP_MS = 90_000;

function uidIn(line: string): string {
  return /"uid":"([^"]*)"/.exec(line)?.[1] ?? "";
}

export interface ProcessOptions {
  readonly machine: SimMachine;
  readonly setup: SimSetup;
  readonly random: Random;
  readonly judge: () => SimJudge;
  readonly reports: () => ReportJudge;
  readonly behaviour: Behaviour;
  readonly line: SimLine;
  /** Nobody remembers what files said before they were broken. */
  readonly onLostCopies: () => void;
  /** A document is on the disk now. */
  readonly onAccepted: (digest: string) => void;
}

export class SimProcess implements Disposable {
  readonly #options: ProcessOptions;
  #agent: SimAgent | undefined;
  readonly #all: SimAgent[] = [];
  /** So many writes fail from now on. */
  diskFailures = 0;
  /** Something was set aside, which is tried again hourly. */
  setAside = false;
  /** Files that were written, or tried to. */
  filesWritten = 0;
  /** Then the agent cannot know what it once told the broker. */
  lostDatabase = false;
  /** Volumes of pods that run went with all else. */
  lostEverything = false;

  constructor(options: ProcessOptions) {
    this.#options = options;
  }

  /** The one that lives, if one does. */
  get agent(): SimAgent | undefined {
    return this.#agent?.alive === true ? this.#agent : undefined;
  }

  start(): void {
    if (this.agent !== undefined && !this.agent.isDoomed) return;
    this.#agent?.kill();
    this.#agent = undefined;
    const { machine, setup } = this.#options;
    const [judge, reports] = [this.#options.judge(), this.#options.reports()];
    judge.onNewProcess();
    this.#options.line.onProcess();
    if (setup.statusLagMs > 0) reports.forgetEnds();
    try {
      this.#agent = this.#newAgent(judge, reports);
      if (this.#all.length === 0) this.#bringImages(this.#agent);
      this.#all.push(this.#agent);
      reports.onStart(this.#agent);
    } catch (error) {
      if (isDeath(error)) return;
      judge.say(`  cannot start: ${messageOf(error)}`);
      machine.clock.after(RESTART_MS, () => this.start());
    }
  }

  /** SIGTERM, and SIGKILL where it does not help. */
  stop(): void {
    const agent = this.#agent;
    if (agent?.alive !== true) return;
    agent.stop();
    this.#options.machine.clock.after(STOP_MS, () => agent.kill());
  }

  kill(acts = 0): void {
    this.#agent?.kill(acts);
  }

  /** A new one takes the place of the old one, and may find something lost. */
  async restart(lost?: "key"): Promise<void> {
    this.kill();
    await this.#options.machine.clock.settle();
    if (lost !== undefined) this.damage(lost);
    this.start();
  }

  /** Something of its state is lost, if none lives. */
  damage(how: Extract<SimAct, { type: "Database" }>["how"]): void {
    if (this.agent !== undefined) return;
    const { machine, onLostCopies } = this.#options;
    const [judge, reports] = [this.#options.judge(), this.#options.reports()];
    onLostCopies();
    if (how === "everything") {
      reports.forgetDocuments();
      this.lostEverything = true;
    }
    machine.damage(how);
    if (how === "key") return;
    this.lostDatabase = true;
    reports.forgetEnds();
    judge.onLostDatabase();
  }

  /** Nothing is heard of any of them any more. */
  release(): void {
    this.#agent?.kill();
    for (const agent of this.#all) agent.release();
  }

  [Symbol.dispose](): void {
    this.release();
  }

  #newAgent(judge: SimJudge, reports: ReportJudge): SimAgent {
    const { machine, setup, random, behaviour } = this.#options;
    return new SimAgent({
      ...machine.facts,
      line: this.#options.line,
      setup,
      random,
      isWell: (container) => behaviour.isWell(container),
      onKnock: (knock) => judge.onKnock(knock),
      onFailure: (uid, failure) => judge.onFailure(uid, failure),
      onForget: (uid, { desired }) => judge.onForget(uid, desired),
      onLine: (line) => this.#onLine(line),
      mayWrite: () => this.#mayWrite(),
      onVolume: (volume) => judge.config.onVolume(volume),
      accuse: (text) => judge.accuse(text),
      onBegin: (fresh, agent) => judge.onBegin(fresh, agent),
      onSettle: (uid) => judge.onSettle(uid),
      onAccepted: (generation, digest) => {
        reports.onAccepted(generation, digest);
        this.#options.onAccepted(digest);
      },
      onFall: (why) => judge.accuse(`the agent crashed: ${why}`),
    });
  }

  /** As an earlier agent of this machine has left them. */
  #bringImages({ store }: SimAgent): void {
    const { machine, setup, judge } = this.#options;
    if (!setup.imageDisk) return;
    machine.imageDisk.bring();
    const rows = machine.imageDisk.rows();
    store.images.put(rows);
    judge().images.onBrought(rows.flatMap(({ names }) => names));
  }

  #onLine(line: string): void {
    const judge = this.#options.judge();
    if (line.includes("set aside") || line.includes("for an hour")) this.setAside = true;
    if (line.includes('"msg":"Evict"')) judge.pressure.onEvict(uidIn(line));
    if (line.includes('"msg":"cannot free space","what":"images"')) judge.pressure.onImagesStay();
    if (line.includes("; it is stopped anyway") && this.agent !== undefined) {
      const why = line.includes("of an evicted pod") ? "Evicted" : "Shutdown";
      judge.onUnstored([{ uid: uidIn(line), namespace: "", name: "", why }], this.agent);
    }
    if (line.includes("cannot store the state of the shutdown")) judge.shutdown.onUnstored();
    if (line.includes(MARK)) judge.accuse(`a log line contains a Secret: ${line.trim()}`);
    if (process.env["AGENT_SIM_LOG"] !== undefined) judge.say(`    ${line.trim()}`);
  }

  #mayWrite(): boolean {
    this.filesWritten += 1;
    if (this.diskFailures === 0) return true;
    this.diskFailures -= 1;
    this.#options.judge().say("  disk full");
    return false;
  }
}
