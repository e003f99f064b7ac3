// Watches what the node says of its pods and of its documents, and knows what it must never say.

import type { PodStatus } from "../../src/api/v1/pod-status.ts";
import type { Ack, ReportedState } from "../../src/protocol/reported-state.ts";
import type { FakeBroker } from "../fakes/fake-mqtt-broker.ts";
import type { SimAgent } from "./sim-agent.ts";
import { TOPIC } from "./sim-authority.ts";

export interface ReportJudgeOptions {
  readonly broker: FakeBroker;
  readonly agent: () => SimAgent | undefined;
  readonly keyOf: (uid: string) => string;
  /** The highest attempt of a container that was told to start. */
  readonly lastAttempt: (uid: string, name: string) => number;
  /** Whether the runtime has a container of it. */
  readonly isThere: (uid: string) => boolean;
  readonly accuse: (text: string) => void;
  readonly onAck: (ack: Ack) => void;
}

const NO_DOCUMENT = { generation: 0, digest: "" };

/** What one life of a pod has shown. */
interface Life {
  ended: "Succeeded" | "Failed" | undefined;
  readonly restarts: Map<string, number>;
}

interface Spoken {
  readonly incarnation: string;
  readonly session: number;
  readonly seq: number;
}

export class ReportJudge {
  readonly #options: ReportJudgeOptions;
  readonly #lives = new Map<string, Life>();
  /** Generation → digest, of every document that was on the disk once. */
  readonly #accepted = new Map<number, Set<string>>();
  #newest = 0;
  #heard = 0;
  readonly #spoken = new Map<string, Spoken>();

  constructor(options: ReportJudgeOptions) {
    this.#options = options;
  }

  onNewLife(uid: string): void {
    this.#lives.delete(uid);
  }

  onAccepted(generation: number, digest: string): void {
    const digests = this.#accepted.get(generation) ?? new Set();
    this.#accepted.set(generation, digests.add(digest));
    if (generation < this.#newest)
      this.#options.accuse(`generation ${generation} accepted after ${this.#newest}`);
    this.#newest = Math.max(this.#newest, generation);
  }

  /** The whole state directory is gone: everything may come again. */
  forgetDocuments(): void {
    this.#newest = 0;
  }

  /** What was accepted must be there again; what a crash left in its file is accepted now. */
  onStart(agent: SimAgent): void {
    const { generation, digest } = agent.store.documents.get("mqtt:node") ?? NO_DOCUMENT;
    if (generation < this.#newest)
      this.#options.accuse(`generation ${this.#newest} was accepted, ${generation} is left of it`);
    this.onAccepted(generation, digest);
    this.#newest = generation;
  }

  /** Somebody forgets: a process that has heard of an exit which the runtime does not show yet. */
  forgetEnds(): void {
    for (const life of this.#lives.values()) life.ended = undefined;
  }

  /** After everything that happens. */
  look(): void {
    const { agent, broker } = this.#options;
    for (const { pod, status } of agent()?.shown() ?? []) this.#onStatus(pod.metadata.uid, status);
    const { publications } = broker;
    for (; this.#heard < publications.length; this.#heard += 1) {
      const said = publications[this.#heard];
      if (said === undefined || said.clientId === "" || said.payload.length === 0) continue;
      if (said.topic !== TOPIC.reported && !said.topic.startsWith(TOPIC.pods)) continue;
      const text = new TextDecoder().decode(said.payload);
      this.#onReport(said.topic, JSON.parse(text) as Spoken & Partial<ReportedState>);
    }
  }

  #onStatus(uid: string, { phase, containerStatuses, initContainerStatuses }: PodStatus): void {
    const { keyOf, accuse, lastAttempt } = this.#options;
    const life: Life = this.#lives.get(uid) ?? { ended: undefined, restarts: new Map() };
    this.#lives.set(uid, life);
    if (life.ended !== undefined && life.ended !== phase)
      accuse(`${keyOf(uid)} was ${life.ended} and is ${phase} now`);
    if (phase === "Succeeded" || phase === "Failed") life.ended = phase;
    for (const { name, restartCount, state } of [...initContainerStatuses, ...containerStatuses]) {
      const last = lastAttempt(uid, name);
      if (restartCount > last)
        accuse(`${keyOf(uid)}/${name} shows ${restartCount} restarts, but ${last} is the last`);
      // One that was made and never started is removed, and its count used again.
      if (state.waiting !== undefined) continue;
      const before = life.restarts.get(name) ?? 0;
      if (restartCount < before)
        accuse(`${keyOf(uid)}/${name} had ${before} restarts and has ${restartCount} now`);
      // An agent that ends still shows what it has removed: that counts for no new life.
      if (this.#options.isThere(uid)) life.restarts.set(name, restartCount);
    }
  }

  /** Comparable inside one incarnation only. */
  #onReport(topic: string, said: Spoken & Partial<ReportedState>): void {
    const { accuse } = this.#options;
    const before = this.#spoken.get(topic);
    this.#spoken.set(topic, said);
    const isOlder =
      before?.incarnation === said.incarnation &&
      (said.session < before.session || (said.session === before.session && said.seq < before.seq));
    if (isOlder) accuse(`${topic} goes back to ${said.session}/${said.seq}`);
    const [ack, ...superseded] = said.desired?.filter(({ source }) => source === "node") ?? [];
    if (ack === undefined) return;
    this.#options.onAck(ack);
    for (const { generation, digest } of [ack, ...superseded])
      if (generation > 0 && this.#accepted.get(generation)?.has(digest) !== true)
        accuse(`generation ${generation} is acknowledged, but was never on the disk`);
    const [last, more] = superseded;
    if (last === undefined) return;
    if (more !== undefined || last.phase !== "Superseded" || last.digest === ack.digest)
      accuse(`generation ${last.generation} is reported as ${last.phase} beside ${ack.generation}`);
  }
}
