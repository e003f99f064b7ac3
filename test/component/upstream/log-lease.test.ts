import { describe, expect, test } from "bun:test";
import type { LogBatch } from "../../../src/protocol/log-batch.ts";
import {
  MAX_BATCH_BYTES,
  runLogLease,
  type LeaseEnd,
  type LogLeaseOptions,
  type NewLines,
} from "../../../src/command/log-lease.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { ulid } from "../../unit/upstream/a-command.ts";

class Lease {
  readonly clock = new VirtualClock();
  readonly stop = new AbortController();
  readonly batches: LogBatch[] = [];
  readonly sizes: number[] = [];
  written: string[] = [];
  gone = false;
  /** Characters in which Secrets were looked for. */
  looked = 0;
  readonly end: Promise<LeaseEnd>;

  constructor(options: Partial<LogLeaseOptions> = {}) {
    this.end = runLogLease({
      clock: this.clock,
      id: ulid(1),
      seconds: 600,
      bytes: 1024 * 1024,
      read: () => this.#read(),
      redacted: (lines) => {
        this.looked += lines.reduce((sum, line) => sum + line.length, 0);
        return lines;
      },
      publish: (payload) => {
        this.sizes.push(payload.length);
        this.batches.push(JSON.parse(new TextDecoder().decode(payload)) as LogBatch);
      },
      signal: this.stop.signal,
      ...options,
    });
  }

  #read(): NewLines | undefined {
    const lines = this.written;
    this.written = [];
    return this.gone ? undefined : { lines, dropped: 0 };
  }

  write(...texts: readonly string[]): void {
    this.written.push(...texts.map((text) => `2026-11-21T08:00:00.1Z stdout F ${text}`));
  }

  texts(): readonly string[] {
    return this.batches.flatMap(({ lines }) => lines.map(({ text }) => text));
  }
}

describe("a lease on a log", () => {
  test("publishes what is written while it runs, at most once a second", async () => {
    const lease = new Lease();
    lease.write("one");
    await lease.clock.advance(1_000);
    lease.write("two", "three");
    await lease.clock.advance(1_000);
    await lease.clock.advance(5_000);
    expect(lease.texts()).toEqual(["one", "two", "three"]);
    expect(lease.batches.map(({ seq }) => seq)).toEqual([0, 1]);
    expect(lease.batches[0]?.lines).toEqual([
      { time: "2026-11-21T08:00:00.1Z", stream: "stdout", text: "one" },
    ]);
  });

  test("ends with its time", async () => {
    const lease = new Lease({ seconds: 3 });
    lease.write("one");
    await lease.clock.advance(3_000);
    expect(await lease.end).toMatchObject({ why: "Expired", lines: 1, dropped: 0 });
  });

  test("never publishes more than 16 kB in a second, and counts what it leaves out", async () => {
    const lease = new Lease();
    await lease.clock.advance(500);
    for (let n = 0; n < 3; n += 1) {
      lease.write(...Array.from({ length: 1_000 }, (_, i) => `${i} ${"x".repeat(90)}`));
      await lease.clock.advance(1_000);
    }
    lease.write("last");
    await lease.clock.advance(1_000);
    expect(Math.max(...lease.sizes)).toBeLessThanOrEqual(MAX_BATCH_BYTES);
    expect(lease.batches).toHaveLength(4);
    const dropped = lease.batches.reduce((sum, batch) => sum + (batch.dropped ?? 0), 0);
    expect(lease.texts().length + dropped).toBe(3_001);
    lease.stop.abort("Disconnected");
    await lease.clock.settle();
    expect(await lease.end).toMatchObject({ why: "Disconnected", dropped });
  });

  test("ends when its bytes are used up, and has not sent more", async () => {
    const lease = new Lease({ bytes: 20_000 });
    for (let n = 0; n < 5; n += 1) {
      lease.write(...Array.from({ length: 100 }, () => "y".repeat(150)));
      await lease.clock.advance(1_000);
    }
    const end = await lease.end;
    expect(end.why).toBe("Bytes");
    expect(end.bytes).toBeLessThanOrEqual(20_000);
    expect(end.bytes).toBeGreaterThan(12_000);
    expect(lease.sizes.reduce((sum, size) => sum + size, 0)).toBe(end.bytes);
  });

  test("ends when the container is gone, and with a word of who ends it", async () => {
    const one = new Lease();
    one.gone = true;
    await one.clock.advance(1_000);
    expect(await one.end).toMatchObject({ why: "Gone" });
    const two = new Lease();
    two.stop.abort("Replaced");
    await two.clock.settle();
    expect(await two.end).toMatchObject({ why: "Replaced" });
  });

  test("shows what is no line of the runtime's, and cuts what is too long", async () => {
    const lease = new Lease();
    lease.written.push("garbage", `t stderr P ${"z".repeat(100_000)}`);
    await lease.clock.advance(1_000);
    const [garbage, long] = lease.batches.flatMap(({ lines }) => lines);
    expect(garbage).toEqual({ time: "", stream: "stdout", text: "garbage" });
    expect(long).toMatchObject({ time: "t", stream: "stderr", partial: true });
    expect(long?.text.length).toBeLessThan(5_000);
  });
});

test("of a flood it looks for Secrets in what it can send, and counts the rest", async () => {
  const lease = new Lease();
  lease.write(...Array.from({ length: 20_000 }, () => "x"));
  await lease.clock.advance(1_000);
  expect(lease.looked).toBeGreaterThan(16_000);
  expect(lease.looked).toBeLessThan(100_000);
  const sent = lease.texts().length;
  lease.stop.abort("Stopped");
  await lease.clock.advance(1_000);
  expect(await lease.end).toMatchObject({ lines: sent, dropped: 20_000 - sent });
});
