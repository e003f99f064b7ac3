// A simulated world: a machine, an authority behind a broker, the agent of the moment, and the hand that troubles them.

import { messageOf } from "../../src/lib/errors.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { SimAgent } from "./sim-agent.ts";
import { SimAuthor } from "./sim-author.ts";
import { SimAuthority, type Want } from "./sim-authority.ts";
import { Behaviour } from "./sim-behaviour.ts";
import { lateWill, troubleBroker } from "./sim-broker-trouble.ts";
import { settleForeigners } from "./sim-foreigners.ts";
import { SimJudge } from "./sim-judge.ts";
import { SimMachine } from "./sim-machine.ts";
import { isDeath } from "./sim-mortal.ts";
import { ReportJudge } from "./sim-report-judge.ts";
import { troubleRuntime } from "./sim-runtime-trouble.ts";
import { NAMES, throwSetup, type SimName, type SimSetup, type SimSpec } from "./sim-specs.ts";
import { sayStep, type BrokerTrouble, type SimAct, type SimStep } from "./sim-steps.ts";

const WALL = { "1970": 0, later: Date.UTC(2031, 0, 1), earlier: Date.UTC(2026, 10, 20) };
/** systemd: RestartSec, TimeoutStopSec */
const RESTART_MS = 5_000;
const STOP_MS = 90_000;

export class SimWorld implements Disposable {
  readonly setup: SimSetup;
  readonly machine: SimMachine;
  readonly judge: SimJudge;
  readonly reports: ReportJudge;
  readonly authority: SimAuthority;
  readonly #author: SimAuthor;
  readonly #behaviour: Behaviour;
  readonly #dice: Mulberry32;
  #agent: SimAgent | undefined;
  #diskFailures = 0;
  /** Something was set aside, which is tried again hourly. */
  setAside = false;
  /** Files that were written, or tried to. */
  filesWritten = 0;
  /** Then the agent cannot know what it once told the broker. */
  lostDatabase = false;

  constructor(seed: number) {
    this.setup = throwSetup(new Mulberry32(seed));
    this.#dice = new Mulberry32(seed ^ 0x5eed);
    const programDice = new Mulberry32(seed ^ 0xca5e);
    this.#behaviour = new Behaviour(programDice, () => this.judge.ledger);
    this.machine = new SimMachine({
      setup: this.setup,
      program: (container) => this.#behaviour.program(container),
      exec: (container) => ({ exitCode: this.#behaviour.isWell(container) ? 0 : 1 }),
      onCall: (call, args) => this.judge.onCall(call, args),
      onEvent: (event, cause) => this.judge.onEvent(event, cause),
    });
    const { clock, runtime, broker, manifests } = this.machine;
    const { specs } = this.setup;
    this.authority = new SimAuthority(broker);
    this.judge = new SimJudge({
      clock,
      specs,
      runtime: () => runtime,
      agent: () => this.agent,
      wanted: () => this.#certain(),
      onNewLife: (uid) => this.reports.onNewLife(uid),
    });
    const onWanted = (uid: string): void => this.judge.onWanted(uid);
    this.#author = new SimAuthor({ manifests, clock, specs, onWanted });
    this.reports = new ReportJudge({
      broker,
      agent: () => this.agent,
      keyOf: (uid) => specs.get(uid)?.key ?? uid,
      accuse: (text) => this.judge.accuse(text),
    });
    clock.onSettled = () => {
      this.judge.look();
      this.reports.look();
    };
  }

  /** The process that lives, if one does. */
  get agent(): SimAgent | undefined {
    return this.#agent?.alive === true ? this.#agent : undefined;
  }

  /** What shall run, whether anybody has told the agent or not: files win. */
  desired(): readonly SimSpec[] {
    const documents = this.setup.protocolVersion === undefined ? undefined : this.authority.wants;
    return NAMES.flatMap((name) => {
      const want = this.#author.files.get(name) ?? documents?.get(name);
      return want === undefined ? [] : [want.spec];
    });
  }

  settleForeigners(): Promise<void> {
    const { runtime, clock } = this.machine;
    const all = { runtime, specs: this.setup.specs.values() };
    return settleForeigners(all, this.judge.foreign, async (call) => {
      await clock.advance(5_000);
      return call;
    });
  }

  async perform(step: SimStep): Promise<void> {
    const { clock } = this.machine;
    this.judge.say(sayStep(step));
    this.#act(step);
    await clock.settle();
    await clock.advance(step.pause);
  }

  /** Every trouble ends, every source says clearly what it wants, an agent runs. */
  async calm(): Promise<void> {
    const { clock, runtime, broker } = this.machine;
    this.judge.say("calm");
    this.machine.calm();
    this.#behaviour.calm();
    this.#diskFailures = 0;
    this.#trouble("well");
    this.#author.bringBack();
    this.#author.finish();
    this.#start();
    // A muted stream comes to light only with the next one.
    runtime.events.end();
    await clock.advance(25_000);
    await this.#author.straighten((ms) => clock.advance(ms));
    if (!this.authority.isRetained) this.authority.publish(this.authority.wants);
    broker.faults.latency = 0;
    await clock.settle();
  }

  /** Deletes the file of this pod, and writes it again as it was. */
  async readd({ name }: SimSpec): Promise<void> {
    const want = this.#author.files.get(name);
    if (want === undefined) return;
    this.#author.remove(name, "delete");
    await this.machine.clock.advance(3_000);
    this.#author.put(name, want, "rename");
  }

  /** Only its file asks for it. */
  isOfFile({ name }: SimSpec): boolean {
    return this.#author.files.has(name) && !this.authority.wants.has(name);
  }

  dropAll(): void {
    for (const name of NAMES) this.#author.remove(name, "delete");
    this.authority.publish(new Map());
  }

  [Symbol.dispose](): void {
    this.#agent?.kill();
    this.machine[Symbol.dispose]();
  }

  #act(act: SimAct): void {
    const { clock, manifests, broker } = this.machine;
    const author = this.#author;
    switch (act.type) {
      case "Write":
        return author.put(act.name, author.want(act.name, act.version), act.how);
      case "Relabel":
        return author.relabel(act.name, act.how);
      case "Delete":
        return author.remove(act.name, act.how);
      case "ReAdd":
        return author.readd(act.name, act.atOnce);
      case "Break":
        return author.break(act.name, act.how);
      case "Directory":
        return act.there ? author.bringBack() : author.takeAway(act.how);
      case "Hints":
        manifests.hints = { mode: act.mode, lagMs: act.lagMs };
        return;
      case "Publish":
        return this.#publish(act.versions);
      case "BadDocument":
        return this.authority.publishBad(act.how);
      case "Broker":
        return this.#trouble(act.how);
      case "LateWill":
        return lateWill(broker);
      case "Database":
        return this.#damage(act.how);
      case "Health":
        return this.#behaviour.setHealth(act.name, act.healthy);
      case "Exit":
      case "KillSandbox":
      case "Lose":
      case "Fault":
      case "ClearFaults":
      case "Mute":
      case "EndStream":
      case "Network":
      case "Images":
      case "Daemon":
        return troubleRuntime(act, this.machine, this.judge);
      case "Disk":
        this.#diskFailures = act.failures;
        return;
      case "Wall":
        return clock.stepWall(WALL[act.to] - clock.now());
      case "Reboot":
        this.#agent?.kill();
        this.machine.reboot();
        return this.judge.onReboot(this.machine.bootedAt);
      case "Kill":
        return this.#agent?.kill(act.acts);
      case "Stop":
        return this.#stop();
      case "Start":
        return this.#start();
      case "Wait":
    }
  }

  #publish(versions: readonly number[]): void {
    const wants = NAMES.flatMap((name, index): readonly (readonly [SimName, Want])[] => {
      const version = versions[index] ?? 0;
      if (version === 0) return [];
      const want = this.#author.want(name, version);
      return want.spec.hostNetwork ? [] : [[name, want]];
    });
    for (const [, { spec }] of wants) this.judge.onWanted(spec.uid);
    this.authority.publish(new Map(wants));
  }

