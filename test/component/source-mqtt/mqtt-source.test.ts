// The MQTT source on a real store: what it answers, what it writes, what it still knows after a restart.

import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { DocumentState } from "../../../src/protocol/desired-document.ts";
import type { SourceSnapshot } from "../../../src/api/pod/desired-pod.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { MqttSource } from "../../../src/source/document/mqtt-source.ts";
import type { DocumentStore } from "../../../src/source/document/document-rules.ts";
import type { Store } from "../../../src/store/store.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { sha256 } from "../../unit/api/digest.ts";
import { aWrittenPod, bytes, written } from "../../unit/source/desired-arrival.ts";
import { openStore } from "../store/open-store.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";
import { withoutKeys } from "./trusting.ts";

const newDirectory = temporaryDirectories();
const TOPIC = "agent/v1/node/pi-1/desired";

const open: Disposable[] = [];
afterEach(() => {
  for (const one of open.splice(0).toReversed()) one[Symbol.dispose]();
});

/** A started source and everything it has said. */
class Node {
  readonly snapshots: SourceSnapshot[] = [];
  readonly told: (DocumentState | undefined)[] = [];
  readonly clock = new VirtualClock();
  readonly source: MqttSource;

  constructor(documents: DocumentStore) {
    const { clock } = this;
    this.source = new MqttSource({
      documents,
      clock,
      log: createLogger({ clock, level: "error", write: () => undefined }),
      sha256,
      node: "pi-1",
      topicRoot: "agent/v1",
      facts: { agentVersion: "1.0.0", arch: "arm64", features: new Set() },
      ...withoutKeys,
      clockTrusted: () => true,
      emit: (snapshot) => this.snapshots.push(snapshot),
      onState: ([state]) => this.told.push(state),
    });
    open.push(this.source);
    this.source.start();
  }

  receive(text: string, topic = TOPIC): void {
    this.source.receive(topic, bytes(text));
  }

  get snapshot(): SourceSnapshot | undefined {
    return this.snapshots.at(-1);
  }

  get state(): DocumentState | undefined {
    return this.source.states()[0];
  }

  get podNames(): readonly string[] {
    return this.snapshot?.pods.map(({ pod }) => pod.metadata.name) ?? [];
  }
}

function storeIn(stateDir: string): Store {
  const store = openStore(stateDir);
  open.push(store);
  return store;
}

function close(store: Store): void {
  open.splice(open.indexOf(store), 1);
  store[Symbol.dispose]();
}

const document = (generation: number, ...names: readonly string[]): string =>
  written({ generation, resources: names.map((name) => aWrittenPod(name)) });

describe("a node that has never accepted a document", () => {
  test("is not ready, and says nothing of a generation", () => {
    const node = new Node(storeIn(newDirectory()).documents);
    expect(node.snapshots).toEqual([
      { source: "mqtt:node", ready: false, pods: [], objects: [], rejected: [] },
    ]);
    expect(node.told).toEqual([
      {
        source: "mqtt:node",
        document: undefined,
        observedGeneration: 0,
        acceptedAt: 0,
        lastRejected: undefined,
      },
    ]);
  });

  test("stays not ready when it refuses one, and shows why", () => {
    const node = new Node(storeIn(newDirectory()).documents);
    node.receive(written({ resources: [aWrittenPod("web", { restartPolici: "x" })] }));
    expect(node.snapshot).toMatchObject({
      ready: false,
      pods: [],
      rejected: [{ kind: "Pod", name: "web", path: "spec.restartPolici", code: "UnknownField" }],
    });
    expect(node.state).toMatchObject({
      document: undefined,
      lastRejected: { code: 400, generation: 7, count: 1, at: node.clock.now() },
    });
  });
});

