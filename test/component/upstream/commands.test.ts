import { describe, expect, test } from "bun:test";
import type { CommandResponse, TakenCommand } from "../../../src/protocol/command.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { CommandOrder, ResponseRows, TakenCommands } from "../../../src/command/run-verb.ts";
import type { CommandOutcome } from "../../../src/command/response.ts";
import { Commands } from "../../../src/command/command-queue.ts";
import { openStore } from "../store/open-store.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { aCommand, arriving, OWN, signed, someFacts, ulid } from "../../unit/upstream/a-command.ts";
import type { CommandFacts } from "../../../src/command/judge-command.ts";

const newDirectory = temporaryDirectories();

interface Answer extends CommandResponse {
  readonly topic: string;
  readonly correlation?: string;
}

/** What a disk would keep. */
class Rows implements TakenCommands, ResponseRows {
  readonly codes = new Map<string, number>();
  readonly taken = new Map<string, TakenCommand>();
  readonly answers: Answer[] = [];
  full = false;
  held = 0;

  codeOf(id: string): number | undefined {
    return this.codes.get(id);
  }

  heldIn(session: number): number {
    return session === 7 ? this.held : 0;
  }

  begin(command: TakenCommand): void {
    this.finish(command, 0);
  }

  finish(command: TakenCommand, code: number): void {
    if (this.full) throw new Error("no space left");
    this.codes.set(command.id, code);
    this.taken.set(command.id, command);
  }

  unfinished(): readonly TakenCommand[] {
    return [...this.taken.values()].filter(({ id }) => this.codes.get(id) === 0);
  }

  add(responses: Parameters<ResponseRows["add"]>[0]): void {
    if (this.full) throw new Error("no space left");
    for (const { topic, payload, correlation } of responses) {
      const response = JSON.parse(new TextDecoder().decode(payload)) as CommandResponse;
      const back =
        correlation === undefined ? {} : { correlation: new TextDecoder().decode(correlation) };
      this.answers.push({ ...response, topic, ...back });
    }
  }

  forgetExpired(): void {
    return;
  }

  phases(id = ulid(1)): readonly string[] {
    return this.answers.filter((one) => one.id === id).map(({ phase, code }) => `${phase} ${code}`);
  }
}

class World {
  readonly clock = new VirtualClock();
  readonly rows: Rows;
  readonly orders: CommandOrder[] = [];
  readonly logged: string[] = [];
  readonly commands: Commands;
  readonly #ends: ((outcome: CommandOutcome) => void)[] = [];
  wakes = 0;
  /** What signatures say of the time. */
  readonly issued: number[] = [];

