// The table of answers to documents, told by the whole agent through every kind of broker.

import { describe, expect, test } from "bun:test";
import type { Ack, ReportedState } from "../../../src/protocol/reported-state.ts";
import { aDocument, aPodNamed, UpstreamBench } from "../../agent/upstream-bench.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { breachesOf, BROKERS, brokerOf, type BrokerKind } from "./strict-worlds.ts";

const DESIRED = "agent/v1/node/pi-1/desired";
const REPORTED = "agent/v1/node/pi-1/reported";
const STATE = "agent/v1/node/pi-1/state";
const WEB = aPodNamed("web");

interface Case {
  readonly name: string;
  /** Arrives when generation 5 with one pod is Healthy. */
  readonly arrives: string | object;
  readonly ack: object;
  readonly refusal?: object;
  readonly pods?: readonly string[];
}

const RUNS_FIVE = { generation: 5, observedGeneration: 5, phase: "Healthy", code: 200 };
const five = aDocument(5, { resources: [WEB] });

function refused(name: string, code: number, arrives: string | object): Case {
  return { name, arrives, ack: RUNS_FIVE, refusal: { code } };
}

const CASES: readonly Case[] = [
  {
    name: "a newer generation",
    arrives: aDocument(6, { resources: [WEB, aPodNamed("extra")] }),
    ack: { generation: 6, observedGeneration: 6, phase: "Healthy", code: 200 },
    pods: ["extra", "web"],
  },
  { name: "the same once more", arrives: five, ack: RUNS_FIVE },
  {
    name: "nothing, and that on purpose",
    arrives: aDocument(6, { resources: [], allowEmpty: true }),
    ack: { generation: 6, observedGeneration: 6, code: 200 },
    pods: [],
  },
  {
    name: "another epoch while nothing is signed",
    arrives: aDocument(1, { epoch: "new", resources: [WEB, aPodNamed("extra")] }),
    ack: { epoch: "new", generation: 1, observedGeneration: 1, code: 200 },
    pods: ["extra", "web"],
  },
  refused("another content of one generation", 409, aDocument(5, { resources: [aPodNamed("b")] })),
  refused("an older generation", 410, aDocument(4, { resources: [aPodNamed("old")] })),
  refused("no document at all", 400, "{{{ not a document"),
  refused("a wrong kind", 400, { ...aDocument(6, { resources: [] }), kind: "Deployment" }),
  refused("an invalid pod", 400, aDocument(6, { resources: [aPodNamed("x", { volumez: [] })] })),
  refused("another node's", 403, {
    ...aDocument(6, { resources: [WEB] }),
    target: { node: "pi-2" },
  }),
  refused(
    "what has expired",
    408,
    aDocument(6, { resources: [WEB], expiresAt: "2026-01-01T00:00:00Z" }),
  ),
  refused(
    "what this agent cannot do",
    412,
    aDocument(6, { resources: [WEB], requires: { features: ["teleportation"] } }),
  ),
  refused(
    "what is too large",
    413,
    aDocument(6, { resources: [WEB], labels: { filler: "x".repeat(50_000) } }),
  ),
  refused("an empty payload", 417, ""),
  refused("an emptiness that nobody allowed", 417, aDocument(6, { resources: [] })),
];

class Node implements Disposable {
  readonly clock = new VirtualClock();
  readonly broker;
  readonly bench: UpstreamBench;

  constructor(kind: BrokerKind) {
    const { clock } = this;
    this.broker = brokerOf(kind, clock);
    this.bench = new UpstreamBench({ clock, broker: this.broker });
  }

  async startHealthy(): Promise<void> {
    this.bench.start();
    await this.clock.advance(10_000);
    this.broker.publish(DESIRED, five);
    await this.clock.advance(60_000);
    expect(this.ack()).toMatchObject(RUNS_FIVE);
  }

  /** The last word of the report. */
  report(): ReportedState | undefined {
    const text = this.broker.texts(REPORTED).at(-1);
    return text === undefined ? undefined : (JSON.parse(text) as ReportedState);
  }

  ack(): Ack | undefined {
    return this.report()?.desired.find(({ source }) => source === "node");
  }

  pods(): readonly string[] | undefined {
    return this.report()?.pods.map(({ name }) => name);
  }

