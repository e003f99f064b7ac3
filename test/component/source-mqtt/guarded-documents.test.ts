// Documents in whose hand the agent has ended twice.

import { afterEach, describe, expect, test } from "bun:test";
import type { SourceSnapshot } from "../../../src/api/pod/desired-pod.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { MqttSource } from "../../../src/source/document/mqtt-source.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeGuard } from "../../fakes/fake-guard.ts";
import { sha256 } from "../../unit/api/digest.ts";
import { aWrittenPod, bytes, written } from "../../unit/source/desired-arrival.ts";
import { openStore } from "../store/open-store.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";
import { withoutKeys } from "./trusting.ts";

const newDirectory = temporaryDirectories();
const TOPIC = "agent/v1/node/pi-1/desired";
const WORK = "Document mqtt:node";

const open: Disposable[] = [];
afterEach(() => {
  for (const one of open.splice(0).toReversed()) one[Symbol.dispose]();
});

class Node {
  readonly clock = new VirtualClock();
  readonly guard = new FakeGuard();
  readonly snapshots: SourceSnapshot[] = [];
  readonly source: MqttSource;
  judged = 0;

  constructor(stateDir: string, suspects: readonly string[] = []) {
    const { clock, guard } = this;
    for (const work of suspects) guard.suspects.add(work);
    const store = openStore(stateDir);
    this.source = new MqttSource({
      documents: store.documents,
      clock,
      log: createLogger({ clock, level: "error", write: () => undefined }),
      sha256,
      node: "pi-1",
      topicRoot: "agent/v1",
      facts: { agentVersion: "1.0.0", arch: "arm64", features: new Set() },
      ...withoutKeys,
      clockTrusted: () => true,
      guard,
      onJudged: () => (this.judged += 1),
      emit: (snapshot) => this.snapshots.push(snapshot),
      onState: () => undefined,
    });
    open.push(store, this.source);
    this.source.start();
  }

  /** kill -9, and the next process. */
  die(stateDir: string, suspects: readonly string[] = []): Node {
    for (const one of open.splice(0).toReversed()) one[Symbol.dispose]();
    return new Node(stateDir, suspects);
  }

  async receive(generation: number, ...names: readonly string[]): Promise<void> {
    const resources = names.map((name) => aWrittenPod(name));
    this.source.receive(TOPIC, bytes(written({ generation, resources })));
    await this.clock.settle();
  }

  get now(): object {
    const { ready, pods, rejected } = this.snapshots.at(-1) ?? {};
    const [state] = this.source.states();
    return {
      ready,
      pods: pods?.map(({ pod }) => pod.metadata.name),
      rejected: rejected?.map(({ code }) => code),
      refused: state?.lastRejected?.code,
    };
  }
}

describe("a message", () => {
  test("is in hand while it is judged; once accepted it is a suspect until it was applied", async () => {
    const node = new Node(newDirectory());
    await node.receive(7, "web");
    expect(node.guard.history).toEqual([`hold ${WORK}`, `release ${WORK}`]);
    await node.receive(7, "web");
    expect(node.guard.history.slice(2)).toEqual([`hold ${WORK}`, `settle ${WORK}`]);
    expect(node.judged).toBe(2);
  });

  test("that is suspected is not judged; what was accepted stays in force", async () => {
    const node = new Node(newDirectory());
    await node.receive(7, "web");
    node.guard.suspects.add(WORK);
    await node.receive(8, "db");
    expect(node.now).toEqual({ ready: true, pods: ["web"], rejected: [], refused: 503 });
    expect(node.judged).toBe(1);
    node.guard.allow(WORK);
    await node.clock.settle();
    expect(node.now).toEqual({ ready: true, pods: ["db"], rejected: [], refused: undefined });
  });

  test("that is newer takes the place of one that waits", async () => {
    const node = new Node(newDirectory());
    node.guard.suspects.add(WORK);
    await node.receive(7, "web");
    expect(node.guard.waiting).toEqual([WORK]);
    node.guard.suspects.clear();
    await node.receive(8, "db");
    expect(node.guard.waiting).toEqual([]);
    expect(node.now).toMatchObject({ pods: ["db"], refused: undefined });
    node.guard.allow(WORK);
    await node.clock.settle();
    expect(node.judged).toBe(1);
  });
});

describe("an accepted document that is suspected", () => {
  async function restarted(): Promise<Node> {
    const stateDir = newDirectory();
    const node = new Node(stateDir);
    await node.receive(7, "web");
    return node.die(stateDir, [WORK]);
  }

  test("has not synced, so that nothing of it is removed, and is restored when it may be", async () => {
    const node = await restarted();
    expect(node.now).toMatchObject({ ready: false, pods: [], rejected: ["StartGuard"] });
    expect(node.guard.history).toEqual([]);
    node.guard.allow(WORK);
    await node.clock.settle();
    expect(node.now).toEqual({ ready: true, pods: ["web"], rejected: [], refused: undefined });
  });

  test("is never restored over a newer one", async () => {
    const node = await restarted();
    node.guard.suspects.clear();
    await node.receive(8, "db");
    expect(node.now).toMatchObject({ ready: true, pods: ["db"] });
    node.guard.allow(WORK);
    await node.clock.settle();
    expect(node.now).toMatchObject({ ready: true, pods: ["db"] });
  });
});