describe("a document that is accepted", () => {
  test("is on the disk before anybody hears of it", () => {
    const { documents } = storeIn(newDirectory());
    const order: string[] = [];
    const source = new MqttSource({
      documents: {
        get: (name) => documents.get(name),
        setObserved: (name, generation) => documents.setObserved(name, generation),
        forgetVersion: (name) => documents.forgetVersion(name),
        synced: () => documents.synced(),
        remove: (name) => documents.remove(name),
        accept: (accepted) => {
          documents.accept(accepted);
          order.push(`stored ${documents.get("mqtt:node")?.generation}`);
        },
      },
      clock: new VirtualClock(),
      log: createLogger({ clock: new VirtualClock(), level: "error", write: () => undefined }),
      sha256,
      node: "pi-1",
      topicRoot: "agent/v1",
      facts: { agentVersion: "1.0.0", arch: "arm64", features: new Set() },
      ...withoutKeys,
      clockTrusted: () => true,
      emit: ({ pods }) => order.push(`emitted ${pods.length}`),
      onState: ([state]) => order.push(`told ${state?.document?.generation ?? 0}`),
    });
    source.start();
    source.receive(TOPIC, bytes(document(7, "web")));
    expect(order).toEqual(["emitted 0", "told 0", "stored 7", "emitted 1", "told 7"]);
  });

  test("replaces the whole set of pods", () => {
    const node = new Node(storeIn(newDirectory()).documents);
    node.receive(document(1, "a", "b"));
    node.receive(document(2, "b", "c"));
    expect(node.podNames).toEqual(["b", "c"]);
    expect(node.snapshot).toMatchObject({ source: "mqtt:node", ready: true, rejected: [] });
    node.receive(written({ generation: 3, resources: [], allowEmpty: true }));
    expect(node.snapshot).toMatchObject({ ready: true, pods: [] });
  });

  test("once more does nothing and writes nothing", () => {
    const stateDir = newDirectory();
    const node = new Node(storeIn(stateDir).documents);
    node.receive(document(1, "a"));
    const before = { said: [node.snapshots.length, node.told.length], disk: look(stateDir) };
    node.receive(document(1, "a"));
    expect({ said: [node.snapshots.length, node.told.length], disk: look(stateDir) }).toEqual(
      before,
    );
  });

  test("makes the refusals before it history", () => {
    const node = new Node(storeIn(newDirectory()).documents);
    node.receive(document(2, "a"));
    node.receive(document(1, "b"));
    expect(node.state?.lastRejected).toMatchObject({ code: 410 });
    node.receive(document(3, "c"));
    expect(node.state?.lastRejected).toBeUndefined();
  });
});

describe("messages that are none of its business", () => {
  test.each([
    "agent/v1/node/pi-2/desired",
    "agent/v1/node/pi-1/command",
    "agent/v1/group/kiosks/desired",
    "agent/v1/node/pi-1/desired/x",
    "other",
  ])("%s is passed over", (topic) => {
    const node = new Node(storeIn(newDirectory()).documents);
    node.receive(document(1, "a"), topic);
    expect(node.podNames).toEqual([]);
    expect(node.state?.lastRejected).toBeUndefined();
  });
});

const REFUSALS: Readonly<Record<string, readonly [text: string, code: number]>> = {
  "a broken one": ["{", 400],
  "another node's": [written({ target: { node: "x" }, generation: 9 }), 403],
  "the same generation with other content": [document(7, "other"), 409],
  "an older one": [document(6, "other"), 410],
  "one with a feature this node lacks": [
    written({ generation: 9, requires: { features: ["x"] } }),
    412,
  ],
  "one that is too large": [written({ generation: 9, filler: "x".repeat(50_000) }), 413],
  "an empty payload": ["", 417],
  "an empty set": [written({ generation: 9, resources: [] }), 417],
  "a forbidden pod": [
    written({ generation: 9, resources: [aWrittenPod("web", { hostNetwork: true })] }),
    403,
  ],
};

describe("a document that is refused", () => {
  test.each(Object.entries(REFUSALS))(
    "%s changes nothing and writes nothing",
    (_sentence, [text, code]) => {
      const stateDir = newDirectory();
      const store = storeIn(stateDir);
      const node = new Node(store.documents);
      node.receive(document(7, "web"));
      node.source.observed("mqtt:node", 7);
      const before = { disk: look(stateDir), stored: store.documents.get("mqtt:node") };
      const pods = node.snapshot?.pods;
      node.receive(text);
      expect({ disk: look(stateDir), stored: store.documents.get("mqtt:node") }).toEqual(before);
      expect(node.snapshot).toMatchObject({ ready: true, pods });
      expect(node.state).toMatchObject({
        document: { generation: 7 },
        observedGeneration: 7,
        lastRejected: { code, digest: `sha256:${sha256(bytes(text))}`, count: 1 },
      });
    },
  );

  test("again and again is counted in silence", async () => {
    const node = new Node(storeIn(newDirectory()).documents);
    for (let n = 0; n < 5; n += 1) node.receive("{");
    expect(node.told).toHaveLength(2);
    await node.clock.advance(3_600_000);
    node.receive("{");
    expect(node.told).toHaveLength(3);
    expect(node.state?.lastRejected).toMatchObject({ count: 6 });
  });

  test("is no longer listed when the accepted one is on the topic again", () => {
    const node = new Node(storeIn(newDirectory()).documents);
    node.receive(document(1, "a"));
    node.receive("{");
    expect(node.snapshot?.rejected).toMatchObject([{ kind: "DesiredState", code: "Syntax" }]);
    node.receive(document(1, "a"));
    expect(node.snapshot).toMatchObject({ ready: true, rejected: [] });
    expect(node.podNames).toEqual(["a"]);
  });
});