  [Symbol.dispose](): void {
    this.bench[Symbol.dispose]();
  }
}

describe.each(BROKERS.map((kind) => [kind.kind, kind] as const))("over %s", (_, kind) => {
  test.each(CASES.map((one) => [one.name, one] as const))("%s", async (_name, one) => {
    using node = new Node(kind);
    await node.startHealthy();
    const before = node.bench.runtime.running().map(({ id }) => id);
    node.broker.publish(DESIRED, one.arrives);
    await node.clock.advance(60_000);
    const ack = node.ack();
    expect(ack).toMatchObject(one.ack);
    // Twice delivered, once counted: a repetition of what was refused is news once an hour.
    if (one.refusal === undefined) expect(ack?.lastRejected).toBeUndefined();
    else expect(ack?.lastRejected).toMatchObject(one.refusal);
    expect(node.pods()).toEqual([...(one.pods ?? ["web"])]);
    if (one.pods === undefined)
      expect(node.bench.runtime.running().map(({ id }) => id)).toEqual(before);
    expect(breachesOf(node.broker)).toEqual([]);
    await node.bench.stop();
    expect(node.broker.texts(STATE).at(-1)).toContain('"offline"');
  });

  test("generations that overtake each other: the newest wins", async () => {
    using node = new Node(kind);
    await node.startHealthy();
    for (const generation of [6, 7, 8])
      node.broker.publish(DESIRED, aDocument(generation, { resources: [aPodNamed("web")] }));
    await node.clock.advance(60_000);
    expect(node.ack()).toMatchObject({ generation: 8, observedGeneration: 8, code: 200 });
    expect(breachesOf(node.broker)).toEqual([]);
  });

  test("a broker that is emptied hears everything again within 30 seconds", async () => {
    using node = new Node(kind);
    await node.startHealthy();
    node.broker.stop(true);
    await node.clock.advance(20_000);
    const said = node.broker.publications.length;
    node.broker.start();
    while (!node.broker.isConnected("pi-1")) await node.clock.advance(1_000);
    await node.clock.advance(30_000);
    const again = new Set(node.broker.publications.slice(said).map(({ topic }) => topic));
    expect(again).toContain(STATE);
    expect(again).toContain(REPORTED);
    expect(again).toContain(`${REPORTED}/pod/default/web`);
    expect(node.ack()).toMatchObject(RUNS_FIVE);
    expect(breachesOf(node.broker)).toEqual([]);
  });
});

const KEEPING = BROKERS.filter(({ retains }) => retains);

describe.each(KEEPING.map((kind) => [kind.kind, kind] as const))("over %s", (_, kind) => {
  test("a broker restored from an older copy has the right report within 30 seconds", async () => {
    using node = new Node(kind);
    await node.startHealthy();
    const [old = ""] = node.broker.texts(REPORTED);
    expect(old).not.toBe(node.broker.retained(REPORTED));
    node.broker.faults.refuse = "unreachable";
    node.broker.cut("pi-1");
    node.broker.publish(REPORTED, old);
    await node.clock.advance(20_000);
    node.broker.start();
    while (!node.broker.isConnected("pi-1")) await node.clock.advance(1_000);
    await node.clock.advance(30_000);
    expect(node.ack()).toMatchObject(RUNS_FIVE);
    expect(node.broker.retained(REPORTED)).not.toBe(old);
    expect(breachesOf(node.broker)).toEqual([]);
  });

  test("what the session queue lost comes with the next SUBSCRIBE", async () => {
    using node = new Node(kind);
    await node.startHealthy();
    node.broker.faults.refuse = "unreachable";
    node.broker.cut("pi-1");
    const next = aDocument(6, { resources: [aPodNamed("extra"), WEB] });
    // More than a strict broker keeps for one that is away: the session is gone.
    for (let count = 0; count < 101; count += 1) node.broker.publish(DESIRED, next);
    await node.clock.advance(20_000);
    node.broker.start();
    while (!node.broker.isConnected("pi-1")) await node.clock.advance(1_000);
    await node.clock.advance(30_000);
    expect(node.ack()).toMatchObject({ generation: 6, observedGeneration: 6, code: 200 });
    expect(node.pods()).toEqual(["extra", "web"]);
    expect(breachesOf(node.broker)).toEqual([]);
  });
});
