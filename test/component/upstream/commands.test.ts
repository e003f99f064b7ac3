import { describe, expect, test } from "bun:test";
import type { CommandResponse } from "../../../src/api/command.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type {
  CommandOrder,
  ResponseRows,
  TakenCommand,
  TakenCommands,
} from "../../../src/upstream/command-order.ts";
import type { CommandOutcome } from "../../../src/upstream/command-response.ts";
import { Commands } from "../../../src/upstream/commands.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { aCommand, arriving, OWN, someFacts, ulid } from "../../unit/upstream/a-command.ts";

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

  codeOf(id: string): number | undefined {
    return this.codes.get(id);
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

  constructor(rows = new Rows()) {
    this.rows = rows;
    const { clock } = this;
    this.commands = new Commands({
      clock,
      log: createLogger({ clock, level: "info", write: (line) => void this.logged.push(line) }),
      taken: rows,
      responses: rows,
      facts: () => someFacts({ now: clock.now() }),
      execute: (order) => {
        this.orders.push(order);
        return new Promise((resolve) => void this.#ends.push(resolve));
      },
      atomically: (run) => run(),
      onResponse: () => (this.wakes += 1),
    });
  }

  hear(fields: Readonly<Record<string, unknown>> = {}): void {
    this.commands.receive(arriving(aCommand(fields)));
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
    for (let n = 1; n <= 10_000; n += 1) world.hear({ id: ulid(n), verb: "exec" });
    for (let n = 1; n <= 10_000; n += 1) world.hear({ id: ulid(20_000 + n) });
    for (let n = 1; n <= 10_000; n += 1) world.commands.receive(arriving("rubbish"));
    expect(world.rows.answers.length).toBeLessThanOrEqual(20);
    expect(world.orders).toHaveLength(4);
    expect(world.logged.length).toBeLessThan(10);
  });
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
