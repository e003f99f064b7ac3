// A node in a simulated world that is asked by documents and answers in its report: for stories of one answer each.

import { expect } from "bun:test";
import type { Ack, ReportedState } from "../../src/protocol/reported-state.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import type { SimAgent } from "./sim-agent.ts";
import { TOPIC } from "./sim-authority.ts";
import { NODE, sha256, uidOfWritten, writtenPod } from "./sim-manifest.ts";
import { IMAGE } from "./pod-world.ts";
import { READS_NOTHING } from "./sim-reads.ts";
import {
  LATER,
  type SimName,
  type SimContainer,
  type SimSetup,
  type SimSpec,
} from "./sim-specs.ts";
import type { SimAct } from "./sim-steps.ts";
import {
  bundleText,
  signedText,
  TRUST_TOPIC,
  type BundleContent,
  type KeyName,
} from "./sim-trust.ts";
import { SimWorld } from "./sim-world.ts";
import { readSignedMessage } from "../../src/protocol/dsse.ts";

/** Of a world without anything of its own. */
const SEED = 16_366;
/** Until the agent is back and has said what it finds. */
const SAYS_MS = 40_000;

export function aSpec(
  name: SimName,
  version: number,
  image: string,
  app: Partial<SimContainer> = {},
): SimSpec {
  const spec: Omit<SimSpec, "uid"> = {
    key: `${name}-${version}`,
    name,
    restartPolicy: "Always",
    grace: 1,
    hostNetwork: false,
    hostPort: undefined,
    activeDeadlineSeconds: undefined,
    dependsOn: undefined,
    volume: "none",
    volumes: [],
    followsConfig: true,
    containers: [
      {
        name: "a",
        role: "app",
        image,
        program: { stopsAfterMs: 0 },
        probes: [],
        hooks: {},
        rules: [],
        reads: READS_NOTHING,
        ...app,
      },
    ],
    startErrors: 0,
  };
  return { ...spec, uid: uidOfWritten(spec) };
}

export const WEB = aSpec("web", 1, IMAGE);
/** Another revision of the same pod. */
export const NEXT = aSpec("web", 2, IMAGE);
/** Of an image that may not be there. */
export const LATE = aSpec("web", 3, LATER);
export const DB = aSpec("db", 1, IMAGE);

export interface StageOptions {
  /** In trust.d from the beginning. */
  readonly roots?: readonly KeyName[];
  readonly mqtt?: SimSetup["mqtt"];
  readonly latencyMs?: SimSetup["latencyMs"];
  /** Beside the usual ones. */
  readonly specs?: readonly SimSpec[];
}

/** What an answer says, without times and counts, which differ after a restart. */
export type Answer = Omit<Ack, "since" | "lastRejected" | "message"> & {
  readonly message: string;
  readonly lastRejected?: Pick<NonNullable<Ack["lastRejected"]>, "code" | "digest" | "message"> & {
    readonly generation?: number;
  };
};

export class AnswerStage implements Disposable {
  readonly world: SimWorld;

  constructor({ roots = [], mqtt = {}, latencyMs = {}, specs = [] }: StageOptions = {}) {
    this.world = new SimWorld(SEED, {
      specs: new Map([WEB, NEXT, LATE, DB, ...specs].map((spec) => [spec.uid, spec])),
      claimDisk: false,
      imageDisk: false,
      badLine: false,
      homes: new Map(),
      latencyMs,
      statusLagMs: 0,
      eventLagMs: 0,
      tellsExits: true,
      logs: false,
      protocolVersion: 5,
      trust: { signed: false, commands: false },
      mqtt,
    });
    if (roots.length > 0) this.world.machine.trust.lay(roots);
    for (const { uid } of this.world.setup.specs.values()) this.world.judge.onWanted(uid, "mqtt");
  }

  get agent(): SimAgent {
    const { agent } = this.world;
    if (agent === undefined) throw new Error("no agent runs");
    return agent;
  }

  async act(act: SimAct, pause = SAYS_MS): Promise<void> {
    await this.world.perform({ ...act, pause });
    this.isQuiet();
  }

  async start(): Promise<void> {
    await this.act({ type: "Start" });
  }

  async pass(ms: number): Promise<void> {
    await this.world.machine.clock.advance(ms);
    this.isQuiet();
  }

  /** kill -9, and another process. */
  async restart(): Promise<void> {
    await this.world.process.restart();
    await this.pass(SAYS_MS);
  }

  /** Retained, as it is given; a plain document, or an envelope. */
  async publish(payload: string | object, pause = SAYS_MS): Promise<void> {
    this.world.machine.broker.publish(TOPIC.desired, payload);
    await this.world.machine.clock.settle();
    await this.pass(pause);
  }

  async trust(bundle: BundleContent, by: readonly KeyName[]): Promise<void> {
    this.world.machine.broker.publish(TRUST_TOPIC, bundleText(bundle, by));
    await this.pass(SAYS_MS);
  }

  get reported(): ReportedState {
    const text = this.world.machine.broker.retained(TOPIC.reported);
    if (text === undefined) throw new Error("nothing is reported");
    return JSON.parse(text) as ReportedState;
  }

