import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { protectFromOom } from "../../../src/host/oom/oom-score.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { temporaryDirectories, writeTree } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const SCORE = "proc/self/oom_score_adj";

function protect(root: string) {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const log = createLogger({ clock: new VirtualClock(), level: "info", write });
  return { conditions: protectFromOom(log, root), lines };
}

test("the kernel ends the agent last", () => {
  const root = writeTree(newDirectory(), { [SCORE]: "0" });
  expect(protect(root)).toEqual({ conditions: [], lines: [] });
  expect(readFileSync(join(root, SCORE), "utf8")).toBe("-999");
});

test("a score that cannot be set is one warning and a condition with the remedy", () => {
  const { conditions, lines } = protect(newDirectory());
  expect(lines).toHaveLength(1);
  expect(conditions).toMatchObject([
    { type: "OOMUnprotected", status: "True", reason: "CannotSetScore" },
  ]);
  expect(conditions[0]?.message).toContain("OOMScoreAdjust=-999");
});
