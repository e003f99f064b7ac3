// ConfigMaps and Secrets of documents on a real store, through restarts and the loss of the node's key.

import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { SourceSnapshot } from "../../../src/api/pod/desired-pod.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { MqttSource } from "../../../src/source/document/mqtt-source.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { sha256 } from "../../unit/api/digest.ts";
import { aWrittenPod, bytes, written } from "../../unit/source/desired-arrival.ts";
import { openStore } from "../store/open-store.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";
import { withoutKeys } from "./trusting.ts";

const newDirectory = temporaryDirectories();
const TOPIC = "agent/v1/node/pi-1/desired";
const VALUE = "correct-horse-battery-staple";

const open: Disposable[] = [];
afterEach(() => closeAll());

function closeAll(): void {
  for (const one of open.splice(0).toReversed()) one[Symbol.dispose]();
}

interface Life {
  readonly source: MqttSource;
  readonly log: string[];
  receive(text: string): void;
  now(): SourceSnapshot | undefined;
  names(): readonly string[];
}

/** An agent's life on a state directory; it ends the one before. */
function live(stateDir: string): Life {
  closeAll();
  const snapshots: SourceSnapshot[] = [];
  const log: string[] = [];
  const clock = new VirtualClock();
  const store = openStore(stateDir);
  const source = new MqttSource({
    documents: store.documents,
    clock,
    log: createLogger({ clock, level: "debug", write: (line) => log.push(line) }),
    sha256,
    node: "pi-1",
    topicRoot: "agent/v1",
    facts: { agentVersion: "1.0.0", arch: "arm64", features: new Set() },
    ...withoutKeys,
    clockTrusted: () => true,
    emit: (snapshot) => snapshots.push(snapshot),
    onState: () => undefined,
  });
  open.push(store, source);
  source.start();
  return {
    source,
    log,
    receive: (text) => source.receive(TOPIC, bytes(text)),
    now: () => snapshots.at(-1),
    names: () => {
      const { pods = [], objects = [] } = snapshots.at(-1) ?? {};
      return [...pods.map(({ pod }) => pod), ...objects.map(({ object }) => object)].map(
        ({ kind, metadata }) => `${kind} ${metadata.name}`,
      );
    },
  };
}

function config(value: string, more: object = {}): object {
  const metadata = { name: "config" };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: value }, ...more };
}

const secret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "login" },
  stringData: { password: VALUE },
};

const document = (generation: number, ...resources: readonly object[]): string =>
  written({ generation, resources });
const WITH_SECRET = document(7, aWrittenPod("web"), config("1"), secret);
const ALL = ["Pod web", "ConfigMap config", "Secret login"];

function showing(stateDir: string): readonly string[] {
  const spellings = [VALUE, Buffer.from(VALUE).toString("base64")];
  return readdirSync(stateDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .filter((entry) => {
      const content = readFileSync(join(entry.parentPath, entry.name));
      return spellings.some((text) => content.includes(text));
    })
    .map((entry) => entry.name);
}

describe("objects of documents", () => {
  test("count with the document, and go with it", () => {
    const life = live(newDirectory());
    life.receive(WITH_SECRET);
    expect(life.names()).toEqual(ALL);
    life.receive(document(8, config("2")));
    expect(life.names()).toEqual(["ConfigMap config"]);
    life.receive(written({ generation: 9, resources: [], allowEmpty: true }));
    expect(life.names()).toEqual([]);
  });

  test("are there again after a restart, and their Secrets nowhere in plain sight", () => {
    const stateDir = newDirectory();
    live(stateDir).receive(WITH_SECRET);
    expect(showing(stateDir)).toEqual([]);
    const life = live(stateDir);
    expect(life.names()).toEqual(ALL);
    expect(life.now()).toMatchObject({ ready: true, rejected: [] });
    // As the predecessor on the disk, too.
    life.receive(document(8, config("2")));
    closeAll();
    expect(showing(stateDir)).toEqual([]);
  });

  test("an immutable one keeps its content, also over a restart", () => {
    const stateDir = newDirectory();
    live(stateDir).receive(document(7, config("1", { immutable: true })));
    const life = live(stateDir);
    life.receive(document(8, config("2", { immutable: true })));
    expect(life.source.states()[0]).toMatchObject({
      document: { generation: 7 },
      lastRejected: { code: 400, generation: 8 },
    });
    life.receive(document(8, aWrittenPod("web")));
    life.receive(document(9, config("2", { immutable: true })));
    expect(life.names()).toEqual(["ConfigMap config"]);
  });

  test("nothing of a Secret stands in the log or in a refusal", () => {
    const life = live(newDirectory());
    life.receive(WITH_SECRET);
    life.receive(document(8, { ...secret, stringData: { password: [VALUE] } }));
    life.receive(document(8, { ...secret, kind: "Secrett" }));
    life.receive(`{"kind": "DesiredState", "resources": ["${VALUE}"]`);
    const said = JSON.stringify([
      life.log,
      life.source.states()[0]?.lastRejected,
      life.now()?.rejected,
    ]);
    expect(said).not.toContain(VALUE);
    expect(life.now()?.rejected.length).toBeGreaterThan(0);
  });
});

describe("when the key is lost", () => {
  function lost(): { readonly stateDir: string; readonly life: Life } {
    const stateDir = newDirectory();
    live(stateDir).receive(WITH_SECRET);
    closeAll();
    writeFileSync(join(stateDir, "secret.key"), "x".repeat(32));
    return { stateDir, life: live(stateDir) };
  }

  test("the source has not spoken, and says why", () => {
    const { life } = lost();
    expect(life.names()).toEqual([]);
    expect(life.now()).toMatchObject({
      ready: false,
      rejected: [{ code: "DocumentLost", kind: "DesiredState", ref: TOPIC }],
    });
    expect(
      life.log.filter((line) => line.includes('"error"') && line.includes("sealed")),
    ).toHaveLength(1);
  });

  test("the same document, as the broker retains it, heals it", () => {
    const { stateDir, life } = lost();
    life.receive(WITH_SECRET);
    expect([life.names(), life.now()?.ready, life.now()?.rejected]).toEqual([ALL, true, []]);
    expect([live(stateDir).names(), showing(stateDir)]).toEqual([ALL, []]);
  });

  test("versions still count: an older or a rival document is refused, a newer one heals", () => {
    const { life } = lost();
    life.receive(document(6, config("1")));
    expect(life.source.states()[0]?.lastRejected).toMatchObject({ code: 410 });
    life.receive(document(7, config("rival")));
    expect(life.source.states()[0]?.lastRejected).toMatchObject({ code: 409 });
    expect(life.now()?.ready).toBe(false);
    life.receive(document(8, config("2")));
    expect([life.names(), life.now()?.ready]).toEqual([["ConfigMap config"], true]);
  });

  test("a document without Secrets is not touched by it", () => {
    const stateDir = newDirectory();
    live(stateDir).receive(document(7, aWrittenPod("web"), config("1")));
    closeAll();
    rmSync(join(stateDir, "secret.key"));
    const life = live(stateDir);
    expect([life.names(), life.now()?.ready]).toEqual([["Pod web", "ConfigMap config"], true]);
  });
});
