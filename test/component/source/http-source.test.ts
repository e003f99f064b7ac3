// Manifests from a server in the hands of the test, on virtual time, with a real database that outlives the agent.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { addonPath } from "#sqlite-addon";
import type { SourceSnapshot } from "../../../src/api/pod/desired-pod.ts";
import { podName } from "../../../src/api/v1/pod.ts";
import type { AgentConfig } from "../../../src/config/config.ts";
import type { DownloadAnswer, DownloadRequest } from "../../../src/host/http/download-edge.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { aborted } from "../../../src/lib/clock.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { HttpSource } from "../../../src/source/http/http-source.ts";
import { buildManifestUrl, lastGoodOfFiles } from "../../../src/agent/build-manifest-url.ts";
import type { Edges } from "../../../src/edges.ts";
import { Store } from "../../../src/store/store.ts";
import { CONFIG_DEFAULTS } from "../../fakes/config-defaults.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeGuard } from "../../fakes/fake-guard.ts";
import { totalChanges } from "../../fakes/in-the-store.ts";
import { Mulberry32 } from "../../fakes/mulberry32.ts";
import { sha256 } from "../../unit/api/digest.ts";

const URL_TEXT = "https://fleet.example/pods.yaml?token=hushed";
const REF = "https://fleet.example/pods.yaml";
const podText = (name: string, more = ""): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: a, image: b:1}]${more}}\n`;
const SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {a: top-hushed}\n";
const EMPTY = '{"apiVersion":"v1","kind":"PodList","items":[]}';

let directory: string;
let clock: VirtualClock;
let store: Store;
let life: AbortController;
let running: Promise<void> | undefined;
let answer: () => DownloadAnswer | Promise<DownloadAnswer>;
let asked: DownloadRequest[];
let snapshots: SourceSnapshot[];
let logged: string[];
let guard: FakeGuard;

const text = (body: string, etag?: string): DownloadAnswer => ({
  type: "Text",
  bytes: new TextEncoder().encode(body),
  ...(etag === undefined ? {} : { etag }),
});
const fails = (message: string) => (): never => {
  throw new AgentError({ reason: "ConnectionFailed", message });
};
const last = (): SourceSnapshot => {
  const snapshot = snapshots.at(-1);
  if (snapshot === undefined) throw new Error("no snapshot");
  return snapshot;
};
const pods = (): readonly string[] => last().pods.map(({ pod }) => podName(pod));
const codes = (): readonly string[] => last().rejected.map(({ code }) => code);

function openStore(): Store {
  const files = realFiles();
  const random = new Mulberry32(1);
  return Store.open({ stateDir: directory, files, random, nativeBinding: addonPath });
}

/** A new process on the same disk. */
async function start(config: Partial<AgentConfig> = { staticPodURL: URL_TEXT }): Promise<void> {
  store = openStore();
  life = new AbortController();
  snapshots = [];
  const edges: Partial<Edges> = {
    clock,
    random: { next: () => 0.5, hex: (length) => "0".repeat(length * 2) },
    log: createLogger({ clock, level: "info", write: (line) => void logged.push(line) }),
    files: realFiles(),
    sha256,
    store,
    download: async (request, signal) => {
      asked.push(request);
      const cancelled = aborted(signal).then(fails("cancelled"));
      return Promise.race([Promise.resolve().then(answer), cancelled]);
    },
  };
  const source: HttpSource | undefined = buildManifestUrl({
    edges: edges as Edges,
    config: { ...CONFIG_DEFAULTS, ...config },
    nodeName: "pi-1",
    guard,
    emit: (snapshot) => void snapshots.push(snapshot),
  });
  running = source?.run(life.signal);
  await clock.advance(0);
}

async function stop(): Promise<void> {
  life.abort();
  await clock.advance(0);
  await running;
  store[Symbol.dispose]();
}

async function restart(config?: Partial<AgentConfig>): Promise<void> {
  await stop();
  await start(config);
}

beforeEach(() => {
  directory = mkdtempSync("/tmp/agent-url-");
  clock = new VirtualClock();
  guard = new FakeGuard();
  answer = fails("no network");
  asked = [];
  logged = [];
  snapshots = [];
});
afterEach(async () => {
  if (!life.signal.aborted) await stop();
  expect(clock.pending).toBe(0);
  rmSync(directory, { recursive: true, force: true });
});

describe("an answer", () => {
  test("declares pods and objects of the source http, in several documents and lists", async () => {
    answer = () => text(`${podText("web")}---\n${SECRET}---\n${podText("db")}`);
    await start();
    expect(pods()).toEqual(["default/web", "default/db"]);
    expect(last()).toMatchObject({ source: "http", ready: true, rejected: [] });
    expect(last().pods[1]).toMatchObject({ source: "http", sourceRef: `${REF}#2` });
    expect(last().objects).toHaveLength(1);
    expect(asked[0]).toMatchObject({ url: URL_TEXT, headers: {} });
  });

  test("declares Services, also after a restart with the cable out", async () => {
    const spec = "spec: {selector: {app: db}}";
    const service = `apiVersion: v1\nkind: Service\nmetadata: {name: data}\n${spec}\n`;
    answer = () => text(`${podText("web")}---\n${service}`);
    await start();
    const declared = { services: [{ name: "data", source: "http", selector: { app: "db" } }] };
    expect(last()).toMatchObject(declared);
    answer = fails("no network");
    await restart();
    expect(last()).toMatchObject(declared);
    answer = () => text(podText("web"));
    await clock.advance(600_000);
    expect(last()).not.toHaveProperty("services");
  });

  test("that is the same or not modified changes and writes nothing", async () => {
    answer = () => text(podText("web"), '"1"');
    await start();
    const before = { rows: totalChanges(store.database), snapshots: snapshots.length };
    answer = () => ({ type: "NotModified" });
    await clock.advance(3_600_000);
    answer = () => text(podText("web"), '"2"');
    await clock.advance(3_600_000);
    expect({ rows: totalChanges(store.database), snapshots: snapshots.length }).toEqual(before);
    expect(asked.length).toBeGreaterThan(300);
    expect(asked[1]).toMatchObject({ etag: '"1"' });
    expect(asked.at(-1)).toMatchObject({ etag: '"2"' });
  });

  test("that names fewer pods removes the others; an empty list removes all", async () => {
    answer = () => text(`${podText("web")}---\n${podText("db")}`);
    await start();
    answer = () => text(podText("db"));
    await clock.advance(30_000);
    expect(pods()).toEqual(["default/db"]);
    answer = () => text(EMPTY);
    await clock.advance(30_000);
    expect(pods()).toEqual([]);
    await restart();
    expect(last()).toMatchObject({ ready: true, pods: [] });
  });
});