  constructor(rows = new Rows(), facts: Partial<CommandFacts> = {}) {
    this.rows = rows;
    const { clock } = this;
    this.commands = new Commands({
      clock,
      log: createLogger({ clock, level: "info", write: (line) => void this.logged.push(line) }),
      taken: rows,
      responses: rows,
      facts: () => someFacts({ now: clock.now(), ...facts }),
      execute: (order) => {
        this.orders.push(order);
        return new Promise((resolve) => void this.#ends.push(resolve));
      },
      atomically: (run) => run(),
      onResponse: () => (this.wakes += 1),
      onIssued: (at) => this.issued.push(at),
    });
  }

  hear(fields: Readonly<Record<string, unknown>> = {}): void {
    this.commands.receive(arriving(aCommand(fields)));
  }

  hearSigned(fields: Readonly<Record<string, unknown>> = {}): void {
    this.commands.receive(arriving(signed(aCommand({ session: 7, ...fields }))));
  }

  /** The n-th order ends. */
  async end(n: number, outcome: CommandOutcome = { code: 200 }): Promise<void> {
    this.#ends[n]?.(outcome);
    await Bun.sleep(0);
  }
}

const restart = { verb: "restart", args: { pod: "web" } };

describe("a command", () => {
  test("that takes time is accepted, tells its progress, and is done", async () => {
    const world = new World();
    world.hear(restart);
    world.orders[0]?.progress({ containers: ["main"] });
    await world.end(0, { code: 200, data: { ok: true } });
    expect(world.rows.phases()).toEqual(["accepted 202", "running 202", "done 200"]);
    expect(world.rows.answers.at(-1)).toMatchObject({ topic: OWN, data: { ok: true } });
    expect(world.rows.codeOf(ulid(1))).toBe(200);
    expect(world.wakes).toBe(3);
  });

  test("that takes none is answered once", async () => {
    const world = new World();
    world.hear();
    await world.end(0);
    expect(world.rows.phases()).toEqual(["done 200"]);
  });

  test.each(["ping", "get", "describe", "explain"])("%s leaves no row", async (verb) => {
    const world = new World();
    world.hear({ verb, args: verb === "explain" ? { path: "pod" } : { kind: "pods", pod: "web" } });
    await world.end(0);
    expect(world.orders).toHaveLength(1);
    expect(world.rows.taken.size).toBe(0);
  });

  test("is answered where it asked, with what it wants back", async () => {
    const world = new World();
    const correlationData = new TextEncoder().encode("c-1");
    const responseTopic = `${OWN}/me`;
    world.commands.receive(arriving(aCommand(restart), { responseTopic, correlationData }));
    await world.end(0);
    for (const answer of world.rows.answers)
      expect(answer).toMatchObject({ topic: responseTopic, correlation: "c-1" });
    expect(world.rows.answers).toHaveLength(2);
  });

  test("is done once, however often it comes", async () => {
    const world = new World();
    world.hear(restart);
    world.hear(restart);
    await world.end(0, { code: 504 });
    world.hear(restart);
    expect(world.orders).toHaveLength(1);
    expect(world.rows.phases()).toEqual([
      "accepted 202",
      "duplicate 202",
      "failed 504",
      "duplicate 504",
    ]);
  });

  test("that takes none and still waits is done once too", async () => {
    const world = new World();
    world.hear();
    world.hear();
    await world.end(0);
    expect(world.orders).toHaveLength(1);
    expect(world.rows.phases()).toEqual(["duplicate 202", "done 200"]);
  });

  test("is done once also by the process after", async () => {
    const before = new World();
    before.hear(restart);
    await before.end(0);
    const after = new World(before.rows);
    after.commands.start();
    after.hear(restart);
    expect(after.orders).toHaveLength(0);
    expect(after.rows.phases().at(-1)).toBe("duplicate 200");
  });

  test("that an executor fails at is answered too", async () => {
    const world = new World();
    world.hear(restart);
    await world.end(0, Promise.reject(new Error("boom")) as never);
    expect(world.rows.answers.at(-1)).toMatchObject({
      phase: "failed",
      code: 500,
      error: { message: "boom" },
    });
  });
});

describe("the end of the process", () => {
  test("is answered by the next one", async () => {
    const before = new World();
    before.hear(restart);
    before.commands.stop();
    expect(before.orders[0]?.signal.aborted).toBe(true);
    await before.end(0, { code: 504 });
    expect(before.rows.phases()).toEqual(["accepted 202"]);

    const after = new World(before.rows);
    after.commands.start();
    expect(after.rows.phases()).toEqual(["accepted 202", "failed 500"]);
    const again = new World(before.rows);
    again.commands.start();
    expect(again.rows.phases()).toHaveLength(2);
  });
});

describe("many commands", () => {
  const hearMany = (world: World, from: number, count: number): void => {
    for (let n = from; n < from + count; n += 1) world.hear({ ...restart, id: ulid(n) });
  };

  test("are at work four at a time, thirty-two wait, the rest is told to come again", async () => {
    const world = new World();
    hearMany(world, 1, 4 + 32 + 5);
    expect(world.orders).toHaveLength(4);
    const denied = world.rows.answers.filter(({ phase }) => phase === "denied");
    expect(denied.map(({ code }) => code)).toEqual([429, 429, 429, 429, 429]);
    await world.end(0);
    expect(world.orders).toHaveLength(5);
    expect(world.orders[4]?.command.id).toBe(ulid(5));
  });

  test("who only takes time makes room for others", async () => {
    const world = new World();
    hearMany(world, 1, 5);
    world.orders[0]?.release();
    expect(world.orders).toHaveLength(5);
    await world.end(0);
    await world.end(1);
    world.hear({ ...restart, id: ulid(6) });
    world.hear({ ...restart, id: ulid(7) });
    expect(world.orders).toHaveLength(6);
  });

  test("whose time has passed before their turn are not done any more", async () => {
    const world = new World();
    hearMany(world, 1, 5);
    await world.clock.advance(61_000);
    await world.end(0);
    expect(world.orders).toHaveLength(4);
    expect(world.rows.phases(ulid(5))).toEqual(["accepted 202", "failed 408"]);
  });

  test("a flood is answered by a few words, and neither the disk nor the log hears the rest", () => {
    const world = new World();
    for (let n = 1; n <= 10_000; n += 1) world.hear({ id: ulid(n), verb: "reboot" });
    for (let n = 1; n <= 10_000; n += 1) world.hear({ id: ulid(20_000 + n) });
    for (let n = 1; n <= 10_000; n += 1) world.commands.receive(arriving("rubbish"));
    expect(world.rows.answers.length).toBeLessThanOrEqual(20);
    expect(world.orders).toHaveLength(4);
    expect(world.logged.length).toBeLessThan(10);
  });

  test("a flood of rubbish is logged in a few lines, which tell how many have none", async () => {
    let keys = 0;
    const world = new World(new Rows(), { verify: () => `there is no key ${(keys += 1)}` });
    for (let n = 1; n <= 2_000; n += 1) world.hearSigned({ ...restart, id: ulid(n) });
    expect(world.logged).toHaveLength(20);
    await world.clock.advance(10_000);
    world.commands.receive(arriving("rubbish"));
    expect(world.logged).toHaveLength(21);
    expect(world.logged.at(-1)).toContain('"unlogged":1980');
  });
});

describe("where signatures count", () => {
  const keyed = (): World => new World(new Rows(), { signaturesRequired: () => true });

  test("unsigned commands use up nothing that is for signed ones", async () => {
    const world = keyed();
    for (let n = 1; n <= 200; n += 1) {
      world.hear({ id: ulid(n) });
      await world.end(world.orders.length - 1);
    }
    expect(world.orders).toHaveLength(20);
    for (let n = 1; n <= 200; n += 1) world.hear({ ...restart, id: ulid(1_000 + n) });
    for (let n = 1; n <= 60; n += 1) {
      world.hearSigned({ ...restart, id: ulid(2_000 + n) });
      await world.end(world.orders.length - 1);
    }
    expect(world.orders).toHaveLength(80);
    // Also words of refusal are left for them.
    world.hearSigned({ ...restart, id: ulid(2_001) });
    expect(world.rows.phases(ulid(2_001)).at(-1)).toBe("duplicate 200");
    await world.clock.advance(10_000);
    world.hear({ id: ulid(3_001) });
    world.hear({ id: ulid(3_002) });
    expect(world.orders).toHaveLength(81);
  });

  test("a signed change is held for its session, a question and an unsigned one is not", async () => {
    const world = keyed();
    world.commands.sessionBegan(7);
    world.hearSigned(restart);
    world.hearSigned({ id: ulid(2), verb: "logs", args: { pod: "web" } });
    expect(world.rows.taken.get(ulid(1))).toMatchObject({ session: 7, held: true });
    expect(world.rows.taken.get(ulid(2))).toMatchObject({ session: 7, held: false });
    const open = new World();
    open.hear(restart);
    expect(open.rows.taken.get(ulid(1))).toMatchObject({ held: false });
  });

  test("a session that holds a thousand changes sees no more of them", () => {
    const world = keyed();
    world.commands.sessionBegan(7);
    world.rows.held = 1_000;
    world.hearSigned(restart);
    expect(world.rows.phases()).toEqual(["denied 429"]);
    world.hearSigned({ id: ulid(2), verb: "logs", args: { pod: "web" } });
    expect(world.orders).toHaveLength(1);
    world.rows.held = 999;
    world.hearSigned({ ...restart, id: ulid(3) });
    expect(world.orders).toHaveLength(2);
  });
});

test("a signed restart is not done again after a thousand pings, nor after days", async () => {
  using store = openStore(newDirectory());
  const clock = new VirtualClock();
  let restarts = 0;
  const commands = new Commands({
    clock,
    log: createLogger({ clock, level: "info", write: () => undefined }),
    taken: store.commands,
    responses: store.responses,
    facts: () =>
      someFacts({ signaturesRequired: () => true, clockTrusted: false, now: clock.now() }),
    execute: ({ command }) => {
      if (command.verb === "restart") restarts += 1;
      return Promise.resolve({ code: 200 });
    },
    atomically: (run) => store.database.transaction(run),
    onResponse: () => undefined,
    onIssued: () => undefined,
  });
  commands.sessionBegan(7);
  const recorded = arriving(signed(aCommand({ ...restart, session: 7 })));
  commands.receive(recorded);
  for (let n = 2; n <= 1_100; n += 1) {
    commands.receive(arriving(aCommand({ id: ulid(n) })));
    await clock.advance(10_000);
  }
  await clock.advance(3 * 86_400_000);
  commands.receive(arriving(signed(aCommand({ id: ulid(2_000), ...restart, session: 7 }))));
  commands.receive(recorded);
  await Bun.sleep(0);
  expect(restarts).toBe(2);
});

test("what cannot be written down is not begun, and comes again when asked again", async () => {
  const world = new World();
  world.rows.full = true;
  world.hear(restart);
  expect(world.orders).toHaveLength(0);
  world.rows.full = false;
  world.hear(restart);
  expect(world.orders).toHaveLength(1);
  await world.end(0);
  expect(world.rows.phases()).toEqual(["accepted 202", "done 200"]);
});

test("a signed command that is obeyed proves the time; a plain or a refused one does not", () => {
  const issuedAt = "2026-11-21T08:00:00Z";
  const world = new World(new Rows(), { clockTrusted: false });
  world.hear({ id: ulid(1), issuedAt });
  world.hearSigned({ id: ulid(2), issuedAt, session: 6 });
  expect(world.issued).toEqual([]);
  world.hearSigned({ id: ulid(3), issuedAt });
  world.hearSigned({ id: ulid(4) });
  expect(world.issued).toEqual([Date.parse(issuedAt)]);
});
