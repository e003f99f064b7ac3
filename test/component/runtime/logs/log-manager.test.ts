import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { podLogDirectory, REPLACED_MARK } from "../../../../src/api/pod/log-paths.ts";
import { temporaryDirectories } from "../../host/temporary-directories.ts";
import { KIB, LogWorld } from "./log-world.ts";

const newDirectory = temporaryDirectories();

function numbersTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, n) => n);
}

describe("the log of a running container", () => {
  test("is rotated when it is large, older ones are compressed, and no line is lost or out of order", async () => {
    using world = new LogWorld(newDirectory());
    world.run();
    world.start();
    for (let turn = 0; turn < 3; turn += 1) {
      world.write(turn * 12, 12);
      await world.turns(1);
    }
    expect(world.names()).toEqual([
      "0.log",
      "0.log.20260304-050617.gz",
      "0.log.20260304-050627.gz",
      "0.log.20260304-050637",
    ]);
    expect(world.numbers()).toEqual(numbersTo(36));
    expect(world.logs.isAtItsPath("a-0")).toBe(true);
    expect(world.reopened).toHaveLength(3);
  });

  test("is left alone below the limit", async () => {
    using world = new LogWorld(newDirectory());
    world.run();
    world.write(0, 9);
    world.start();
    await world.turns(20);
    expect(world.names()).toEqual(["0.log"]);
    expect(world.reopened).toEqual([]);
  });

  test("never has more files than it may, and loses the oldest", async () => {
    using world = new LogWorld(newDirectory());
    world.run();
    world.start();
    for (let turn = 0; turn < 10; turn += 1) {
      world.write(turn * 12, 12);
      await world.turns(1);
      expect(world.names().length).toBeLessThanOrEqual(4);
    }
    expect(world.numbers()).toEqual(numbersTo(120).slice(-36));
  });

  test("keeps its order when the clock is set back", async () => {
    using world = new LogWorld(newDirectory());
    world.run();
    world.start();
    world.write(0, 12);
    await world.turns(1);
    world.clock.stepWall(-50 * 365 * 86_400_000);
    world.write(12, 12);
    await world.turns(1);
    world.write(24, 1);
    expect(world.names().slice(1)).toEqual(["0.log.20260304-050617.gz", "0.log.20260304-050618"]);
    expect(world.numbers()).toEqual(numbersTo(25));
  });

  test("is looked at sooner when it grows fast", async () => {
    using world = new LogWorld(newDirectory(), { maxSize: 1000 * KIB });
    world.run();
    world.start();
    await world.turns(1);
    world.write(0, 800);
    await world.turns(1);
    world.write(800, 300);
    await world.clock.advance(3000);
    expect(world.reopened).toHaveLength(1);
  });

  test("is not touched before every source has synced", async () => {
    using world = new LogWorld(newDirectory());
    world.settled = false;
    world.run();
    world.write(0, 50);
    world.start();
    await world.turns(10);
    expect(world.names()).toEqual(["0.log"]);
    world.settled = true;
    await world.turns(1);
    expect(world.names()).toHaveLength(2);
  });
});

