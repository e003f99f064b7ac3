import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  decideReconnect,
  firstConnectDelay,
  fleetPeriod,
  remember,
} from "../../../../src/upstream/link/reconnect.ts";
import {
  SESSION_TAKEN_OVER,
  type Attempt,
} from "../../../../src/upstream/link/duplicate-identity.ts";

const MAX = 300_000;
/** A machine that has been up for long. */
const HOUR = 3_600_000;

function failure(at: number): Attempt {
  return { startedAt: at, endedAt: at + 10 };
}

function session(at: number, lasted: number, rest: Partial<Attempt> = {}): Attempt {
  return { startedAt: at, connectedAt: at, endedAt: at + lasted, by: "network", ...rest };
}

function kick(at: number, lasted: number, code?: number): Attempt {
  const attempt = session(at, lasted, { by: "broker" });
  return code === undefined ? attempt : { ...attempt, code };
}

function decide(attempts: readonly Attempt[], dice = 0.999_999, now?: number) {
  let history: readonly Attempt[] = [];
  for (const attempt of attempts) history = remember(history, attempt);
  return decideReconnect({
    history,
    now: now ?? attempts.at(-1)?.endedAt ?? 0,
    max: MAX,
    dice,
  });
}

describe("back-off", () => {
  test("starts within a second and doubles up to reconnectMax", () => {
    const delays = Array.from({ length: 12 }, (_, n) =>
      Math.round(decide(Array.from({ length: n + 1 }, (_, i) => failure(HOUR + i * 1000))).delay),
    );
    expect(delays).toEqual([
      1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000, 300_000,
    ]);
  });

  test("keeps its place in a fleet that has just booted, until there was a session", () => {
    const failures = (count: number, at: number): readonly Attempt[] =>
      Array.from({ length: count }, (_, n) => failure(at + n * 1000));
    const delays = [1, 2, 5, 6, 7].map((count) =>
      Math.round(decide(failures(count, 20_000)).delay),
    );
    expect(delays).toEqual([30_000, 30_000, 30_000, 32_000, 64_000]);
    expect(decide(failures(1, 20_000), 0).delay).toBe(30_000);
    expect(decide(failures(1, 299_000)).delay).toBe(30_000);
    expect(Math.round(decide(failures(1, 300_000)).delay)).toBe(1_000);
    expect(Math.round(decide([session(20_000, 1_000), failure(22_000)]).delay)).toBe(2_000);
  });

  test("is full jitter: no dice, no delay", () => {
    expect(
      decide(
        [0, 1, 2].map((n) => failure(HOUR + n)),
        0,
      ).delay,
    ).toBe(0);
  });

  test("goes on after a short session and starts anew after five minutes connected", () => {
    const before = [0, 1, 2, 3].map((n) => failure(n * 1000));
    expect(Math.round(decide([...before, session(5000, 60_000)]).delay)).toBe(16_000);
    expect(Math.round(decide([...before, session(5000, 300_000)]).delay)).toBe(1000);
    expect(Math.round(decide([...before, session(5000, 300_000), failure(400_000)]).delay)).toBe(
      1000,
    );
  });
});