  #trouble(how: BrokerTrouble): void {
    if (how === "wiped") this.authority.isRetained = false;
    troubleBroker(this.machine.broker, how, this.#dice);
  }

  #damage(how: "lost" | "corrupt" | "everything"): void {
    if (this.agent !== undefined) return;
    if (how === "everything") this.reports.forgetDocuments();
    this.lostDatabase = true;
    this.reports.forgetEnds();
    this.judge.onLostDatabase();
    this.machine.damage(how);
  }

  /** What is sure to run: names whose file nobody can read say nothing clear. */
  #certain(): ReadonlySet<string> {
    if (!this.machine.manifests.isThere) return new Set();
    const clear = this.desired().filter(({ name }) => !this.#author.isBroken(name));
    return new Set(clear.map(({ uid }) => uid));
  }

  #stop(): void {
    const agent = this.#agent;
    if (agent?.alive !== true) return;
    agent.stop();
    this.machine.clock.after(STOP_MS, () => agent.kill());
  }

  #start(): void {
    if (this.agent !== undefined && !this.agent.isDoomed) return;
    this.#agent?.kill();
    this.#agent = undefined;
    this.judge.onNewProcess();
    if (this.setup.statusLagMs > 0) this.reports.forgetEnds();
    const { machine, judge } = this;
    try {
      this.#agent = new SimAgent({
        ...machine.facts,
        protocolVersion: this.setup.protocolVersion,
        random: this.#dice,
        specs: this.setup.specs,
        isWell: (container) => this.#behaviour.isWell(container),
        onKnock: (knock) => judge.onKnock(knock),
        onFailure: (uid, failure) => judge.onFailure(uid, failure),
        onLine: (line) => this.#onLine(line),
        mayWrite: () => this.#mayWrite(),
        onBegin: (fresh, agent) => judge.onBegin(fresh, agent),
        onSettle: (uid) => judge.onSettle(uid),
        onAccepted: (generation, digest) => this.reports.onAccepted(generation, digest),
        onFall: (why) => judge.accuse(`the agent fell: ${why}`),
      });
      this.reports.onStart(this.#agent);
    } catch (error) {
      if (isDeath(error)) return;
      judge.say(`  cannot start: ${messageOf(error)}`);
      machine.clock.after(RESTART_MS, () => this.#start());
    }
  }

  #onLine(line: string): void {
    if (line.includes("set aside")) this.setAside = true;
    if (process.env["AGENT_SIM_LOG"] !== undefined) this.judge.say(`    ${line.trim()}`);
  }

  #mayWrite(): boolean {
    this.filesWritten += 1;
    if (this.#diskFailures === 0) return true;
    this.#diskFailures -= 1;
    this.judge.say("  disk full");
    return false;
  }
}