describe("nothing stops for", () => {
  const BAD: Readonly<Record<string, () => DownloadAnswer>> = {
    "404": () => ({ type: "Status", status: 404 }),
    "500": () => ({ type: "Status", status: 500 }),
    "no network": fails("no network"),
    "an answer that is too large": () => {
      throw new AgentError({ reason: "TooLarge", message: "too large" });
    },
  };
  test.each(Object.entries(BAD))("%s, which is shown after three times", async (_name, bad) => {
    answer = () => text(podText("web"));
    await start();
    answer = bad;
    await clock.advance(600_000);
    expect(pods()).toEqual(["default/web"]);
    expect(codes()).toEqual(["URLFailed"]);
    expect(last().rejected[0]).toMatchObject({ source: "http", ref: REF });
    expect(logged.filter((line) => line.includes("cannot be read"))).toHaveLength(1);
    answer = () => text(podText("web"));
    await clock.advance(600_000);
    expect(codes()).toEqual([]);
    expect(logged.filter((line) => line.includes("answers again"))).toHaveLength(1);
  });

  test.each([
    ["no text at all", "", "Empty"],
    ["only comments", "# later\n", "Empty"],
    ["broken YAML", "kind: [", "Syntax"],
    ["the error of an API server", '{"apiVersion": "v1", "kind": "Status", "code": 404}', "Empty"],
    ["an Ingress and nothing else", "apiVersion: networking.k8s.io/v1\nkind: Ingress\n", "Empty"],
    ["the page of a login", "<!DOCTYPE html>\n<html><body>Log in</body></html>\n", "Invalid"],
    ["an error in JSON", '{"error": "not found"}', "Required"],
    ["an invalid pod", podText("web", ", restartPolicy: Perhaps"), "Invalid"],
  ])("%s: the last good version stays, and the mistake is shown", async (_case, body, code) => {
    answer = () => text(podText("web"));
    await start();
    answer = () => text(body);
    await clock.advance(30_000);
    expect(pods()).toEqual(["default/web"]);
    expect(codes()).toContain(code);
    await restart();
    expect(pods()).toEqual(["default/web"]);
  });

  test("bytes that are no text", async () => {
    answer = () => text(podText("web"));
    await start();
    answer = () => ({ type: "Text", bytes: new Uint8Array([0xff, 0xfe, 0x00]) });
    await clock.advance(30_000);
    expect(pods()).toEqual(["default/web"]);
    expect(codes()).toHaveLength(1);
  });

  test("a CA file that is missing: it is named, and read when it is there", async () => {
    const ca = join(directory, "ca.pem");
    answer = () => text(podText("web"));
    await start({ staticPodURL: URL_TEXT, staticPodURLCAFile: ca });
    expect(asked).toEqual([]);
    expect(last().rejected[0]?.message).toContain(ca);
    writeFileSync(ca, "PEM");
    await clock.advance(60_000);
    expect(asked[0]).toMatchObject({ ca: "PEM" });
    expect(pods()).toEqual(["default/web"]);
  });
});

