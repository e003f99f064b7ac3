// A simulated world: a machine, an authority behind a broker, the agent of the moment, and the hand that troubles them.

import type { Monotonic } from "../../src/lib/clock.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import type { SimAgent } from "./sim-agent.ts";
import { CommandHand } from "./sim-command-hand.ts";
import { SimAuthor } from "./sim-author.ts";
import { SimRollouts, throwPolicy, type SimPolicy } from "./sim-rollouts.ts";
import { SimAuthority, type Want } from "./sim-authority.ts";
import { Behaviour } from "./sim-behaviour.ts";
import { lateWill, troubleBroker } from "./sim-broker-trouble.ts";
import { settleForeigners } from "./sim-foreigners.ts";
import { SimJudge } from "./sim-judge.ts";
import { SimMachine } from "./sim-machine.ts";
import { SimProcess } from "./sim-process.ts";
import { SimLine } from "./sim-pulls.ts";
import { ReportJudge } from "./sim-report-judge.ts";
import { troubleRuntime } from "./sim-runtime-trouble.ts";
import { ObjectHand } from "./sim-object-hand.ts";
import type { ObjectName } from "./sim-objects.ts";
import { setShortage } from "./sim-pressure.ts";
import { acceptable, comesFirst, fitTogether } from "./sim-room.ts";
import {
  LATER,
  NAMES,
  throwSetup,
  type SimName,
  type SimSetup,
  type SimSpec,
} from "./sim-specs.ts";
import { sayStep, WALL, type BrokerTrouble, type SimAct, type SimStep } from "./sim-steps.ts";
import { throwTrust } from "./sim-trust-dice.ts";
import { FLEET, TrustHand } from "./sim-trust-hand.ts";
import { ObjectTruth, type Reader } from "./sim-truth.ts";

export class SimWorld implements Disposable {
  readonly setup: SimSetup;
  readonly machine: SimMachine;
  readonly judge: SimJudge;
  readonly line: SimLine;
  readonly reports: ReportJudge;
  readonly authority: SimAuthority;
  readonly rollouts: SimRollouts;
  /** Of all its documents. */
  readonly policy: SimPolicy;
  readonly truth: ObjectTruth;
  readonly objects: ObjectHand;
  readonly process: SimProcess;
  /** Where signatures count. */
  readonly trust: TrustHand | undefined;
  /** Where somebody gives orders. */
  readonly commands: CommandHand | undefined;
  readonly #author: SimAuthor;
  readonly #behaviour: Behaviour;
  readonly #dice: Mulberry32;
  readonly seed: number;

