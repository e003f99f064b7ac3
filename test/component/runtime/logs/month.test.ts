import { expect, test } from "bun:test";
import { nodeLogsLimit } from "../../../../src/config/log-config.ts";
import { observations } from "../../../../src/eviction/signals.ts";
import { isMet, thresholdsOf } from "../../../../src/eviction/thresholds.ts";
import { createLogger } from "../../../../src/lib/logger.ts";
import { LogManager, type LogManagerOptions } from "../../../../src/runtime/logs/log-manager.ts";
import { aSandbox, anInstance, anObservedPod } from "../../../fakes/a-pod.ts";
import { CONFIG_DEFAULTS } from "../../../fakes/config-defaults.ts";
import { VirtualClock } from "../../../fakes/fake-clock.ts";
import { Card } from "./card.ts";

const GB = 1e9;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const CARD = 4 * GB;
/** The system, images and data. */
const OTHERS = 3.2 * GB;
const ROOT = "/var/log/pods";

interface Writer {
  readonly id: string;
  readonly bytesPerSecond: number;
}

/** All write at their rates for some days; the logs are looked at once a minute, six times more rarely than by default. */
async function life(
  days: number,
  writers: readonly Writer[],
  more: Partial<LogManagerOptions> = {},
) {
  const clock = new VirtualClock();
  const card = new Card(CARD);
  card.put("/others", OTHERS);
  const pods = new Map(
    writers.map(({ id }) => {
      const uid = `uid-${id}`;
      card.open(id, `${ROOT}/default_${id}_${uid}/a/0.log`);
      const pod = anObservedPod([aSandbox()], [anInstance("a", { id })], { uid, name: id });
      return [uid, pod];
    }),
  );
  const { files } = card;
  const lines: string[] = [];
  const cri = {
    reopenContainerLog: async (id: string) => {
      await Promise.resolve();
      card.open(id, `${ROOT}/default_${id}_uid-${id}/a/0.log`);
    },
  };
  const manager = new LogManager({
    clock,
    log: createLogger({ clock, level: "warn", write: (line) => void lines.push(line) }),
    files,
    cri: cri as LogManagerOptions["cri"],
    compressFile: async (from, to) => {
      await Promise.resolve();
      card.put(to, Math.round((files.info(from)?.size ?? 0) / 8));
    },
    podLogsDir: ROOT,
    maxSize: CONFIG_DEFAULTS.containerLogMaxSize,
    maxFiles: CONFIG_DEFAULTS.containerLogMaxFiles,
    workers: CONFIG_DEFAULTS.containerLogMaxWorkers,
    intervalMs: MINUTE,
    limits: { pod: Infinity, node: nodeLogsLimit(CONFIG_DEFAULTS.nodeLogsMaxSize, CARD) },
    observed: () => pods,
    isSettled: () => true,
    ...more,
  });
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  const until = clock.monotonic() + days * DAY;
  while (clock.monotonic() < until) {
    for (const { id, bytesPerSecond } of writers) card.write(id, bytesPerSecond * 60);
    await clock.advance(MINUTE);
  }
  stop.abort();
  await clock.advance(0);
  await running;
  return { card, lines };
}

/** The signals whose default thresholds are met with so much in use on the only file system. */
function pressure(used: number): readonly string[] {
  const bytes = { capacity: CARD, available: CARD - used };
  const card = { device: "card", bytes, inodes: undefined };
  const none = { memory: undefined, podsMemory: undefined, pids: undefined };
  const observed = observations({ ...none, nodefs: card, imagefs: card });
  const met = thresholdsOf(CONFIG_DEFAULTS).filter((one) => isMet(one, observed, true));
  return met.map(({ signal }) => signal);
}

test("a pod that writes 1 GB an hour for a month fills no card of 4 GB, nor puts it under pressure", async () => {
  const { card, lines } = await life(30, [{ id: "chatty", bytesPerSecond: GB / 3600 }]);
  expect(lines).toEqual([]);
  const logs = card.names.filter((name) => name.startsWith(ROOT));
  expect(logs.length).toBeLessThanOrEqual(5);
  expect(card.used - OTHERS).toBeLessThan(70e6);
  expect(card.largest - OTHERS).toBeLessThan(90e6);
  expect(pressure(card.largest)).toEqual([]);
  // Not much more would.
  expect(pressure(card.largest + 0.2 * GB)).toEqual(["imagefs.available"]);
}, 60_000);

test("nor do ten pods that write as much together and may keep a thousand files each: all logs have a tenth of it", async () => {
  const writers = Array.from({ length: 10 }, (_, n) => ({
    id: `pod${n}`,
    bytesPerSecond: GB / 36_000,
  }));
  const { card, lines } = await life(1, writers, { maxFiles: 1000 });
  expect(lines).toEqual([]);
  // What is written between two looks comes on top.
  expect(card.largest - OTHERS).toBeLessThan(0.1 * CARD + 40e6);
  expect(card.used - OTHERS).toBeGreaterThan(0.05 * CARD);
}, 60_000);
