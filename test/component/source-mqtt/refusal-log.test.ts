import { expect, test } from "bun:test";

import { createLogger } from "../../../src/lib/logger.ts";
import { RefusalLog } from "../../../src/lib/refusal-log.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

test("of ten thousand refusals at once twenty are logged, and the next line tells how many were not", async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = createLogger({ clock, level: "warn", write: (line) => void lines.push(line) });
  const refusals = new RefusalLog(clock, log);
  for (let junk = 0; junk < 10_000; junk += 1) refusals.warn("refused", { junk });
  expect(lines).toHaveLength(20);
  await clock.advance(10_000);
  refusals.warn("refused", { junk: "last" });
  expect(lines).toHaveLength(21);
  expect(lines.at(-1)).toContain('"unlogged":9980');
});