  /** To the node's document. */
  get answer(): Answer | undefined {
    return answerOf(this.reported);
  }

  /** Every answer so far, without those that repeat the one before. */
  get answers(): readonly Answer[] {
    const all = this.world.machine.broker
      .texts(TOPIC.reported)
      .flatMap((text) => answerOf(JSON.parse(text) as ReportedState) ?? []);
    return all.filter((one, at) => JSON.stringify(one) !== JSON.stringify(all[at - 1]));
  }

  conditions(): readonly string[] {
    const { conditions } = this.reported.status;
    return conditions.filter(({ status }) => status === "True").map(({ type }) => type);
  }

  /** `web-1 container7`, sorted: who was restarted has another id. */
  running(): readonly string[] {
    const { judge, machine } = this.world;
    const ours = machine.runtime.running().filter((one) => !judge.ledger.isForeign(one));
    return ours.map((one) => this.#nameOf(one)).toSorted();
  }

  /** The same answer and the same containers, now and after a kill -9. */
  async stays(expected: object): Promise<void> {
    const { answer } = this;
    const running = this.running();
    const kept = this.agent.store.documents.get("mqtt:node");
    expect(answer).toMatchObject(expected);
    await this.restart();
    expect(this.answer).toEqual(answer);
    expect(this.running()).toEqual(running);
    expect(this.agent.store.documents.get("mqtt:node")).toEqual(kept);
  }

  /** Refuses it with this code and these words; everything else stays as it was, also after a kill -9. */
  async refuses(payload: string | object, code: number, words: RegExp | string): Promise<void> {
    const before = this.answer;
    const running = this.running();
    const kept = this.agent.store.documents.get("mqtt:node");
    await this.publish(payload);
    expect(this.agent.store.documents.get("mqtt:node")).toEqual(kept);
    expect(this.running()).toEqual(running);
    const said = this.answer?.lastRejected;
    expect(said).toMatchObject({ code, digest: digestOf(payload) });
    expect(said?.message ?? "").toMatch(words);
    const { lastRejected: _, ...accepted } = before ?? { phase: "Rejected", code, generation: 0 };
    await this.stays(accepted);
  }

  /** Nobody who watches has anything to say. */
  isQuiet(): void {
    expect(this.world.judge.violation).toBeUndefined();
  }

  [Symbol.dispose](): void {
    this.world[Symbol.dispose]();
  }

  #nameOf(container: FakeContainer): string {
    const { ledger } = this.world.judge;
    const uid = container.config.labels["io.kubernetes.pod.uid"];
    return `${ledger.key(uid)} ${container.id}`;
  }
}

/** A complete document of these pods. */
export function documentOf(
  generation: number,
  pods: readonly SimSpec[] = [WEB],
  more: object = {},
): object {
  return {
    apiVersion: "agent/v1",
    kind: "DesiredState",
    target: { node: NODE },
    generation,
    resources: pods.map((spec) => writtenPod(spec, 1)),
    ...more,
  };
}

export function signedDocument(document: object, ...by: readonly KeyName[]): string {
  return signedText("desired", document, { by });
}

/** By the desk, and then changed. */
export function tamperedDocument(document: object): string {
  return signedText("desired", document, { by: ["desk"], tampered: true });
}

/** Of what is inside an envelope, where there is one. */
function digestOf(payload: string | object): string {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  const read = readSignedMessage(new TextEncoder().encode(text));
  return `sha256:${sha256(read.type === "Signed" ? read.envelope.payload : text)}`;
}

function answerOf({ desired }: ReportedState): Answer | undefined {
  const ack = desired.find(({ source }) => source === "node");
  if (ack === undefined) return undefined;
  const { since: _, lastRejected, message = "", ...rest } = ack;
  if (lastRejected === undefined) return { ...rest, message };
  const { at: _at, count: _count, ...refused } = lastRejected;
  return { ...rest, message, lastRejected: refused };
}

export const BUNDLE = {
  version: 1,
  root: ["root"],
  keys: [
    { key: "desk", roles: ["desired", "rollout"] },
    { key: "herald", roles: ["command", "rollout"] },
    { key: "elsewhere", roles: ["desired"], nodes: ["other-*"] },
  ],
} as const;

/** A node that runs generation 3, epoch "". */
export async function running(options: StageOptions = {}): Promise<AnswerStage> {
  const stage = new AnswerStage(options);
  await stage.start();
  await stage.publish(documentOf(3));
  expect(stage.answer).toMatchObject({ generation: 3, observedGeneration: 3, code: 200 });
  expect(stage.running()).toHaveLength(1);
  return stage;
}

/** Signatures are required; the documents are the desk's to sign. */
export async function trusting(): Promise<AnswerStage> {
  const stage = new AnswerStage({ roots: ["root"], mqtt: { fleet: "north" } });
  await stage.start();
  await stage.trust(BUNDLE, ["root"]);
  await stage.publish(signedDocument(documentOf(3, [WEB], { epoch: "old" }), "desk"));
  expect(stage.answer).toMatchObject({ generation: 3, signed: true, code: 200 });
  return stage;
}
