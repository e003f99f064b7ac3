// A simulated world: a machine, an authority behind a broker, the agent of the moment, and the hand that troubles them.

import { LABEL } from "../../src/api/labels.ts";
import { messageOf } from "../../src/lib/errors.ts";
import type { FakeContainer, Program } from "../fakes/fake-cri-world.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { SimAgent } from "./sim-agent.ts";
import { SimAuthority, TOPIC, type Want } from "./sim-authority.ts";
import { faultOf } from "./sim-faults.ts";
import { settleForeigners } from "./sim-foreigners.ts";
import { SimJudge, uidOf } from "./sim-judge.ts";
import { SimMachine } from "./sim-machine.ts";
import { ReportJudge } from "./sim-report-judge.ts";
import { isDeath } from "./sim-mortal.ts";
import {
  manifestText,
  NAMES,
  NODE,
  throwSetup,
  type SimName,
  type SimSetup,
  type SimSpec,
} from "./sim-specs.ts";
import {
  sayStep,
  type Breakage,
  type BrokerTrouble,
  type SimAct,
  type SimStep,
} from "./sim-steps.ts";

const WALL = { "1970": 0, later: Date.UTC(2031, 0, 1), earlier: Date.UTC(2026, 10, 20) };
/** systemd: RestartSec, TimeoutStopSec */
const RESTART_MS = 5_000;
const STOP_MS = 90_000;
/** A file that is read after a moment away. */
const MOMENT_MS = 400;

export class SimWorld implements Disposable {
  readonly setup: SimSetup;
  readonly machine: SimMachine;
  readonly judge: SimJudge;
  readonly reports: ReportJudge;
  readonly authority: SimAuthority;
  readonly #dice: Mulberry32;
  readonly #programDice: Mulberry32;
  /** What the manifest files say, were they all in order. */
  readonly #files = new Map<SimName, Want>();
  readonly #broken = new Set<SimName>();
  readonly #sick = new Set<SimName>();
  #agent: SimAgent | undefined;
  #revision = 0;
  #hostile = true;
  #diskFailures = 0;
  #wasAway = false;
  /** Something was set aside, which is tried again hourly. */
  setAside = false;
  /** Files that were written, or tried to. */
  filesWritten = 0;
  /** Then the agent cannot know what it once told the broker. */
  lostDatabase = false;

  constructor(seed: number) {
    this.setup = throwSetup(new Mulberry32(seed));
    this.#dice = new Mulberry32(seed ^ 0x5eed);
    this.#programDice = new Mulberry32(seed ^ 0xca5e);
    this.machine = new SimMachine({
      setup: this.setup,
      program: (container) => this.#program(container),
      exec: (container) => this.#exec(container),
      onCall: (call, args) => this.judge.onCall(call, args),
      onEvent: (event, cause) => this.judge.onEvent(event, cause),
    });
    const { clock, runtime, broker } = this.machine;
    this.authority = new SimAuthority(broker);
    this.judge = new SimJudge({
      clock,
      specs: this.setup.specs,
      runtime: () => runtime,
      agent: () => this.agent,
      wanted: () => this.#certain(),
      onNewLife: (uid) => this.reports.onNewLife(uid),
    });
    this.reports = new ReportJudge({
      broker,
      agent: () => this.agent,
      keyOf: (uid) => this.setup.specs.get(uid)?.key ?? uid,
      accuse: (text) => this.judge.accuse(text),
    });
    clock.onSettled = () => this.reports.look();
  }

  /** The process that lives, if one does. */
  get agent(): SimAgent | undefined {
    return this.#agent?.alive === true ? this.#agent : undefined;
  }