describe("after a restart", () => {
  test("the accepted document speaks before the broker does", () => {
    const stateDir = newDirectory();
    const store = storeIn(stateDir);
    const before = new Node(store.documents);
    before.receive(document(7, "web"));
    before.source.observed("mqtt:node", 7);
    close(store);
    const node = new Node(storeIn(stateDir).documents);
    expect(node.snapshots).toEqual([before.snapshot!]);
    expect(node.told).toEqual([before.state]);
    node.receive(document(6, "old"));
    expect(node.state?.lastRejected?.code).toBe(410);
  });

  test("so it does when the database was overwritten with garbage", () => {
    const stateDir = newDirectory();
    const store = storeIn(stateDir);
    new Node(store.documents).receive(document(7, "web"));
    close(store);
    for (const suffix of ["-wal", "-shm"])
      rmSync(join(stateDir, `agent.db${suffix}`), { force: true });
    writeFileSync(join(stateDir, "agent.db"), "garbage".repeat(1000));
    const node = new Node(storeIn(stateDir).documents);
    expect(node.snapshot?.ready).toBe(true);
    expect(node.podNames).toEqual(["web"]);
    node.receive(document(6, "old"));
    expect(node.state?.lastRejected?.code).toBe(410);
  });

  test("a checkpoint that cannot be read whole is no order to remove what is missing", () => {
    const { documents } = storeIn(newDirectory());
    const payload = bytes(
      written({ resources: [aWrittenPod("good"), aWrittenPod("bad", { containers: [] })] }),
    );
    documents.accept({
      source: "mqtt:node",
      epoch: "",
      generation: 7,
      digest: `sha256:${sha256(payload)}`,
      payload,
      observedGeneration: 0,
      acceptedAt: 1,
    });
    const node = new Node(documents);
    expect(node.podNames).toEqual(["good"]);
    expect(node.snapshot).toMatchObject({ ready: false, rejected: [{ name: "bad" }] });
    node.receive(document(8, "good"));
    expect(node.snapshot).toMatchObject({ ready: true, rejected: [] });
  });
});

describe("convergence", () => {
  test("is written down once, and only for the accepted generation", () => {
    const stateDir = newDirectory();
    const store = storeIn(stateDir);
    const node = new Node(store.documents);
    node.source.observed("mqtt:node", 7);
    node.receive(document(7, "web"));
    node.source.observed("mqtt:node", 6);
    expect(store.documents.get("mqtt:node")?.observedGeneration).toBe(0);
    node.source.observed("mqtt:node", 7);
    expect(store.documents.get("mqtt:node")?.observedGeneration).toBe(7);
    const said = node.told.length;
    node.source.observed("mqtt:node", 7);
    expect(node.told).toHaveLength(said);
    node.receive(document(8, "web"));
    expect(node.state).toMatchObject({ document: { generation: 8 }, observedGeneration: 7 });
  });
});

