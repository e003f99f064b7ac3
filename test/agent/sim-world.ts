// A simulated machine: runtime, disk and time that outlive any process of the agent, and the hand that troubles them.

import { mkdirSync, mkdtempSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SourceName } from "../../src/api/desired-pod.ts";
import { LABEL } from "../../src/api/labels.ts";
import type { Container } from "../../src/api/pod.ts";
import { GrpcCode } from "../../src/cri/cri-error.ts";
import { AgentError } from "../../src/lib/errors.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { VirtualClock } from "../fakes/fake-clock.ts";
import type { Fault } from "../fakes/fake-cri-faults.ts";
import type { FakeContainer, Program } from "../fakes/fake-cri-world.ts";
import { FakeRuntime } from "../fakes/fake-runtime.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { IMAGE } from "./pod-world.ts";
import { SimAgent } from "./sim-agent.ts";
import { SimJudge, uidOf } from "./sim-judge.ts";
import {
  desiredOf,
  LATER,
  NAMES,
  SOURCES,
  throwSetup,
  type SimName,
  type SimSetup,
  type SimSpec,
} from "./sim-specs.ts";
import { sayStep, type Silence, type SimAct, type SimStep } from "./sim-steps.ts";

interface Want {
  readonly spec: SimSpec;
  readonly revision: number;
}

const WALL = { "1970": 0, later: Date.UTC(2031, 0, 1), earlier: Date.UTC(2026, 10, 20) };
const CHANGING_FILES = new Set(["makeDirectory", "writeAtomic", "remove", "removeTree"]);
const RAM = "/dev/shm";

export class SimWorld implements Disposable {
  readonly clock = new VirtualClock();
  readonly setup: SimSetup;
  readonly runtime: FakeRuntime;
  readonly judge: SimJudge;
  readonly directory = mkdtempSync(join(existsSync(RAM) ? RAM : tmpdir(), "agent-sim-"));
  readonly wants = new Map<SourceName, Map<SimName, Want>>(SOURCES.map((one) => [one, new Map()]));
  readonly #dice: Mulberry32;
  readonly #programDice: Mulberry32;
  #agent: SimAgent | undefined;
  #silent = new Set<SourceName>();
  #how: Silence = "mute";
  #bootedAt = 0;
  #revision = 0;
  #hostile = true;
  #diskFailures = 0;
  #imagesThere = true;

  constructor(seed: number) {
    this.setup = throwSetup(new Mulberry32(seed));
    this.#dice = new Mulberry32(seed ^ 0x5eed);
    this.#programDice = new Mulberry32(seed ^ 0xca5e);
    const lagMs = (): number => this.setup.statusLagMs;
    this.runtime = new FakeRuntime({
      clock: this.clock,
      images: [IMAGE, LATER],
      latencyMs: this.setup.latencyMs,
      tellsExits: this.setup.tellsExits,
      eventLagMs: this.setup.eventLagMs,
      get statusLagMs() {
        return lagMs();
      },
      program: (container) => this.#program(container),
      onCall: (call, args) => this.judge.onCall(call, args),
      onEvent: (event, cause) => {
        this.judge.onEvent(event, cause);
        if (event.type === "Started") this.#writeLog(event.id);
      },
    });
    this.judge = new SimJudge({
      clock: this.clock,
      specs: this.setup.specs,
      runtime: () => this.runtime,
      agent: () => this.agent,
      wanted: () => new Set(this.desired().map(({ uid }) => uid)),
    });
  }

  /** The process that lives, if one does. */
  get agent(): SimAgent | undefined {
    return this.#agent?.alive === true ? this.#agent : undefined;
  }

  /** What shall run, whether anybody has told the agent or not: files win. */
  desired(): readonly SimSpec[] {
    return NAMES.flatMap((name) => {
      const want = SOURCES.map((source) => this.#of(source).get(name)).find(Boolean);
      return want === undefined ? [] : [want.spec];
    });
  }

  /** Somebody else's pod, by the same name. */
  async settleForeigners(): Promise<void> {
    const labels = [
      { [LABEL.podName]: "web", [LABEL.podNamespace]: "default", [LABEL.podUID]: "web-1" },
      {
        [LABEL.managed]: "true",
        [LABEL.instance]: "other",
        [LABEL.podName]: "db",
        [LABEL.podNamespace]: "default",
        [LABEL.podUID]: "db-1",
      },
    ];
    for (const [index, own] of labels.entries()) {
      const metadata = {
        name: "foreign",
        namespace: "elsewhere",
        uid: `foreign${index}`,
        attempt: 0,
      };
      const config = { metadata, labels: own };
      const sandboxId = await this.#patiently(this.runtime.runPodSandbox({ config }));
      this.judge.foreign.add(sandboxId);
      const id = await this.#patiently(
        this.runtime.createContainer({
          sandboxId,
          config: { metadata: { name: "a", attempt: 0 }, image: { image: IMAGE }, labels: own },
          sandboxConfig: config,
        }),
      );
      await this.#patiently(this.runtime.startContainer(id));
      this.judge.foreign.add(id);
    }
  }