  /** What shall run, whether anybody has told the agent or not: files win. */
  desired(): readonly SimSpec[] {
    const documents = this.setup.protocolVersion === undefined ? undefined : this.authority.wants;
    return NAMES.flatMap((name) => {
      const want = this.#files.get(name) ?? documents?.get(name);
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
    const { clock, runtime, manifests, broker } = this.machine;
    this.judge.say("calm");
    this.#hostile = false;
    this.#sick.clear();
    this.#diskFailures = 0;
    runtime.faults.clear();
    runtime.events.muted = false;
    runtime.networkReady = true;
    this.machine.bringImages(true);
    runtime.start();
    this.#broker("well");
    manifests.hints = { mode: "precise", lagMs: 0 };
    manifests.bringBack(this.#texts());
    for (const name of NAMES) manifests.finish(fileOf(name));
    this.#start();
    // A muted stream comes to light only with the next one.
    runtime.events.end();
    await clock.advance(25_000);
    await this.#straighten();
    if (!this.authority.isRetained) this.authority.publish(this.authority.wants);
    broker.faults.latency = 0;
    await clock.settle();
  }

  dropAll(): void {
    for (const name of NAMES) {
      this.#files.delete(name);
      this.machine.manifests.remove(fileOf(name), "delete");
    }
    this.authority.publish(new Map());
  }

  [Symbol.dispose](): void {
    this.#agent?.kill();
    this.machine[Symbol.dispose]();
  }

  /** Broken files are mended; names that went with their directory are given back, to be deleted like any other. */
  async #straighten(): Promise<void> {
    for (const name of NAMES) {
      const want = this.#files.get(name);
      if (this.#broken.has(name) && want !== undefined) this.#put(name, want, "rename");
      if (want !== undefined || !(this.#wasAway || this.#broken.has(name))) continue;
      const [spec] = [...this.setup.specs.values()].filter((one) => one.name === name);
      if (spec === undefined) continue;
      this.#put(name, { spec, revision: 0 }, "rename");
      await this.machine.clock.advance(3_000);
      this.#files.delete(name);
      this.machine.manifests.remove(fileOf(name), "delete");
    }
    this.#broken.clear();
  }

  #act(act: SimAct): void {
    const { clock, runtime, manifests } = this.machine;
    switch (act.type) {
      case "Write":
        return this.#put(act.name, this.#want(act.name, act.version), act.how);
      case "Relabel": {
        const want = this.#files.get(act.name);
        return want && this.#put(act.name, { ...want, revision: ++this.#revision }, act.how);
      }
      case "Delete":
        manifests.remove(fileOf(act.name), act.how);
        this.#broken.delete(act.name);
        if (manifests.isThere) this.#files.delete(act.name);
        return;
      case "ReAdd":
        return this.#readd(act.name, act.atOnce);
      case "Break":
        return this.#break(act.name, act.how);
      case "Directory":
        if (act.there) return manifests.bringBack(this.#texts());
        this.#wasAway = true;
        return manifests.takeAway(act.how);
      case "Hints":
        manifests.hints = { mode: act.mode, lagMs: act.lagMs };
        return;
      case "Publish":
        return this.#publish(act.versions);
      case "BadDocument":
        return this.authority.publishBad(act.how);
      case "Broker":
        return this.#broker(act.how);
      case "LateWill":
        return this.#lateWill();
      case "Database":
        return this.#damage(act.how);
      case "Exit": {
        const container = this.#alive(act.index);
        return container && runtime.exit(container.id, act.exitCode);
      }
      case "KillSandbox":
        return this.#killSandbox(act.index);
      case "Lose": {
        const container = this.#alive(act.index);
        if (container === undefined) return;
        this.judge.onLost(container);
        return runtime.lose(container.id);
      }
      case "Health":
        if (act.healthy) this.#sick.delete(act.name);
        else this.#sick.add(act.name);
        return;
      case "Fault":
        return runtime.faults.order(act.call, faultOf(act), { times: act.times });
      case "ClearFaults":
        return runtime.faults.clear();
      case "Mute":
        runtime.events.muted = act.muted;
        return;
      case "EndStream":
        return runtime.events.end(act.broken ? new Error("stream broke") : undefined);
      case "Network":
        runtime.networkReady = act.ready;
        return;
      case "Images":
        return this.machine.bringImages(act.there);
      case "Daemon":
        return act.up ? runtime.start() : runtime.stop();
      case "Disk":
        this.#diskFailures = act.failures;
        return;
      case "Wall":
        return clock.stepWall(WALL[act.to] - clock.now());
      case "Reboot":
        this.#agent?.kill();
        this.machine.reboot();
        return this.judge.onReboot();
      case "Kill":
        return this.#agent?.kill(act.acts);
      case "Stop":
        return this.#stop();
      case "Start":
        return this.#start();
      case "Wait":
    }
  }

  #want(name: SimName, version: number): Want {
    const spec = [...this.setup.specs.values()].find(({ key }) => key === `${name}-${version}`);
    if (spec === undefined) throw new Error(`no spec ${name}-${version}`);
    return { spec, revision: ++this.#revision };
  }

  #put(name: SimName, want: Want, how: "rename" | "inPlace" | "slow"): void {
    const { manifests } = this.machine;
    if (!manifests.isThere) return;
    const onDone = (): void => {
      this.#files.set(name, want);
      this.#broken.delete(name);
    };
    manifests.write(fileOf(name), manifestText(want.spec, want.revision), { how, onDone });
  }

  #readd(name: SimName, atOnce: boolean): void {
    const { manifests, clock } = this.machine;
    const want = this.#files.get(name);
    if (want === undefined || this.#broken.has(name)) return;
    manifests.remove(fileOf(name), "delete");
    const again = (): void => this.#put(name, want, "rename");
    if (atOnce) return again();
    this.#files.delete(name);
    clock.after(MOMENT_MS, () => {
      if (!this.#files.has(name) && !this.#broken.has(name)) again();
    });
  }

  #break(name: SimName, how: Breakage): void {
    const { manifests } = this.machine;
    const want = this.#files.get(name);
    if (!manifests.isThere) return;
    const good = want === undefined ? "" : manifestText(want.spec, want.revision);
    const misspelt = good.replace("restartPolicy:", "restartPolcy:");
    const torn = "apiVersion: v1\nkind: Pod\nmetadata: {name: web\n";
    const text = how === "empty" ? "" : how === "syntax" || good === "" ? torn : misspelt;
    manifests.finish(fileOf(name));
    this.#broken.add(name);
    const written = how === "empty" ? "inPlace" : "rename";
    manifests.write(fileOf(name), text, { how: written, onDone: () => undefined });
  }

  #texts(): ReadonlyMap<string, string> {
    const all = [...this.#files].map(([name, { spec, revision }]) => {
      return [fileOf(name), manifestText(spec, revision)] as const;
    });
    return new Map(all);
  }

  #publish(versions: readonly number[]): void {
    const wants = NAMES.flatMap((name, index): readonly (readonly [SimName, Want])[] => {
      const version = versions[index] ?? 0;
      if (version === 0) return [];
      const want = this.#want(name, version);
      return want.spec.hostNetwork ? [] : [[name, want]];
    });
    this.authority.publish(new Map(wants));
  }

  #broker(how: BrokerTrouble): void {
    const { broker } = this.machine;
    switch (how) {
      case "down":
        return broker.stop();
      case "wiped":
        broker.stop(true);
        this.authority.isRetained = false;
        return broker.start();
      case "silent":
        broker.faults.refuse = "silent";
        return broker.cut(NODE);
      case "refuses":
        broker.faults.refuse = 0x88;
        return broker.cut(NODE);
      case "kick":
        return broker.close(NODE, this.#dice.chance(0.3) ? 0x8e : 0x98);
      case "cut":
        return broker.cut(NODE);
      case "losesSubacks":
        broker.faults.loseSubacks = true;
        return broker.cut(NODE);
      case "losesPubacks":
        broker.faults.losePubacks = true;
        return;
      case "slow":
        broker.faults.latency = 900;
        return;
      case "closesOnDesired":
        broker.faults.closesOn.add(TOPIC.desired);
        return broker.cut(NODE);
      case "well":
        broker.start();
        broker.faults.loseSubacks = false;
        broker.faults.losePubacks = false;
        broker.faults.closesOn.clear();
        broker.faults.latency = 0;
    }
  }

  #lateWill(): void {
    const { broker } = this.machine;
    const will = broker.connectOptions.get(NODE)?.will;
    if (will !== undefined) broker.take("", will);
  }