describe("DuplicateIdentity", () => {
  const cases: Record<string, { readonly attempts: readonly Attempt[]; readonly is: boolean }> = {
    "is believed at once if the broker names the take-over": {
      attempts: [kick(0, 100_000, SESSION_TAKEN_OVER)],
      is: true,
    },
    "is three connections closed within ten seconds of CONNACK": {
      attempts: [kick(0, 1000), kick(2000, 1000), kick(60_000, 1000)],
      is: true,
    },
    "is not two of them": { attempts: [kick(0, 1000), kick(2000, 1000)], is: false },
    "is seen by the rival that is left alone for longer and longer": {
      attempts: [kick(0, 70_000), kick(71_000, 500), kick(72_000, 58_000)],
      is: true,
    },
    "is not a broker that restarts now and then": {
      attempts: [kick(0, 70_000), kick(71_000, 70_000), kick(142_000, 70_000)],
      is: false,
    },
    "is not a network that drops": {
      attempts: [session(0, 1000), session(2000, 1000), session(4000, 1000)],
      is: false,
    },
    "is not a broker that gives another reason": {
      attempts: [kick(0, 1000, 0x8b), kick(2000, 1000, 0x8b), kick(4000, 1000, 0x97)],
      is: false,
    },
    "ends with a stable session": {
      attempts: [kick(0, 1000, SESSION_TAKEN_OVER), session(70_000, 300_000)],
      is: false,
    },
    "ends with a stable session even if that was taken over after all": {
      attempts: [kick(0, 1000), kick(2000, 1000), kick(4000, 1000), kick(70_000, 300_000)],
      is: false,
    },
  };
  test.each(Object.entries(cases))("%s", (_, { attempts, is }) => {
    expect(decide(attempts).duplicateIdentity).toBe(is);
  });
});

test("of two devices with one name none connects more than twice within a minute", () => {
  fc.assert(
    fc.property(
      fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
      fc.constantFrom(undefined, SESSION_TAKEN_OVER),
      (dice, code) => {
        // Whoever connects kicks the other one out.
        const devices = [0, 1].map(() => ({
          history: [] as readonly Attempt[],
          connects: [] as number[],
          duplicate: false,
          next: 0,
        }));
        const [first, second] = devices;
        if (first === undefined || second === undefined) throw new Error("two devices");
        second.next = 20_000;
        let holder: (typeof devices)[number] | undefined;
        for (let step = 0; step < 30; step += 1) {
          const now = Math.min(first.next, second.next);
          const comer = first.next <= second.next ? first : second;
          comer.connects.push(now);
          comer.next = Number.POSITIVE_INFINITY;
          if (holder !== undefined && holder !== comer) {
            const startedAt = holder.connects.at(-1) ?? 0;
            holder.history = remember(holder.history, {
              ...kick(startedAt, now - startedAt),
              ...(code === undefined ? {} : { code }),
            });
            const rolled: unknown = dice.next().value;
            const roll = Number(rolled);
            const next = decideReconnect({ history: holder.history, now, max: MAX, dice: roll });
            holder.next = now + next.delay;
            holder.duplicate ||= next.duplicateIdentity;
          }
          holder = comer;
        }
        for (const { connects, duplicate } of devices) {
          expect(duplicate).toBe(true);
          for (const [index, at] of connects.entries()) {
            const third = connects[index + 2];
            if (third !== undefined) expect(third - at).toBeGreaterThanOrEqual(59_999);
          }
        }
      },
    ),
  );
});

const MINUTE = 60_000;

describe("the first connect", () => {
  test.each([
    ["of a machine that has just booted is spread over half a minute", 20_000, MAX, 30_000],
    ["is so for five minutes", 5 * MINUTE - 1, MAX, 30_000],
    ["of a machine that is up waits a second at most", 5 * MINUTE, MAX, 1_000],
    ["never waits longer than the operator lets a node wait", 20_000, 5_000, 5_000],
    ["is spread over a second also where that is the longest", 20_000, 500, 1_000],
  ])("%s", (_, uptime, max, most) => {
    expect(firstConnectDelay({ now: uptime, max, dice: 0 })).toBe(0);
    expect(firstConnectDelay({ now: uptime, max, dice: 0.5 })).toBe(most / 2);
    expect(firstConnectDelay({ now: uptime, max, dice: 0.999_999 })).toBeCloseTo(most, 0);
  });

  test("is bounded by what comes after a failure, or by a second", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        fc.integer({ min: 1_000, max: 3_600_000 }),
        fc.double({ min: 0, max: 0.999_999, noNaN: true }),
        (uptime, max, dice) => {
          const period = fleetPeriod(uptime, max);
          expect(period).toBeLessThanOrEqual(Math.min(30_000, max));
          expect(firstConnectDelay({ now: uptime, max, dice })).toBeLessThan(
            Math.max(1_000, period),
          );
        },
      ),
    );
  });
});