describe("a rotation that is interrupted", () => {
  test("has its name back when the runtime refuses to reopen, and is tried again", async () => {
    using world = new LogWorld(newDirectory());
    world.run();
    world.write(0, 12);
    world.faults.push("refused");
    world.start();
    await world.turns(1);
    expect(world.names()).toEqual(["0.log"]);
    expect(world.logs.isAtItsPath("a-0")).toBe(true);
    expect(world.lines.join("")).toContain("cannot rotate a log");
    world.write(12, 1);
    await world.turns(3);
    expect(world.names()).toHaveLength(2);
    expect(world.numbers()).toEqual(numbersTo(13));
  });

  test("waits longer with each refusal", async () => {
    using world = new LogWorld(newDirectory());
    world.run();
    world.write(0, 12);
    for (let n = 0; n < 100; n += 1) world.faults.push("refused");
    world.start();
    await world.turns(360);
    expect(world.reopened.length).toBeLessThan(20);
    expect(world.names()).toEqual(["0.log"]);
  });

  test("whose answer is lost overwrites no new log", async () => {
    using world = new LogWorld(newDirectory());
    world.run();
    world.write(0, 12);
    world.faults.push("late");
    world.start();
    await world.turns(1);
    world.write(12, 3);
    await world.turns(2);
    expect(world.names()).toHaveLength(2);
    expect(world.numbers()).toEqual(numbersTo(15));
    expect(world.logs.isAtItsPath("a-0")).toBe(true);
  });

  test("whose call is lost is finished later", async () => {
    using world = new LogWorld(newDirectory());
    world.run();
    world.write(0, 12);
    world.faults.push("lost");
    world.start();
    await world.turns(1);
    expect(world.names()).toEqual(["0.log.20260304-050617"]);
    world.write(12, 3);
    await world.turns(3);
    expect(world.logs.isAtItsPath("a-0")).toBe(true);
    world.write(15, 1);
    expect(world.numbers()).toEqual(numbersTo(16));
  });

  test("by a crash between rename and reopen is finished by the next process", async () => {
    using world = new LogWorld(newDirectory());
    world.run();
    world.write(0, 12);
    renameSync(world.path(), world.path("0.log.20260304-050607"));
    world.write(12, 12);
    world.start();
    await world.turns(1);
    world.write(24, 1);
    expect(world.names()).toEqual(["0.log", "0.log.20260304-050607"]);
    expect(world.numbers()).toEqual(numbersTo(25));
  });

  test("gives an ended container's last log its name back", async () => {
    using world = new LogWorld(newDirectory());
    world.run();
    world.write(0, 12);
    renameSync(world.path(), world.path("0.log.20260304-050607"));
    world.exit("a-0");
    world.start();
    await world.turns(1);
    expect(world.names()).toEqual(["0.log"]);
    expect(world.reopened).toEqual([]);
  });

  test("reopens a log that someone has removed", async () => {
    using world = new LogWorld(newDirectory());
    world.run();
    rmSync(world.path());
    world.start();
    await world.turns(1);
    expect(world.logs.isLost("a-0")).toBe(false);
    expect(world.names()).toEqual(["0.log"]);
  });

  test("does not ask for ever when the runtime writes elsewhere", async () => {
    using world = new LogWorld(newDirectory());
    world.run();
    world.logs.open("a-0", join(world.directory, "elsewhere.log"));
    rmSync(world.path());
    world.start();
    await world.turns(360);
    expect(world.reopened.length).toBeLessThan(20);
    expect(world.lines.join("")).toContain("was podLogsDir changed?");
  });

  test("that cannot compress goes on, and removes the oldest all the same", async () => {
    using world = new LogWorld(newDirectory(), {
      compressFile: () => Promise.reject(new Error("no space left on device")),
    });
    world.run();
    world.start();
    for (let turn = 0; turn < 6; turn += 1) {
      world.write(turn * 12, 12);
      await world.turns(1);
    }
    expect(world.names()).toHaveLength(4);
    expect(world.numbers()).toEqual(numbersTo(72).slice(-36));
    expect(world.lines.join("")).toContain("cannot compress a log");
  });
});

describe("all logs together", () => {
  test("of a pod stay within its limit", async () => {
    const pod = 300 * KIB;
    using world = new LogWorld(newDirectory(), {
      maxSize: 100 * KIB,
      maxFiles: 9,
      compressFile: () => Promise.reject(new Error("not now")),
      limits: { pod, node: Infinity },
    });
    world.run();
    world.start();
    for (let turn = 0; turn < 40; turn += 1) {
      world.write(turn * 20, 20);
      await world.turns(1);
      const bytes = world.names().reduce((sum, name) => sum + world.size(name), 0);
      expect(bytes).toBeLessThanOrEqual(pod + 20 * KIB);
    }
    expect(world.numbers()).toEqual(numbersTo(800).slice(-world.numbers().length));
    expect(world.numbers().length).toBeGreaterThan(64);
  });

  test("of the node count those of dead instances and replaced pods, and leave others' alone", async () => {
    const root = newDirectory();
    const bytes = "y".repeat(1023) + "\n";
    const put = (uid: string, mark: boolean): string => {
      const directory = podLogDirectory(root, { namespace: "default", name: "other", uid });
      mkdirSync(join(directory, "b"), { recursive: true });
      writeFileSync(join(directory, "b/0.log"), bytes.repeat(500));
      if (mark) writeFileSync(join(directory, REPLACED_MARK), "{}");
      return join(directory, "b/0.log");
    };
    const replaced = put("replaced", true);
    const foreign = put("foreign", false);
    using world = new LogWorld(root, { limits: { pod: Infinity, node: 400 * KIB } });
    world.run(0);
    world.write(0, 200);
    world.run(1);
    world.start();
    await world.turns(1);
    expect(statSync(foreign).size).toBe(500 * KIB);
    expect(statSync(replaced).size).toBeLessThanOrEqual(64 * KIB);
    expect(readFileSync(replaced, "utf8").startsWith("y".repeat(1023))).toBe(true);
    expect(world.names()).toEqual(["0.log", "1.log"]);
  });

  test("rotate a running log early when nothing else is left", async () => {
    using world = new LogWorld(newDirectory(), {
      maxSize: 1000 * KIB,
      limits: { pod: 200 * KIB, node: Infinity },
    });
    world.run();
    world.start();
    world.write(0, 190);
    await world.turns(1);
    world.write(190, 60);
    await world.turns(61);
    world.write(250, 70);
    await world.turns(61);
    const bytes = world.names().reduce((sum, name) => sum + world.size(name), 0);
    expect(bytes).toBeLessThanOrEqual(200 * KIB);
    const numbers = world.numbers();
    expect(numbers.at(-1)).toBe(319);
    expect(numbers).toEqual(numbersTo(320).slice(-numbers.length));
  });
});