  #damage(how: "lost" | "corrupt" | "everything"): void {
    if (this.agent !== undefined) return;
    if (how === "everything") this.reports.forgetDocuments();
    this.lostDatabase = true;
    this.machine.damage(how);
  }

  /** What is sure to run: names whose file nobody can read say nothing clear. */
  #certain(): ReadonlySet<string> {
    if (!this.machine.manifests.isThere) return new Set();
    const clear = this.desired().filter(({ name }) => !this.#broken.has(name));
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
        clock: machine.clock,
        root: machine.root,
        manifests: machine.manifests,
        mounts: machine.mounts,
        broker: machine.broker,
        runtime: machine.runtime,
        bootId: machine.bootId,
        bootedAt: machine.bootedAt,
        protocolVersion: this.setup.protocolVersion,
        random: this.#dice,
        isWell: (id) => this.#isWell(machine.runtime.sandboxes.get(id)?.config.labels),
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

  #killSandbox(index: number): void {
    const { runtime } = this.machine;
    const ours = [...runtime.sandboxes.values()].filter(
      ({ id, ready }) => ready && !this.judge.foreign.has(id),
    );
    const sandbox = ours[index % Math.max(1, ours.length)];
    if (sandbox === undefined) return;
    this.judge.onSandboxDeath(sandbox.id);
    runtime.killSandbox(sandbox.id);
  }

  #alive(index: number): FakeContainer | undefined {
    const { runtime } = this.machine;
    const ours = runtime
      .running()
      .filter(({ id }) => runtime.isAlive(id) && !this.judge.foreign.has(id));
    return ours[index % Math.max(1, ours.length)];
  }

  #program(container: FakeContainer): Program {
    const spec = this.setup.specs.get(uidOf(container) ?? "");
    const name = container.config.metadata?.name;
    const own = spec?.containers.find((one) => one.name === name);
    if (this.judge.foreign.has(container.sandboxId)) return {};
    if (spec === undefined || own === undefined) return {};
    const { stopsAfterMs = 0, exitsAfterMs } = own.program;
    const policy = own.restartPolicy ?? spec.restartPolicy;
    if (!this.#hostile) {
      const stays = own.role === "sidecar" || (own.role === "app" && policy === "Always");
      return stays || exitsAfterMs === undefined
        ? { stopsAfterMs }
        : { stopsAfterMs, exitsAfterMs: 1_000, exitCode: 0 };
    }
    const isBad = spec.startErrors > 0 && this.#programDice.chance(spec.startErrors);
    return isBad ? { ...own.program, startError: "exec: no such file" } : own.program;
  }

  #exec({ config }: FakeContainer): { readonly exitCode: number } {
    return { exitCode: this.#isWell(config.labels) ? 0 : 1 };
  }

  #isWell(labels: Readonly<Record<string, string>> = {}): boolean {
    const name = labels[LABEL.podName];
    return !NAMES.some((one) => one === name && this.#sick.has(one));
  }
}

function fileOf(name: SimName): string {
  return `${name}.yaml`;
}
