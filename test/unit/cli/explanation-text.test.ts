import { describe, expect, test } from "bun:test";
import { explanationText } from "../../../src/cli/explain/explanation-text.ts";
import type { Explanation } from "../../../src/node/explain/explain-pod.ts";

const NOW = Date.parse("2026-01-01T00:01:00Z");
const explanation: Explanation = {
  namespace: "shop",
  pod: "web",
  phase: "Pending",
  well: false,
  advice: "Correct it.",
  causes: [{ category: "back-off", element: "a", reason: "CrashLoopBackOff", message: "back-off" }],
  source: { source: "file", ref: "/m/web.yaml", line: 3, specHash: "0a" },
  admitted: true,
  dependencies: [{ pod: "shop/db", state: "Ready", now: "Pending", met: false }],
  updates: [{ reason: "Held", message: "on hold" }],
  images: [{ image: "busybox", state: "Present" }],
  volumes: [{ name: "data", kind: "claim", state: "Missing", message: "no claim" }],
  containers: [
    {
      name: "a",
      kind: "init",
      stage: "BackOff",
      ready: false,
      restarts: 1,
      reason: "CrashLoopBackOff",
      message: "back-off",
      lastExit: { exitCode: 1, reason: "Error", finishedAt: "2026-01-01T00:00:48Z" },
      lines: ["\u001b]52;c;ZXZpbA==\u0007one", "two"],
      nextTry: "2026-01-01T00:01:20Z",
    },
    { name: "b", kind: "app", stage: "Running", ready: true, restarts: 0, lines: [] },
  ],
  warnings: [{ time: "2026-01-01T00:00:50Z", reason: "BackOff", message: "again", count: 3 }],
};

describe("an explanation as text", () => {
  test("is one screen, and what a pod wrote is escaped", () => {
    expect(explanationText(explanation, NOW)).toBe(`Pod:        shop/web
Status:     Pending: CrashLoopBackOff
Advice:     Correct it.
Source:     file /m/web.yaml:3 (spec 0a)
Admission:  admitted
Waits for:  pod shop/db to be Ready: it is Pending
Update:     Held: on hold
Causes:
  a: CrashLoopBackOff: back-off
Images:
  busybox   Present
Volumes:
  data   claim   Missing   no claim
Containers:
  a (init): BackOff, CrashLoopBackOff, restarted 1 time
    error:      back-off
    last exit:  exit code 1 (Error), 12s ago
    next try:   in 20s (2026-01-01T00:01:20Z)
    log:        | \\u001b]52;c;ZXZpbA==\\u0007one
                | two
  b: Running
Warnings:
  10s   BackOff (x3)   again
`);
  });

  test("of a pod that is well says so", () => {
    const well = { ...explanation, phase: "Running", well: true, causes: [] };
    expect(explanationText(well, NOW)).toContain("Status:     Running, and ready\n");
  });

  test("of what was refused has no source", () => {
    const { phase: _phase, source: _source, ...refused } = explanation;
    const causes = [{ category: "source", reason: "Invalid", message: "x" }] as const;
    const text = explanationText({ ...refused, admitted: false, causes }, NOW);
    expect(text).toContain("Status:     not accepted: Invalid\n");
    expect(text).not.toContain("Source:");
  });
});