  /** `changes`: what a told story needs to be otherwise than thrown. */
  constructor(seed: number, changes: Partial<SimSetup> = {}) {
    this.seed = seed;
    const thrown = { ...throwSetup(seed), ...changes };
    const hasBroker = thrown.protocolVersion !== undefined;
    const trusts = thrown.trust ?? (hasBroker ? throwTrust(seed) : undefined);
    const mqtt = trusts?.signed === true ? { fleet: FLEET } : {};
    this.setup = { ...thrown, mqtt: { ...mqtt, ...thrown.mqtt } };
    this.#dice = new Mulberry32(seed ^ 0x5eed);
    const programDice = new Mulberry32(seed ^ 0xca5e);
    this.#behaviour = new Behaviour(programDice, () => this.judge.ledger);
    this.machine = new SimMachine({
      seed,
      setup: this.setup,
      program: (container) => this.#behaviour.program(container),
      exec: (container) => ({ exitCode: this.#behaviour.isWell(container) ? 0 : 1 }),
      onCall: (call, args) => this.judge.onCall(call, args),
      onEvent: (event, cause) => this.judge.onEvent(event, cause),
      onStartError: (container) => this.judge.ledger.onEnd(container, { code: 128, cause: "self" }),
    });
    const { clock, runtime, broker, manifests } = this.machine;
    const { specs, homes } = this.setup;
    this.line = new SimLine({
      seed,
      isBad: this.setup.badLine,
      clock,
      accuse: (text) => this.judge.accuse(text),
      wanted: () => this.agent?.imagesWanted(),
    });
    if (this.line.isBad) runtime.images.delete(LATER);
    const authority = new SimAuthority(broker);
    this.authority = authority;
    this.truth = new ObjectTruth({
      files: () => this.#author.objects,
      unclear: () => this.#author.unclear,
      documents: () => (hasBroker ? authority.objects : new Map()),
      signed: trusts?.signed === true,
      isKept: (name) => this.machine.isKept(name),
    });
    this.policy = throwPolicy(seed);
    authority.policy = this.policy;
    authority.onPublish = (wants) =>
      this.rollouts.onPublished([...wants.values()].map(({ spec }) => spec));
    this.rollouts = new SimRollouts({
      specs,
      policy: () => this.policy,
      agent: () => this.agent,
      wanted: (name) => (hasBroker ? authority.wants.get(name)?.spec : undefined),
    });
    const onChange = (): void => this.judge.config.onTruth();
    const onWanted = (uid: string): void => this.judge.onWanted(uid, "file");
    const agentSince = (): Monotonic | undefined =>
      this.agent === undefined ? undefined : this.judge.ledger.processSince;
    this.#author = new SimAuthor({
      manifests,
      clock,
      specs,
      homes,
      onWanted,
      onChange,
      agentSince,
    });
    this.judge = new SimJudge({
      clock,
      specs,
      truth: this.truth,
      mounts: this.machine.mounts,
      runtime: () => runtime,
      agent: () => this.agent,
      wanted: () => this.#certain(),
      signed: () => trusts?.signed === true,
      ownImageFs: this.setup.ownImageFs,
      unseenMs: unseenMs(this.setup),
      goesBack: (name) => this.rollouts.goesBack(name),
      isBehind: () => {
        const accepted = this.agent?.store.documents.get("mqtt:node")?.generation ?? 0;
        return hasBroker && accepted !== authority.generation;
      },
      onNewLife: (uid) => this.reports.onNewLife(uid),
    });
    this.objects = new ObjectHand({
      author: this.#author,
      authority,
      truth: this.truth,
      onPublished: onChange,
      wanted: () => this.#readers(),
    });
    this.process = new SimProcess({
      machine: this.machine,
      setup: this.setup,
      random: this.#dice,
      judge: () => this.judge,
      reports: () => this.reports,
      behaviour: this.#behaviour,
      line: this.line,
      onLostCopies: () => this.#author.loseLastGood(),
      onAccepted: (digest) => this.trust?.onAccepted(digest),
    });
    if (trusts?.signed === true)
      this.trust = new TrustHand({
        broker,
        authority,
        directory: this.machine.trust,
        agent: () => this.agent,
        lostEverything: () => this.process.lostEverything,
        accuse: (text) => this.judge.accuse(text),
      });
    if (trusts?.commands === true)
      this.commands = new CommandHand({
        broker,
        orders: () => this.judge.orders,
        signer: () => this.trust?.commander,
      });
    this.reports = new ReportJudge({
      broker,
      agent: () => this.agent,
      keyOf: (uid) => specs.get(uid)?.key ?? uid,
      lastAttempt: (uid, name) => this.judge.ledger.lastAttempts.get(`${uid}/${name}`) ?? 0,
      isThere: (uid) => this.judge.ledger.containersOf(uid).length > 0,
      accuse: (text) => this.judge.accuse(text),
      onAck: (ack) => this.trust?.onAck(ack),
    });
    clock.onSettled = () => {
      this.judge.look();
      this.reports.look();
      this.commands?.look();
      this.trust?.look();
    };
  }

  /** The process that lives, if one does. */
  get agent(): SimAgent | undefined {
    return this.process.agent;
  }

