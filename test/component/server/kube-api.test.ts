import { describe, expect, test } from "bun:test";
import type { PodStatus } from "../../../src/api/v1/pod-status.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { isJsonObject } from "../../../src/lib/json.ts";
import type { PodEntry } from "../../../src/node/pod-list.ts";
import type { ApiRequest, Reply, User } from "../../../src/server/http/exchange.ts";
import { isStreamed } from "../../../src/server/http/exchange.ts";
import { KubeApi } from "../../../src/server/kube/kube-api.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { someFacts } from "../../unit/server/some-facts.ts";
import { podEntry } from "./pod-entry.ts";

const ADMIN: User = { name: "root", groups: [], access: "Full" };

function entry(name: string, phase: PodStatus["phase"], namespace = "default"): PodEntry {
  return podEntry(name, { namespace, phase });
}

/** A node whose pods a test changes. */
class Node implements Disposable {
  readonly clock = new VirtualClock();
  pods: readonly PodEntry[] = [];
  hasSynced = true;
  /** How often all pods were read. */
  reads = 0;
  #runs = new Set<() => void>();
  readonly api = new KubeApi({
    clock: this.clock,
    files: realFiles(),
    podLogsDir: "/nonexistent",
    facts: someFacts({
      pods: () => ((this.reads += 1), this.pods),
      hasSynced: () => this.hasSynced,
    }),
    onChange: (run) => {
      this.#runs.add(run);
      return { [Symbol.dispose]: () => void this.#runs.delete(run) };
    },
  });

  /** How many rooms wait for a change. */
  get followers(): number {
    return this.#runs.size;
  }

  async become(pods: readonly PodEntry[]): Promise<void> {
    this.change(pods);
    await this.clock.advance(250);
  }

  change(pods: readonly PodEntry[]): void {
    this.pods = pods;
    for (const run of this.#runs) run();
  }

  async reply(path: string, over: Partial<ApiRequest> = {}): Promise<Reply | undefined> {
    return this.api.reply({
      method: "GET",
      url: new URL(path, "http://agent"),
      header: () => undefined,
      user: ADMIN,
      signal: new AbortController().signal,
      body: () => Promise.resolve(new Uint8Array()),
      ...over,
    });
  }

  async json(path: string, over: Partial<ApiRequest> = {}): Promise<Record<string, unknown>> {
    const reply = await this.reply(path, over);
    if (reply === undefined || isStreamed(reply)) throw new Error("no whole answer");
    const value: unknown = JSON.parse(reply.body);
    return isJsonObject(value) ? value : {};
  }

  [Symbol.dispose](): void {
    this.api[Symbol.dispose]();
  }
}

/** The lines of a watch, as they come. */
class Watched {
  readonly lines: Record<string, unknown>[] = [];
  /** Of a client that does not read. */
  #pause: PromiseWithResolvers<void> | undefined;
  readonly #stop = new AbortController();
  readonly done: Promise<void>;

  constructor(reply: Reply | undefined) {
    if (reply === undefined || !isStreamed(reply)) throw new Error("no stream");
    const write = (part: string | Uint8Array): Promise<void> | undefined => {
      const value: unknown = JSON.parse(String(part));
      if (isJsonObject(value)) this.lines.push(value);
      return this.#pause?.promise;
    };
    this.done = reply.write({ write }, this.#stop.signal);
  }

  /** `ADDED web 7`, … */
  get events(): readonly string[] {
    return this.lines.map(({ type, object }) => {
      const meta = isJsonObject(object) ? object["metadata"] : undefined;
      const name = isJsonObject(meta) ? meta["name"] : undefined;
      return [type, name].filter((word) => typeof word === "string").join(" ");
    });
  }

  pause(): void {
    this.#pause = Promise.withResolvers();
  }

  goOn(): void {
    this.#pause?.resolve();
    this.#pause = undefined;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.done;
  }
}

const PODS = "/api/v1/namespaces/default/pods";

function versionOf(value: unknown): string {
  const meta = isJsonObject(value) ? value["metadata"] : undefined;
  const version = isJsonObject(meta) ? meta["resourceVersion"] : undefined;
  return typeof version === "string" ? version : "";
}

function namesOf(list: Record<string, unknown>): readonly unknown[] {
  const items = Array.isArray(list["items"]) ? (list["items"] as unknown[]) : [];
  return items.map((item) => {
    const meta = isJsonObject(item) ? item["metadata"] : undefined;
    return isJsonObject(meta) ? meta["name"] : undefined;
  });
}

test("a watch that is not read keeps no changes: it goes on where they are known, and has to begin again where not", async () => {
  using node = new Node();
  const many = (phase: PodStatus["phase"]): readonly PodEntry[] =>
    Array.from({ length: 200 }, (_, index) => entry(`p${index}`, phase));
  const version = versionOf(await node.json(PODS));
  const path = `${PODS}?watch=true&resourceVersion=${version}`;
  const watch = new Watched(await node.reply(path));
  // One that reads keeps the history going.
  const reader = new Watched(await node.reply(path));
  await node.clock.advance(0);
  watch.pause();
  await node.become(many("Pending"));
  await node.become(many("Running"));
  expect(watch.events).toEqual(["ADDED p0"]);
  watch.goOn();
  await node.clock.advance(0);
  expect(watch.lines).toHaveLength(400);
  watch.pause();
  for (const phase of ["Succeeded", "Failed", "Pending", "Running"] as const)
    await node.become(many(phase));
  expect(watch.lines).toHaveLength(401);
  watch.goOn();
  await watch.done;
  expect(watch.events.slice(401)).toEqual(["ERROR"]);
  expect(reader.lines).toHaveLength(1200);
  await reader.stop();
});

test("a change is looked for once for all watches of a resource, however many there are", async () => {
  using node = new Node();
  await node.become([entry("web", "Pending")]);
  const all = await Promise.all(
    Array.from({ length: 50 }, async () => new Watched(await node.reply(`${PODS}?watch=true`))),
  );
  await node.clock.advance(0);
  const before = node.reads;
  await node.become([entry("web", "Running")]);
  expect(all.map(({ events }) => events)).toEqual(
    Array.from({ length: 50 }, () => ["ADDED web", "MODIFIED web"]),
  );
  expect(node.reads - before).toBe(1);
  await Promise.all(all.map((one) => one.stop()));
});

describe("a list", () => {
  test("has the pods of the namespace, of a selector, or of all", async () => {
    using node = new Node();
    await node.become([
      entry("web", "Running"),
      entry("db", "Pending"),
      entry("x", "Failed", "shop"),
    ]);
    expect(namesOf(await node.json(PODS))).toEqual(["db", "web"]);
    expect(namesOf(await node.json("/api/v1/pods"))).toEqual(["db", "web", "x"]);
    expect(namesOf(await node.json(`${PODS}?labelSelector=app%3Dweb`))).toEqual(["web"]);
    const running = await node.json(`${PODS}?fieldSelector=status.phase%3DRunning`);
    expect(namesOf(running)).toEqual(["web"]);
    expect(await node.json(`${PODS}/db`)).toMatchObject({ kind: "Pod", metadata: { name: "db" } });
    expect(await node.json(`${PODS}/x`)).toMatchObject({ code: 404, reason: "NotFound" });
  });

  test("comes in pages, and each page goes on after the one before", async () => {
    using node = new Node();
    const names = ["a", "b", "c", "d", "e"];
    await node.become(names.map((name) => entry(name, "Running")));
    const seen: unknown[] = [];
    let next = "";
    do {
      const page = await node.json(`${PODS}?limit=2&continue=${next}`);
      seen.push(...namesOf(page));
      const { metadata } = page;
      const token = isJsonObject(metadata) ? metadata["continue"] : undefined;
      next = typeof token === "string" ? token : "";
    } while (next !== "");
    expect(seen).toEqual(names);
    expect(await node.json(`${PODS}?continue=nonsense`)).toMatchObject({ code: 400 });
  });

  test("keeps the version of a pod that has not changed", async () => {
    using node = new Node();
    await node.become([entry("web", "Running"), entry("db", "Pending")]);
    const before = await node.json(`${PODS}/web`);
    await node.become([entry("web", "Running"), entry("db", "Running")]);
    expect(versionOf(await node.json(`${PODS}/web`))).toBe(versionOf(before));
    expect(Number(versionOf(await node.json(PODS)))).toBeGreaterThan(Number(versionOf(before)));
  });
});

describe("a watch", () => {
  test("from a list on has every change since, also those before it was opened", async () => {
    using node = new Node();
    await node.become([entry("web", "Pending")]);
    const version = versionOf(await node.json(PODS));
    await node.become([entry("web", "Running"), entry("db", "Pending")]);
    const watch = new Watched(await node.reply(`${PODS}?watch=true&resourceVersion=${version}`));
    await node.clock.advance(250);
    await node.become([entry("db", "Running")]);
    expect(watch.events).toEqual(["MODIFIED web", "ADDED db", "MODIFIED db", "DELETED web"]);
    await watch.stop();
  });

  test("without a version begins with what there is", async () => {
    using node = new Node();
    await node.become([entry("web", "Running")]);
    const watch = new Watched(await node.reply(`${PODS}?watch=1`));
    await node.clock.advance(250);
    await node.become([entry("web", "Failed")]);
    expect(watch.events).toEqual(["ADDED web", "MODIFIED web"]);
    await watch.stop();
  });

  test("has a change that the list of another client has found first", async () => {
    using node = new Node();
    await node.become([entry("web", "Pending")]);
    const watch = new Watched(await node.reply(`${PODS}?watch=1`));
    await node.clock.advance(250);
    node.change([entry("web", "Running")]);
    await node.json(PODS);
    await node.clock.advance(250);
    expect(watch.events).toEqual(["ADDED web", "MODIFIED web"]);
    await watch.stop();
  });

  test("of a selector adds what comes to match and deletes what no longer does", async () => {
    using node = new Node();
    await node.become([entry("web", "Pending")]);
    const query = "watch=true&fieldSelector=status.phase%3DRunning";
    const watch = new Watched(await node.reply(`${PODS}?${query}`));
    await node.clock.advance(250);
    await node.become([entry("web", "Running")]);
    await node.become([entry("web", "Failed")]);
    expect(watch.events).toEqual(["ADDED web", "DELETED web"]);
    await watch.stop();
  });

  test("that is quiet gets a bookmark, and goes on from it", async () => {
    using node = new Node();
    await node.become([entry("web", "Running")]);
    const version = versionOf(await node.json(PODS));
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${version}`;
    const watch = new Watched(await node.reply(`${PODS}?${query}`));
    await node.clock.advance(61_000);
    await node.become([entry("web", "Failed")]);
    expect(watch.events).toEqual(["BOOKMARK", "MODIFIED web"]);
    expect(Number(versionOf(watch.lines[0]?.["object"]))).toBeGreaterThanOrEqual(Number(version));
    await watch.stop();
  });

  test.each([
    ["of an earlier process", "5"],
    ["of the future", "9007199254740991"],
  ])("from a version %s is expired", async (_which, version) => {
    using node = new Node();
    await node.become([entry("web", "Running")]);
    await node.json(PODS);
    const watch = new Watched(await node.reply(`${PODS}?watch=true&resourceVersion=${version}`));
    await watch.done;
    expect(watch.lines).toMatchObject([
      { type: "ERROR", object: { code: 410, reason: "Expired" } },
    ]);
  });

  test("from a version before too many changes is expired, and a newer one is not", async () => {
    using node = new Node();
    await node.become([entry("web", "Pending")]);
    const old = versionOf(await node.json(PODS));
    const phases = ["Running", "Failed"] as const;
    for (let round = 0; round < 600; round += 1) {
      node.pods = [entry("web", phases[round % 2] ?? "Running")];
      await node.json(PODS);
    }
    const expired = new Watched(await node.reply(`${PODS}?watch=true&resourceVersion=${old}`));
    await expired.done;
    expect(expired.lines).toMatchObject([{ object: { code: 410 } }]);
    const version = versionOf(await node.json(PODS));
    const watch = new Watched(await node.reply(`${PODS}?watch=true&resourceVersion=${version}`));
    await node.clock.advance(250);
    await node.become([]);
    expect(watch.events).toEqual(["DELETED web"]);
    await watch.stop();
  });

  test("ends after its timeout", async () => {
    using node = new Node();
    const watch = new Watched(await node.reply(`${PODS}?watch=true&timeoutSeconds=5`));
    await node.clock.advance(5_000);
    await watch.done;
    expect(watch.events).toEqual([]);
  });

  test("follows the node only while there is one, and a little longer", async () => {
    using node = new Node();
    await node.json(PODS);
    expect(node.followers).toBe(0);
    const watch = new Watched(await node.reply(`${PODS}?watch=true`));
    await node.clock.advance(250);
    expect(node.followers).toBe(1);
    await watch.stop();
    await node.clock.advance(3_600_000);
    expect(node.followers).toBe(0);
  });
});

describe("a node that has just started", () => {
  test("answers a list once it knows its pods, and discovery at once", async () => {
    using node = new Node();
    node.hasSynced = false;
    const listed = node.json(PODS);
    expect((await node.reply("/api/v1"))?.status).toBe(200);
    await node.clock.advance(1_000);
    await node.become([entry("web", "Running")]);
    node.hasSynced = true;
    await node.clock.advance(250);
    expect(await listed).toMatchObject({ items: [{ metadata: { name: "web" } }] });
  });

  test("answers after five seconds what it knows", async () => {
    using node = new Node();
    node.hasSynced = false;
    const listed = node.json(PODS);
    await node.clock.advance(5_000);
    expect(await listed).toMatchObject({ items: [] });
    expect(await node.json(PODS)).toMatchObject({ items: [] });
  });
});

describe("a path", () => {
  test.each([
    ["/api/v1/services", 404],
    ["/apis/apps/v1/deployments", 404],
    ["/apis/apps", 404],
    ["/api/v1/namespaces/default/pods/web/nonsense", 404],
    ["/api/v1/namespaces/%ff/pods/web", 404],
  ])("%s answers as an API server without it", async (path, code) => {
    using node = new Node();
    expect(await node.json(path)).toMatchObject({ kind: "Status", code });
  });

  test("that is not of this API is left to others", async () => {
    using node = new Node();
    expect(await node.reply("/images")).toBeUndefined();
    expect(await node.reply("/apivalue")).toBeUndefined();
  });
});
