// Watches a simulated world while it happens, and hands what it sees to those who know what must never be.

import type {
  CreateContainerArgs,
  ImageSpecInit,
  PullImageArgs,
  RunPodSandboxArgs,
} from "../../src/cri/cri-client.ts";
import type { TaskEvent } from "../../src/containerd/runtime-events.ts";
import { ContainerState } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import type { CallName } from "../fakes/fake-cri-faults.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import type { ExitCause } from "../fakes/fake-runtime.ts";
import type { SimAgent } from "./sim-agent.ts";
import { ConfigJudge } from "./sim-judge-config.ts";
import { ImageJudge } from "./sim-judge-images.ts";
import { OrderJudge } from "./sim-judge-orders.ts";
import { ProbeBook } from "./sim-judge-probes.ts";
import { PressureJudge } from "./sim-judge-pressure.ts";
import type { SimName } from "./sim-specs.ts";
import { RoomJudge } from "./sim-judge-room.ts";
import { ShutdownJudge } from "./sim-shutdown.ts";
import { StartJudge } from "./sim-judge-starts.ts";
import { StopJudge } from "./sim-judge-stops.ts";
import { TurnJudge } from "./sim-judge-turns.ts";
import { Ledger, uidOf, type LedgerOptions } from "./sim-ledger.ts";
import type { SimMounts } from "./sim-mounts.ts";
import type { Knock } from "./sim-network.ts";
import type { ObjectTruth, Reader } from "./sim-truth.ts";
import type { PodFailure } from "../../src/api/v1/pod-status.ts";
import type { DesiredState, Removal } from "../../src/api/pod/desired-pod.ts";

export interface JudgeOptions extends LedgerOptions {
  readonly truth: ObjectTruth;
  readonly mounts: SimMounts;
  /** Whether documents of this world are signed. */
  readonly signed: () => boolean;
  /** Whether images have a file system of their own. */
  readonly ownImageFs: boolean;
  /** For so long after an exit it cannot be known. */
  readonly unseenMs: number;
  /** UIDs that would run if every source had spoken. */
  readonly wanted: () => ReadonlySet<string>;
  /** Whether a pod of a document by this name may read again what was good before. */
  readonly goesBack: (name: SimName) => boolean;
  /** The newest document has not reached the agent. */
  readonly isBehind: () => boolean;
  /** Another life of this pod begins, or ends. */
  readonly onNewLife: (uid: string) => void;
}

const CHANGING: ReadonlySet<CallName> = new Set<CallName>([
  "startContainer",
  "stopContainer",
  "removeContainer",
  "stopPodSandbox",
  "removePodSandbox",
]);

export class SimJudge {
  readonly #options: JudgeOptions;
  readonly ledger: Ledger;
  readonly #probes: ProbeBook;
  readonly #starts: StartJudge;
  readonly #turns: TurnJudge;
  readonly #stops: StopJudge;
  readonly #room: RoomJudge;
  readonly pressure: PressureJudge;
  readonly config: ConfigJudge;
  readonly orders: OrderJudge;
  readonly images: ImageJudge;
  readonly shutdown: ShutdownJudge;
  /** UIDs that leave without a row in the database. */
  readonly #unstored = new Set<string>();
  /** Containers that were removed before they had started. */
  readonly #removedUnstarted = new Set<string>();