  /** What shall run, whether anybody has told the agent or not: files win. */
  desired(): readonly SimSpec[] {
    const refused = this.refused();
    return this.#asked().filter((spec) => !refused.includes(spec));
  }

  /** Whether not all that is asked for fits beside each other. */
  isCrowded(): boolean {
    const [one, other] = this.#asked();
    return one !== undefined && other !== undefined && !fitTogether(one, other);
  }

  /** What is asked for and does not fit: beside a file's pod it is the document's; among equals it is what the agent says. */
  refused(): readonly SimSpec[] {
    const asked = this.#asked();
    const [one, other] = asked.map((spec) => this.#taking(spec));
    if (one === undefined || other === undefined || fitTogether(one, other)) return [];
    const wants = asked.map((spec) => {
      const isOfFile = this.readerOf(spec) === "file";
      return { spec, isOfFile, lingers: !isOfFile && this.rollouts.lingers(spec.name) };
    });
    const first = wants.find((want) => wants.every((one) => one === want || comesFirst(want, one)));
    // One that waits for the other makes no room for itself.
    if (first !== undefined && first.spec.dependsOn === undefined)
      return asked.filter((spec) => spec !== first.spec);
    const admitted = new Set(this.agent?.desired.pods.map(({ uid }) => uid));
    return asked.filter(({ uid }) => !admitted.has(uid)).slice(0, 1);
  }

  /** One that has come to its end takes no processor; its port stays its own. */
  #taking(spec: SimSpec): SimSpec {
    const shown = this.agent?.shown().find(({ pod }) => pod.metadata.uid === spec.uid);
    const phase = shown?.status.phase;
    return phase === "Succeeded" || phase === "Failed" ? { ...spec, cpu: 0 } : spec;
  }

