import { describe, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LogCommands, type LogCommandsOptions } from "../../../src/command/log-commands.ts";
import type { LogBatch } from "../../../src/protocol/log-batch.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import type { CommandOrder } from "../../../src/command/run-verb.ts";
import type { CommandOutcome } from "../../../src/command/response.ts";
import {
  aContainer,
  aDesiredPod,
  anInstance,
  anObservedPod,
  aPod,
  aSandbox,
  UID,
} from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { ulid } from "../../unit/upstream/a-command.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";

const newDirectory = temporaryDirectories();
const NAMES = ["a", "b", ...Array.from({ length: 8 }, (_, n) => `c${n}`)];

class World {
  readonly clock = new VirtualClock();
  readonly directory = newDirectory();
  readonly published: { container: string; batch: LogBatch }[] = [];
  readonly progress: unknown[] = [];
  secrets: ReadonlySet<string> = new Set();
  signed = false;
  readonly commands: LogCommands;
  session: AbortController | undefined = new AbortController();
  released = 0;
  attempt = 1;

  constructor(options: Partial<LogCommandsOptions> = {}) {
    const pod = aDesiredPod(aPod({ containers: NAMES.map((name) => aContainer(name)) }), {
      source: "mqtt:node",
    });
    this.commands = new LogCommands({
      clock: this.clock,
      files: realFiles(),
      podLogsDir: this.directory,
      metered: () => false,
      podOf: (namespace, name) => (`${namespace}/${name}` === "default/web" ? pod : undefined),
      observed: () =>
        anObservedPod(
          [aSandbox()],
          NAMES.map((name) => anInstance(name, { attempt: this.attempt })),
        ),
      secrets: () => this.secrets,
      publish: ({ container }, payload) => {
        const batch = JSON.parse(new TextDecoder().decode(payload)) as LogBatch;
        this.published.push({ container, batch });
      },
      session: () => this.session?.signal,
      ...options,
    });
    for (const attempt of [0, 1]) this.write("a", [`start ${attempt}`], attempt);
  }

  path(container: string, attempt = this.attempt): string {
    return join(this.directory, `default_web_${UID}`, container, `${attempt}.log`);
  }

  write(container: string, texts: readonly string[], attempt = this.attempt): void {
    const path = this.path(container, attempt);
    mkdirSync(join(path, ".."), { recursive: true });
    appendFileSync(path, texts.map((text) => `t stdout F ${text}\n`).join(""));
  }

  async ask(args: Readonly<Record<string, unknown>>, n = 1): Promise<CommandOutcome> {
    const order: CommandOrder = {
      command: { id: ulid(n), verb: "logs", target: {}, args: { pod: "web", ...args }, ttl: 60 },
      signed: this.signed,
      by: [],
      statusOnly: false,
      signal: new AbortController().signal,
      progress: (data) => void this.progress.push(data),
      release: () => (this.released += 1),
    };
    return this.commands.runs.logs(order);
  }

  texts(): readonly string[] {
    return this.published.flatMap(({ batch }) => batch.lines.map(({ text }) => text));
  }
}

function linesOf({ list }: CommandOutcome): readonly string[] {
  return (list?.items ?? []).map((item) => (item as { text: string }).text);
}

describe("what must not leave the node", () => {
  const KEY = "-----BEGIN KEY-----\nMC4CAQAwBQYDK2VwBCIEIA\n-----END KEY-----";

  test("is hidden in the last lines, also one line of a Secret of many", async () => {
    const logs = new World();
    logs.secrets = new Set(["hunter2-hunter2", KEY]);
    logs.write("a", ["password=hunter2-hunter2!", "MC4CAQAwBQYDK2VwBCIEIA", "nothing"]);
    expect(linesOf(await logs.ask({ container: "a" })).slice(1)).toEqual([
      "password=<hidden>!",
      "<hidden>",
      "nothing",
    ]);
  });

  test("is hidden in new lines", async () => {
    const logs = new World();
    logs.secrets = new Set(["hunter2-hunter2"]);
    const following = logs.ask({ container: "a", follow: true, seconds: 2 });
    await logs.clock.settle();
    logs.write("a", ["password=hunter2-hunter2"]);
    await logs.clock.advance(2000);
    await following;
    expect(logs.texts()).toEqual(["password=<hidden>"]);
  });

  test("is the log of a pod of a file, if the command is unsigned", async () => {
    const pod = aDesiredPod(aPod({ containers: [aContainer("a")] }), { source: "file" });
    const logs = new World({ podOf: () => pod });
    expect(await logs.ask({ container: "a" })).toMatchObject({
      code: 403,
      error: {
        message:
          "pod default/web comes from a file, and unsigned commands reach pods of documents only; sign the command, or use agent on the device",
      },
    });
    logs.signed = true;
    expect(await logs.ask({ container: "a" })).toMatchObject({ code: 200 });
  });
});