  async perform(step: SimStep): Promise<void> {
    this.judge.say(sayStep(step));
    this.#act(step);
    await this.clock.settle();
    if (step.type === "ReAdd" && !step.atOnce) {
      this.#want(step.source, step.name, this.#readded);
      await this.clock.settle();
    }
    await this.clock.advance(step.pause);
  }

  /** Every trouble ends, every source speaks, an agent runs. */
  async calm(): Promise<void> {
    this.judge.say("calm");
    this.#hostile = false;
    this.#diskFailures = 0;
    this.runtime.faults.clear();
    this.runtime.events.muted = false;
    this.runtime.networkReady = true;
    this.#bringImages(true);
    this.runtime.start();
    this.#start([], "mute");
    // Those that have spoken say nothing new: whoever waits for a word would wait for ever.
    for (const source of SOURCES) if (this.#silent.has(source)) this.#speak(source);
    // A muted stream comes to light only with the next one.
    this.runtime.events.end();
    await this.clock.settle();
  }

  dropAll(): void {
    for (const source of SOURCES) for (const name of NAMES) this.#want(source, name, undefined);
  }

  [Symbol.dispose](): void {
    this.#agent?.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #readded: Want | undefined;

  #act(act: SimAct): void {
    switch (act.type) {
      case "Edit": {
        const spec = this.setup.specs.get(`${act.name}-${act.version}`);
        return spec && this.#want(act.source, act.name, { spec, revision: ++this.#revision });
      }
      case "Drop":
        return this.#want(act.source, act.name, undefined);
      case "ReAdd":
        this.#readded = this.#of(act.source).get(act.name);
        this.#want(act.source, act.name, undefined);
        if (act.atOnce) this.#want(act.source, act.name, this.#readded);
        return;
      case "Relabel": {
        const want = this.#of(act.source).get(act.name);
        return want && this.#want(act.source, act.name, { ...want, revision: ++this.#revision });
      }
      case "Move":
        return this.#move(act.name);
      case "Speak":
        return this.#speak(act.source);
      case "Exit": {
        const container = this.#alive(act.index);
        return container && this.runtime.exit(container.id, act.exitCode);
      }
      case "KillSandbox":
        return this.#killSandbox(act.index);
      case "Lose": {
        const container = this.#alive(act.index);
        if (container === undefined) return;
        this.judge.onLost(container);
        return this.runtime.lose(container.id);
      }
      case "Fault":
        return this.runtime.faults.order(act.call, faultOf(act), { times: act.times });
      case "ClearFaults":
        return this.runtime.faults.clear();
      case "Mute":
        this.runtime.events.muted = act.muted;
        return;
      case "EndStream":
        return this.runtime.events.end(act.broken ? new Error("stream broke") : undefined);
      case "Network":
        this.runtime.networkReady = act.ready;
        return;
      case "Images":
        return this.#bringImages(act.there);
      case "Daemon":
        return act.up ? this.runtime.start() : this.runtime.stop();
      case "Disk":
        this.#diskFailures = act.failures;
        return;
      case "Wall":
        return this.clock.stepWall(WALL[act.to] - this.clock.now());
      case "Reboot":
        return this.#reboot();
      case "Kill":
        return this.#agent?.kill(act.ops);
      case "Stop":
        return this.#agent?.stop();
      case "Start":
        return this.#start(act.silent, act.how);
      case "Wait":
    }
  }

  #of(source: SourceName): Map<SimName, Want> {
    const wants = this.wants.get(source);
    if (wants === undefined) throw new Error(`no source ${source}`);
    return wants;
  }