describe("a disk that does not take it", () => {
  /** Fails until told otherwise. */
  function failingStore(thrown: Error) {
    const { documents } = storeIn(newDirectory());
    const failing = {
      broken: true,
      tries: 0,
      get: documents.get.bind(documents),
      setObserved: documents.setObserved.bind(documents),
      forgetVersion: documents.forgetVersion.bind(documents),
      synced: documents.synced.bind(documents),
      remove: documents.remove.bind(documents),
      accept: (accepted: Parameters<typeof documents.accept>[0]): void => {
        failing.tries += 1;
        if (failing.broken) throw thrown;
        documents.accept(accepted);
      },
    };
    return failing;
  }
  const full = new AgentError({ reason: "DatabaseFull", message: "no space left for agent.db" });
  const noSpace = new AgentError({
    reason: "FileError",
    message: "cannot write x",
    cause: Object.assign(new Error("write"), { code: "ENOSPC" }),
  });
  const broken = new AgentError({ reason: "DatabaseUnavailable", message: "disk I/O error" });

  test.each([
    ["the database is full", full, 507],
    ["the file system is full", noSpace, 507],
    ["the database does not answer", broken, 500],
  ] as const)("%s: refused, nothing adopted", (_sentence, thrown, code) => {
    const node = new Node(failingStore(thrown));
    node.receive(document(7, "web"));
    expect(node.snapshot).toMatchObject({ ready: false, pods: [] });
    expect(node.state).toMatchObject({
      document: undefined,
      lastRejected: { code, generation: 7 },
    });
  });

  test("tries again with back-off, by itself, until it is kept", async () => {
    const store = failingStore(full);
    const node = new Node(store);
    node.receive(document(7, "web"));
    await node.clock.advance(29_999);
    expect(store.tries).toBe(1);
    await node.clock.advance(1);
    expect(store.tries).toBe(2);
    store.broken = false;
    await node.clock.advance(60_000);
    expect(node.podNames).toEqual(["web"]);
    expect(node.state).toMatchObject({ document: { generation: 7 }, lastRejected: undefined });
    expect(node.clock.pending).toBe(0);
  });

  test("a newer message takes the place of the one that waits", async () => {
    const store = failingStore(full);
    const node = new Node(store);
    node.receive(document(7, "seven"));
    store.broken = false;
    node.receive(document(8, "eight"));
    await node.clock.advance(3_600_000);
    expect(node.podNames).toEqual(["eight"]);
    expect(store.tries).toBe(2);
  });

  test("nothing is tried any more after the end", async () => {
    const store = failingStore(full);
    const node = new Node(store);
    node.receive(document(7, "web"));
    node.source[Symbol.dispose]();
    await node.clock.advance(3_600_000);
    expect(store.tries).toBe(1);
  });
});

/** Every file below the state directory with its content: what a write would change. */
function look(stateDir: string): Readonly<Record<string, string>> {
  const names = readdirSync(stateDir, { recursive: true }).map(String).toSorted();
  const files = names.filter((name) => statSync(join(stateDir, name)).isFile());
  return Object.fromEntries(
    files
      // The shared memory of the log is no file on the disk.
      .filter((name) => !name.endsWith("-shm"))
      .map((name) => [name, sha256(readFileSync(join(stateDir, name)))]),
  );
}

describe("a flood of documents", () => {
  test("is judged at once for ten, then once a second, and the newest counts", async () => {
    const node = new Node(storeIn(newDirectory()).documents);
    const accepted = () =>
      new Set(node.told.flatMap((state) => state?.document?.generation ?? [])).size;
    for (let generation = 1; generation <= 1000; generation += 1)
      node.receive(document(generation, "web"));
    expect(accepted()).toBe(10);
    await node.clock.advance(1000);
    expect(node.state).toMatchObject({ document: { generation: 1000 } });
    expect(accepted()).toBe(11);
  });

  test("that never pauses does not keep the newest from being judged", async () => {
    const node = new Node(storeIn(newDirectory()).documents);
    let generation = 0;
    for (let tenth = 0; tenth < 100; tenth += 1) {
      for (let one = 0; one < 10; one += 1) node.receive(document((generation += 1), "web"));
      await node.clock.advance(100);
    }
    const judged = new Set(node.told.map((state) => state?.document?.generation));
    expect(judged.size).toBeGreaterThan(15);
    expect(judged.size).toBeLessThan(25);
    await node.clock.advance(1000);
    expect(node.state).toMatchObject({ document: { generation } });
  });

  test("that waits is forgotten with its source", async () => {
    const node = new Node(storeIn(newDirectory()).documents);
    for (let generation = 1; generation <= 12; generation += 1)
      node.receive(document(generation, "web"));
    node.source[Symbol.dispose]();
    await node.clock.advance(60_000);
    expect(node.state).toMatchObject({ document: { generation: 10 } });
  });
});