describe("the source has synced", () => {
  test("at the start, from its checkpoint, with the cable out, also with an empty one", async () => {
    for (const [body, names] of [
      [podText("web"), ["default/web"]],
      [EMPTY, []],
    ] as const) {
      answer = () => text(body);
      await start();
      await clock.advance(30_000);
      await stop();
      answer = () => new Promise(() => undefined);
      await start();
      expect(snapshots).toHaveLength(1);
      expect(last().ready).toBe(true);
      expect(pods()).toEqual([...names]);
      await stop();
    }
  });

  test("never before a valid answer, where nothing is stored", async () => {
    await start();
    expect(last()).toMatchObject({ ready: false, pods: [] });
    expect(codes()).toEqual(["URLFailed"]);
    answer = () => text(`${podText("web")}---\n${podText("db", ", restartPolicy: Perhaps")}`);
    await clock.advance(60_000);
    expect(last().ready).toBe(false);
    expect(pods()).toEqual(["default/web"]);
    answer = () => text(podText("web"));
    await clock.advance(60_000);
    expect(last().ready).toBe(true);
  });

  test("not while a stored Secret cannot be read, until the next answer", async () => {
    answer = () => text(`${podText("web")}---\n${SECRET}`);
    await start();
    await stop();
    rmSync(join(directory, "secret.key"), { force: true });
    answer = fails("no network");
    await start();
    expect(codes()).toContain("LastGoodLost");
    expect(last().ready).toBe(false);
    expect(pods()).toEqual(["default/web"]);
    answer = () => text(`${podText("web")}---\n${SECRET}`);
    await clock.advance(60_000);
    expect(last()).toMatchObject({ ready: true, rejected: [] });
    expect(last().objects).toHaveLength(1);
  });
});

describe("the URL of the configuration", () => {
  test("may change: what came from the old one stays until the new one has answered", async () => {
    answer = () => text(podText("web"));
    await start();
    answer = fails("no network");
    await restart({ staticPodURL: "https://other.example/" });
    await clock.advance(600_000);
    expect(pods()).toEqual(["default/web"]);
    answer = () => text(podText("db"));
    await clock.advance(600_000);
    expect(pods()).toEqual(["default/db"]);
    answer = fails("no network");
    await restart({ staticPodURL: "https://other.example/" });
    expect(pods()).toEqual(["default/db"]);
  });

  test("may vanish, as with its file: that stops nothing; an empty one is the order to", async () => {
    answer = () => text(podText("web"));
    await start();
    await restart({});
    await clock.advance(600_000);
    expect(pods()).toEqual(["default/web"]);
    expect(codes()).toEqual(["URLRemoved"]);
    expect(asked).toHaveLength(1);
    await restart({ staticPodURL: "" });
    expect(last()).toMatchObject({ ready: true, pods: [], rejected: [] });
    await restart({});
    expect(last()).toMatchObject({ ready: true, pods: [], rejected: [] });
  });

  test("never shows its query, and warns where it is not encrypted", async () => {
    answer = fails("no network");
    await start({ staticPodURL: "http://fleet.example/a?token=hushed" });
    await clock.advance(600_000);
    expect(codes()).toEqual(["InsecureURL", "URLFailed"]);
    expect(JSON.stringify(snapshots) + logged.join()).not.toContain("hushed");
  });
});

test("a server that is away is asked less and less often, and for ever", async () => {
  await start();
  await clock.advance(3_600_000);
  const inFirstHour = asked.length;
  expect(inFirstHour).toBeGreaterThan(12);
  expect(inFirstHour).toBeLessThan(25);
  await clock.advance(86_400_000);
  expect(asked.length - inFirstHour).toBeGreaterThan(200);
});

test("a server that wants to be left alone is", async () => {
  answer = () => ({ type: "Status", status: 503, retryAfterMs: 1_800_000 });
  await start();
  await clock.advance(1_700_000);
  expect(asked).toHaveLength(1);
});

test("what has ended the agent twice waits, and is asked for again", async () => {
  answer = () => text(podText("web"), '"1"');
  guard.suspects.add(`File ${REF}`);
  await start();
  expect(pods()).toEqual([]);
  expect(codes()).toEqual(["StartGuard"]);
  guard.allow(`File ${REF}`);
  await clock.advance(60_000);
  expect(pods()).toEqual(["default/web"]);
  expect(asked[1]?.etag).toBeUndefined();
  expect(guard.history).toContain(`settle File ${REF}`);
});

test("its copies and those of files are never mixed up, and Secrets are sealed", async () => {
  answer = () => text(`${podText("web")}---\n${SECRET}`);
  await start();
  const path = "/etc/agent/manifests/a.yaml";
  const row = {
    path,
    kind: "Pod",
    namespace: "default",
    name: "a",
    document: 0,
    text: podText("a"),
  } as const;
  store.lastGood.save({ put: [row], removed: [] });
  expect(lastGoodOfFiles(store).load().copies).toEqual([row]);
  const rows = store.database.query<[], { text: Uint8Array }>("SELECT text FROM last_good_object");
  for (const { text: kept } of rows.all())
    expect(Buffer.from(kept).toString("latin1")).not.toContain("hushed");
  await restart();
  expect(pods()).toEqual(["default/web"]);
});