  #want(source: SourceName, name: SimName, want: Want | undefined): void {
    if (want === undefined) this.#of(source).delete(name);
    else this.#of(source).set(name, want);
    this.#tell(source);
  }

  #move(name: SimName): void {
    const from = SOURCES.find((source) => this.#of(source).has(name));
    const to = SOURCES.find((source) => source !== from);
    const want = from === undefined ? undefined : this.#of(from).get(name);
    if (from === undefined || to === undefined || want === undefined) return;
    this.#want(to, name, want);
    this.#want(from, name, undefined);
  }

  #tell(source: SourceName): void {
    const isSilent = this.#silent.has(source);
    if (isSilent && this.#how === "mute") return;
    const pods = [...this.#of(source).values()]
      .filter(({ spec }) => !isSilent || (this.#how === "half" && spec.name === "db"))
      .map(({ spec, revision }) => desiredOf(spec, source, revision));
    this.agent?.hear({ source, ready: !isSilent, pods, rejected: [] });
  }

  #speak(source: SourceName): void {
    this.#silent.delete(source);
    this.#tell(source);
  }

  #start(silent: readonly SourceName[], how: Silence): void {
    if (this.agent !== undefined && !this.agent.isDoomed) return;
    this.#agent?.kill();
    this.judge.onNewProcess();
    this.#silent = new Set(silent);
    this.#how = how;
    this.#agent = new SimAgent({
      clock: this.clock,
      bootedAt: this.#bootedAt,
      runtime: this.runtime,
      random: this.#dice,
      directory: this.directory,
      image: (container, clock, signal) => this.#image(container, clock, signal),
      onLine: (line) => {
        if (process.env["AGENT_SIM_LOG"] !== undefined) this.judge.say(`    ${line.trim()}`);
      },
      onBegin: (fresh, agent) => {
        this.#write();
        this.judge.onBegin(fresh, agent);
      },
      onSettle: (uid) => {
        this.#write();
        this.judge.onSettle(uid);
      },
      onPhase: (uid, phase) => this.judge.onPhase(uid, phase),
      onFile: (method) => {
        if (CHANGING_FILES.has(method)) this.#write();
      },
      onLoopEnd: (error) => this.judge.accuse(`a loop ended: ${String(error)}`),
    });
    for (const source of SOURCES) this.#tell(source);
  }

  /** Something goes to the disk, if the disk lets it. */
  #write(): void {
    if (this.#diskFailures === 0) return;
    this.#diskFailures -= 1;
    this.judge.say("  disk full");
    throw new AgentError({ reason: "DatabaseFull", message: "the disk is full" });
  }

  #reboot(): void {
    this.#agent?.kill();
    this.runtime.reboot();
    this.runtime.start();
    this.#bootedAt = this.clock.monotonic() - 3_000;
    this.judge.onReboot();
  }

  #killSandbox(index: number): void {
    const ours = [...this.runtime.sandboxes.values()].filter(
      ({ id, ready }) => ready && !this.judge.foreign.has(id),
    );
    const sandbox = ours[index % Math.max(1, ours.length)];
    if (sandbox === undefined) return;
    this.judge.onSandboxDeath(sandbox.id);
    this.runtime.killSandbox(sandbox.id);
  }

  #alive(index: number): FakeContainer | undefined {
    const ours = this.runtime
      .running()
      .filter(({ id }) => this.runtime.isAlive(id) && !this.judge.foreign.has(id));
    return ours[index % Math.max(1, ours.length)];
  }

  #program(container: FakeContainer): Program {
    const spec = this.setup.specs.get(uidOf(container) ?? "");
    const program = spec?.programs["ab".indexOf(container.config.metadata?.name ?? "")];
    if (this.judge.foreign.has(container.sandboxId)) return {};
    if (spec === undefined || program === undefined) return {};
    const { stopsAfterMs = 0 } = program;
    if (!this.#hostile)
      return spec.restartPolicy === "Always" || program.exitsAfterMs === undefined
        ? { stopsAfterMs }
        : { stopsAfterMs, exitsAfterMs: 1_000, exitCode: 0 };
    const isBad = spec.startErrors > 0 && this.#programDice.chance(spec.startErrors);
    return isBad ? { ...program, startError: "exec: no such file" } : program;
  }

  async #image({ image }: Container, clock: Clock, signal: AbortSignal): Promise<string> {
    await clock.sleep(this.setup.pullMs, signal);
    if (signal.aborted) throw new AgentError({ reason: "Aborted", message: "given up" });
    if (this.#imagesThere || image === IMAGE) return image;
    throw new AgentError({ reason: "ErrImagePull", message: `${image}: not found` });
  }

  #bringImages(there: boolean): void {
    this.#imagesThere = there;
  }

  #writeLog(id: string): void {
    const container = this.runtime.containers.get(id);
    if (!this.setup.logs || container === undefined) return;
    if (this.judge.foreign.has(container.sandboxId)) return;
    const { labels, metadata } = container.config;
    const pod = [LABEL.podNamespace, LABEL.podName, LABEL.podUID].map((key) => labels[key]);
    const directory = join(this.directory, "logs", pod.join("_"), metadata?.name ?? "");
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `${metadata?.attempt}.log`), "line\n");
  }

  async #patiently<T>(call: Promise<T>): Promise<T> {
    await this.clock.advance(5_000);
    return call;
  }
}

function faultOf(act: Extract<SimAct, { type: "Fault" }>): Fault {
  const unknown = { code: GrpcCode.UNKNOWN, details: "ttrpc: closed: unknown" };
  const away = { code: GrpcCode.UNAVAILABLE, details: "connection reset by peer" };
  switch (act.kind) {
    case "fail":
      return { type: "fail", ...unknown };
    case "unavailable":
      return { type: "fail", ...away };
    case "failHappened":
      return { type: "fail", ...away, effect: "happens" };
    case "hang":
      return { type: "hang" };
    case "hangHappened":
      return { type: "hang", effect: "happens" };
    case "leaked":
      return { type: "hang", keepsName: true };
    case "delay":
      return { type: "delay", ms: act.ms };
    case "reserved": {
      const kind = act.call === "runPodSandbox" ? "sandbox" : "container";
      const details = `failed to reserve ${kind} name "x": name "x" is reserved for "y"`;
      return { type: "fail", code: GrpcCode.UNKNOWN, details };
    }
  }
}