  constructor(options: JudgeOptions) {
    this.#options = options;
    this.ledger = new Ledger(options);
    this.#probes = new ProbeBook(this.ledger);
    this.#starts = new StartJudge(this.ledger, this.#probes);
    this.#turns = new TurnJudge(this.ledger, this.#probes);
    this.config = new ConfigJudge({ ...options, ledger: this.ledger });
    this.orders = new OrderJudge(this.ledger);
    this.images = new ImageJudge(this.ledger);
    this.#room = new RoomJudge(this.ledger);
    this.shutdown = new ShutdownJudge(this.ledger);
    this.pressure = new PressureJudge({ ...options, ledger: this.ledger, images: this.images });
    this.#stops = new StopJudge({
      ledger: this.ledger,
      probes: this.#probes,
      config: this.config,
      orders: this.orders,
      unseenMs: options.unseenMs,
      isUntold: (id) => options.runtime().events.untold.has(id),
      onCause: (container) => this.#starts.onCause(container),
      onConfigStop: (container) => this.#starts.onConfigStop(container),
      onOrder: (container) => this.#starts.onOrder(container),
    });
  }

  get violation(): string | undefined {
    return this.ledger.violation;
  }

  get history(): readonly string[] {
    return this.ledger.history;
  }

  /** Sandboxes and containers of somebody else. */
  get foreign(): Set<string> {
    return this.ledger.foreign;
  }

  /** How many processes of the agent there have been. */
  get processes(): number {
    return this.ledger.process;
  }

  get starts(): number {
    return this.#starts.starts;
  }

  get removals(): number {
    return this.#starts.removals;
  }

  say(text: string): void {
    this.ledger.say(text);
  }

  accuse(text: string): void {
    this.ledger.accuse(text);
  }

  onReboot(bootedAt: number): void {
    Object.assign(this.ledger, { reboots: this.ledger.reboots + 1, bootedAt });
    this.#starts.onReboot();
    this.#turns.onReboot();
  }

  onNewProcess(): void {
    Object.assign(this.ledger, { process: this.ledger.process + 1, processSince: this.ledger.now });
    this.#starts.onNewProcess();
    this.config.onNewProcess();
    for (const uid of this.#unstored) this.#stay(uid);
    this.#unstored.clear();
  }

  /** The rows are gone with their database. */
  onLostDatabase(): void {
    this.#room.onLostDatabase();
    // What was begun of their removals is done all the same, and nobody settles it.
    for (const uid of this.ledger.leaving) this.#options.onNewLife(uid);
    this.ledger.leaving.clear();
    this.ledger.evicted.clear();
    this.pressure.onLostDatabase();
    this.#turns.onLostDatabase();
    this.images.onLostDatabase();
    this.shutdown.onUnstored();
  }

  /** How often the pod's end was ordered, and how often anything of it has started. */
  livesOf(uid: string): { readonly ends: number; readonly starts: number } {
    return this.#starts.livesOf(uid);
  }

  startsOf(uid: string, name: string): number {
    return this.#starts.startsOf(uid, name);
  }

  onWanted(uid: string, reader: Reader): void {
    this.#turns.onWanted(uid);
    this.config.onWanted(uid, reader);
  }

  onSandboxDeath(sandboxId: string): void {
    this.#starts.onSandboxDeath(sandboxId);
  }

  onLost(container: FakeContainer): void {
    this.#starts.onLost(container);
  }

  onKnock(knock: Knock): void {
    this.#probes.onKnock(knock);
    this.config.onKnock(knock);
  }

  onFailure(uid: string, failure: PodFailure): void {
    this.#turns.onFailure(uid, failure);
    this.#stops.onFailure(uid);
  }

  /** That a pod has failed is forgotten: with its removal, or when nothing knows the pod any more; then it may begin anew. */
  onForget(uid: string, { pods }: DesiredState): void {
    if (this.ledger.leaving.has(uid)) return;
    if (pods.some((pod) => pod.uid === uid))
      this.accuse(`that ${this.ledger.key(uid)} has failed is forgotten although it is wanted`);
    this.#options.onNewLife(uid);
    this.#turns.onForget(uid);
  }

  /** After everything that happens. */
  look(): void {
    this.#turns.look();
    this.#room.look();
  }

  /** Removals that begin although there is no space to write them down: the next process knows nothing of them. */
  onUnstored(removals: readonly Removal[], agent: SimAgent): void {
    this.onBegin(removals, agent);
    for (const { uid } of removals) this.#unstored.add(uid);
  }

  onBegin(fresh: readonly Removal[], agent: SimAgent): void {
    const view = agent.desired;
    for (const { uid, why } of fresh) {
      const key = this.ledger.key(uid);
      this.#unstored.delete(uid);
      this.say(`  row ${key} ${why}`);
      this.#starts.onBegin(uid);
      this.#stops.onBegin(uid);
      if (why === "Preempted") this.#turns.onEnd(uid);
      this.#options.onNewLife(uid);
      // That one may end it, whoever else will want it.
      const hasSpoken = this.ledger.ownSources(uid).some((source) => this.ledger.hasSpoken(source));
      this.ledger.leaving.add(uid);
      if (why === "Evicted") {
        this.ledger.evicted.add(uid);
        continue;
      }
      if (why === "Shutdown") {
        this.shutdown.onStop(uid);
        continue;
      }
      if (why === "Preempted") {
        this.#room.onPreempted(uid, view);
        continue;
      }
      const asked = view.pods.find((pod) => pod.uid === uid);
      // A document's pod has come to its end, and a file asks for the very same, perhaps once more.
      if (asked?.source === "file" && why === "Replaced" && this.ledger.hasEndedForDocument(uid))
        continue;
      if (asked !== undefined) this.accuse(`removal of ${key} begun although it is wanted`);
      // A file's pod comes before a document's; its file may be deleted at the moment when the agent obeys it.
      else if (this.#options.wanted().has(uid) && !hasSpoken && !this.ledger.isOutranked(uid))
        this.accuse(`removal of ${key} begun before its source has synced`);
    }
  }

  onSettle(uid: string): void {
    const key = this.ledger.key(uid);
    this.say(`  settled ${key}`);
    this.#unstored.delete(uid);
    this.#stay(uid);
    this.#starts.onSettle(uid);
    this.#turns.onSettle(uid);
    this.#room.onSettle(uid);
    const left = [
      ...this.ledger.sandboxesOf(uid).filter(({ id }) => !this.#starts.isLate(id)),
      ...this.ledger.containersOf(uid).filter((one) => !this.#starts.isLate(one.sandboxId)),
    ];
    const ids = left.map(({ id }) => id).join(", ");
    if (left.length > 0) this.accuse(`${key} settled although ${ids} is there`);
  }

  onCall(call: CallName, args: readonly unknown[]): void {
    if (this.ledger.agent === undefined) return;
    if (call === "runPodSandbox") this.#onAskSandbox(args[0] as RunPodSandboxArgs);
    if (call === "createContainer") this.#onCreate(args[0] as CreateContainerArgs);
    if (call === "removeImage") this.images.onRemove((args[0] as ImageSpecInit).image ?? "");
    if (call === "pullImage") this.images.onPull((args[0] as PullImageArgs).image.image ?? "");
    const [id] = args;
    if (typeof id !== "string" || !CHANGING.has(call)) return;
    if (this.foreign.has(id))
      return this.accuse(`${call} on ${id}, which belongs to another owner`);
    if (call === "stopPodSandbox" || call === "removePodSandbox")
      return this.#stops.onSandboxEnd(call, id);
    const container = this.ledger.container(id);
    if (container === undefined) return;
    if (call === "startContainer") {
      this.ledger.onStarting(container);
      this.#turns.onStart(container);
    }
    if (call === "stopContainer") {
      this.#turns.onTold(id);
      this.#stops.onStop(container, args[1] as number);
    }
    if (call !== "removeContainer") return;
    if (this.ledger.isAlive(container)) this.#onLiveRemoved(container);
    else if (container.state === ContainerState.CONTAINER_CREATED) this.#removedUnstarted.add(id);
  }

  onEvent(event: TaskEvent, cause: ExitCause): void {
    // Before the first of our processes all is somebody else's.
    if (this.ledger.process === 0) return;
    const { type, id, exit } = event;
    if (type === "Created" && this.ledger.runtime.sandboxes.has(id)) {
      this.#starts.onCreatedSandbox(id);
      this.#turns.onCreatedSandbox(id);
      this.config.onCreatedSandbox(this.ledger.uidOfSandbox(id) ?? "");
    }
    const container = this.ledger.container(id);
    if (container === undefined || this.ledger.isForeign(container)) return;
    if (type === "Started") {
      this.ledger.startedAt.set(id, this.ledger.now);
      this.#starts.onStarted(container);
      this.#turns.onStarted(container);
      this.#room.onStarted(container);
      this.#stops.onStarted(uidOf(container) ?? "");
      this.config.onStarted(container);
    }
    if (type !== "Exited") return;
    if (cause === "call" && this.#removedUnstarted.has(id)) this.#onLateRemoved(container);
    const code = exit?.code ?? 255;
    const how = cause === "self" ? "exits" : "is ended";
    this.say(`  ${how} ${this.ledger.nameOf(container)} ${code}`);
    this.ledger.onEnd(container, { code, cause });
    this.#starts.onExited(container, cause);
    this.#turns.onExited(container);
  }

  /** Its removal is over, or forgotten. */
  #stay(uid: string): void {
    this.ledger.leaving.delete(uid);
    this.ledger.evicted.delete(uid);
    this.#options.onNewLife(uid);
  }

  #onAskSandbox({ config }: RunPodSandboxArgs): void {
    const uid = config.metadata?.uid;
    if (uid === undefined) return;
    this.#starts.onAskSandbox(uid);
    this.#room.onAskSandbox(uid);
    this.pressure.onAskSandbox(uid);
    this.shutdown.onAskSandbox(uid);
    this.#turns.onAskSandbox(uid);
  }

  #onCreate(args: CreateContainerArgs): void {
    const { sandboxId, config, sandboxConfig } = args;
    const uid = sandboxConfig.metadata?.uid ?? "";
    const name = config.metadata?.name ?? "";
    this.#turns.onCreate(uid, sandboxId, name);
    this.#starts.onCreate(uid, name);
    this.config.onCreate(args);
  }

  /** One that a dead process told to start may start between the look and the removal. */
  #onLiveRemoved(container: FakeContainer): void {
    const { startedBy, process } = this.ledger;
    if (startedBy.get(container.id) === process)
      this.accuse(`${container.id} is removed while it runs`);
    else this.#starts.onCause(container);
  }

  /** The same, where it starts while the call that removes it is under way. */
  #onLateRemoved(container: FakeContainer): void {
    const { startedBy, process } = this.ledger;
    if (startedBy.get(container.id) !== process) this.#starts.onCause(container);
  }
}