  #asked(): readonly SimSpec[] {
    return NAMES.flatMap((name) => {
      const spec = this.#author.files.get(name)?.spec ?? this.rollouts.effective(name);
      return spec === undefined ? [] : [spec];
    });
  }

  /** Whose word it is that it shall run. */
  readerOf({ name }: SimSpec): Reader {
    return this.#author.files.has(name) ? "file" : "mqtt";
  }

  /** As its label says. */
  revisionOf({ name }: SimSpec): number | undefined {
    return (this.#author.files.get(name) ?? this.authority.wants.get(name))?.revision;
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
    this.line.heal();
    this.#bringClaims(true);
    this.#behaviour.calm();
    this.process.diskFailures = 0;
    this.judge.pressure.onCalm();
    this.#trouble("well");
    this.#author.bringBack();
    this.#author.finish();
    this.process.start();
    // A muted stream comes to light only with the next one.
    runtime.events.end();
    await clock.advance(25_000);
    this.judge.shutdown.calm();
    await this.mend();
    this.trust?.calm();
    this.commands?.calm();
    this.objects.provide();
    if (!this.authority.isRetained) this.authority.publish(this.authority.wants);
    broker.faults.latency = 0;
    await clock.settle();
  }

  /** Deletes the file of this pod; the answer writes it again as it was. */
  takeOut({ name }: SimSpec): () => void {
    return this.#author.takeOut(name);
  }

  /** Whatever is wrong in a file is put right. */
  mend(): Promise<void> {
    return this.#author.straighten((ms) => this.machine.clock.advance(ms));
  }

  /** Only its file asks for it. */
  isOfFile({ name }: SimSpec): boolean {
    return this.#author.files.has(name) && !this.authority.wants.has(name);
  }

  dropAll(): void {
    for (const name of NAMES) this.#author.remove(name, "delete");
    this.authority.publish(new Map(), new Map());
  }

  [Symbol.dispose](): void {
    this.process[Symbol.dispose]();
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
        return this.#publish(act.versions, act.objects ?? []);
      case "EditObject":
      case "DropObject":
      case "MoveObject":
      case "SpoilObject":
      case "PublishObject":
        return this.objects.perform(act);
      case "BadDocument":
        return this.authority.publishBad(act.how);
      case "Trust":
      case "Forge":
        return this.trust?.perform(act);
      case "Command":
        return this.commands?.perform(act);
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
      case "ImageDisk":
        return troubleRuntime(act, this.machine, this.judge);
      case "ClaimDisk":
        return this.#bringClaims(act.there);
      case "Disk":
        this.process.diskFailures = act.failures;
        return;
      case "Pressure":
        setShortage(this.machine.readings, act.of, act.short);
        return this.judge.pressure.onShortage(act.of, act.short);
      case "Wall":
        return clock.stepWall(WALL[act.to] - clock.now());
      case "Reboot":
        this.process.kill();
        this.machine.reboot();
        return this.judge.onReboot(this.machine.bootedAt);
      case "Kill":
        return this.process.kill(act.acts);
      case "Shutdown":
        return this.judge.shutdown.perform(act.begin);
      case "Stop":
        return this.process.stop();
      case "Start":
        return this.process.start();
      case "Wait":
    }
  }

  #damage(how: Extract<SimAct, { type: "Database" }>["how"]): void {
    if (this.agent === undefined && how === "everything") this.trust?.provide();
    this.process.damage(how);
  }

  #bringClaims(there: boolean): void {
    if (!this.machine.bringClaims(there))
      this.judge.accuse("something was written where the disk of claims should have been");
  }

  #publish(versions: readonly number[], objects: readonly ObjectName[]): void {
    const all = NAMES.flatMap((name, index): readonly (readonly [SimName, Want])[] => {
      const version = versions[index] ?? 0;
      return version === 0 ? [] : [[name, this.#author.want(name, version)]];
    });
    const wants = acceptable(all);
    for (const [, { spec }] of wants) this.judge.onWanted(spec.uid, "mqtt");
    this.authority.publish(new Map(wants), this.objects.contentsOf(objects));
    this.judge.config.onTruth();
  }

  #trouble(how: BrokerTrouble): void {
    if (how === "wiped") {
      this.authority.isRetained = false;
      if (this.trust !== undefined) this.trust.isRetained = false;
    }
    troubleBroker(this.machine.broker, how, this.#dice);
  }

  /** Whoever reads objects: what shall run, and what has yet to make room for it. */
  #readers(): readonly (readonly [SimSpec, Reader])[] {
    const desired = this.desired();
    const leaving = (this.agent?.pods() ?? []).flatMap(({ desired: { uid, source } }) => {
      const spec = this.setup.specs.get(uid);
      if (spec === undefined || desired.includes(spec)) return [];
      return [[spec, source === "file" ? "file" : "mqtt"] as const];
    });
    // An update that is under way needs what the new one reads.
    const coming = [...this.authority.wants.values()].flatMap(({ spec }) => {
      const isComing = !desired.includes(spec) && this.readerOf(spec) === "mqtt";
      return isComing ? [[spec, "mqtt"] as const] : [];
    });
    // What has no room now may have some when another pod has come to its end.
    const asked = [...desired, ...this.refused()];
    return [...asked.map((spec) => [spec, this.readerOf(spec)] as const), ...leaving, ...coming];
  }

  #isOpen(name: SimName): boolean {
    return !this.#author.files.has(name) && this.rollouts.isOpen(name);
  }

  /** What is sure to run: names whose file nobody can read say nothing clear. */
  #certain(): ReadonlySet<string> {
    if (!this.machine.manifests.isThere) return new Set();
    const clear = this.desired().filter(
      ({ name }) => !this.#author.isBroken(name) && !this.#isOpen(name),
    );
    return new Set(clear.map(({ uid }) => uid));
  }
}

/** The event of an exit comes late, and where it does not say how it ended, so does that. */
function unseenMs({ eventLagMs, tellsExits, statusLagMs }: SimSetup): number {
  return eventLagMs + (tellsExits ? 0 : statusLagMs);
}