describe("the last lines of a log", () => {
  test("are as many as asked for, of this instance or the one before", async () => {
    const world = new World();
    world.write("a", ["one", "two", "three"]);
    expect(linesOf(await world.ask({ container: "a", tail: 2 }))).toEqual(["two", "three"]);
    expect(linesOf(await world.ask({ container: "a" }))).toHaveLength(4);
    expect(linesOf(await world.ask({ container: "a", tail: 0 }))).toEqual([]);
    expect(linesOf(await world.ask({ container: "a", previous: true }))).toEqual(["start 0"]);
  });

  test("cost no more than a bounded part of a large log", async () => {
    const large = Array.from({ length: 40_000 }, (_, n) => `${n} ${"x".repeat(90)}`);
    const world = new World();
    world.write("a", large);
    expect(linesOf(await world.ask({ container: "a", tail: 1_000 }))).toHaveLength(1_000);
    const metered = new World({ metered: () => true });
    metered.write("a", large);
    expect(linesOf(await metered.ask({ container: "a", tail: 1_000 })).length).toBeLessThan(700);
  });

  test("are refused where there are none, or too many are asked for", async () => {
    const world = new World();
    world.attempt = 0;
    expect((await world.ask({ container: "a", previous: true })).code).toBe(404);
    expect((await world.ask({ container: "b" })).code).toBe(404);
    expect((await world.ask({ container: "z" })).code).toBe(400);
    expect((await world.ask({})).code).toBe(400);
    expect((await world.ask({ pod: "other" })).code).toBe(404);
    expect((await world.ask({ container: "a", tail: 1_001 })).code).toBe(400);
    expect((await world.ask({ container: "../b" })).code).toBe(400);
  });
});

describe("a lease", () => {
  test("gives what comes, over a restart of the container, and takes nobody's place", async () => {
    const world = new World();
    const end = world.ask({ container: "a", follow: true, seconds: 10 });
    expect(world.progress).toEqual([{ container: "a", seconds: 10, bytes: 1024 * 1024 }]);
    expect(world.released).toBe(1);
    world.write("a", ["one"]);
    await world.clock.advance(1_000);
    world.write("a", ["two"]);
    world.attempt = 2;
    world.write("a", ["three"]);
    await world.clock.advance(10_000);
    expect(world.texts()).toEqual(["one", "two", "three"]);
    expect((await end).data).toMatchObject({ why: "Expired", lines: 3 });
  });

  test("lasts ten minutes and one megabyte at most, 64 KiB where bytes cost money", async () => {
    const asked = { container: "a", follow: true, seconds: 100_000, bytes: 1e9 };
    const world = new World();
    void world.ask(asked);
    expect(world.progress).toEqual([{ container: "a", seconds: 600, bytes: 1024 * 1024 }]);
    const metered = new World({ metered: () => true });
    const end = metered.ask(asked);
    for (let n = 0; n < 10; n += 1) {
      metered.write(
        "a",
        Array.from({ length: 100 }, () => "x".repeat(200)),
      );
      await metered.clock.advance(1_000);
    }
    const { data } = await end;
    expect(data).toMatchObject({ why: "Bytes" });
    expect(Number(data?.["bytes"])).toBeLessThanOrEqual(64 * 1024);
  });

  test("ends with the session, and cannot begin without one", async () => {
    const world = new World();
    const end = world.ask({ container: "a", follow: true });
    world.session?.abort("Disconnected");
    await world.clock.settle();
    expect((await end).data).toMatchObject({ why: "Disconnected" });
    world.write("a", ["late"]);
    await world.clock.advance(5_000);
    expect(world.texts()).toEqual([]);
    expect((await world.ask({ container: "a", follow: true })).code).toBe(503);
    world.session = undefined;
    expect((await world.ask({ container: "a", follow: true })).code).toBe(503);
  });

  test("replaces the one before on the same container, and eight may run", async () => {
    const world = new World();
    for (const name of NAMES) writeFileSync((world.write(name, []), world.path(name)), "");
    const ends = NAMES.slice(0, 8).map((container, n) => world.ask({ container, follow: true }, n));
    expect((await world.ask({ container: "c7", follow: true })).code).toBe(429);
    void world.ask({ container: "a", follow: true }, 20);
    await world.clock.settle();
    expect((await ends[0])?.data).toMatchObject({ why: "Replaced" });
    world.write("a", ["one"]);
    await world.clock.advance(1_000);
    expect(world.published.map(({ batch }) => batch.id)).toEqual([ulid(20)]);
    expect((await world.ask({ container: "c7", follow: true })).code).toBe(429);
  });
});
