import { describe, expect, test } from "bun:test";
import { pulled, refused } from "../../../src/image/image-events.ts";
import { AgentError } from "../../../src/lib/errors.ts";

describe("a pull that went well", () => {
  const cases: Readonly<Record<string, readonly [ms: number, waitedMs: number, said: string]>> = {
    "in no time": [0, 0, "0s (0s including waiting)"],
    "in milliseconds": [523, 999, "523ms (999ms including waiting)"],
    "in seconds": [1_200, 3_000, "1.2s (3s including waiting)"],
    "in minutes": [62_500, 120_000, "1m2.5s (2m0s including waiting)"],
    "in hours": [60_000, 7_261_001, "1m0s (2h1m1.001s including waiting)"],
    "that had begun before this pod asked": [5_000, 2_000, "2s (2s including waiting)"],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [ms, waitedMs, took]) => {
    expect(pulled("app:1", { ms, waitedMs, size: 2_295_314n })).toEqual({
      type: "Normal",
      reason: "Pulled",
      message: `Successfully pulled image "app:1" in ${took}. Image size: 2295314 bytes.`,
    });
  });

  test("without a size omits it", () => {
    expect(pulled("a", { ms: 5, waitedMs: 5 }).message).toBe(
      'Successfully pulled image "a" in 5ms (5ms including waiting).',
    );
  });
});

describe("a refusal", () => {
  type Case = readonly [type: string, reason: string, message: string];
  const cases: Readonly<Record<string, Case>> = {
    InvalidImageName: ["Warning", "InspectFailed", "what the puller said"],
    ImageInspectError: ["Warning", "InspectFailed", 'Failed to inspect image "a": the cause'],
    ErrImageNeverPull: [
      "Warning",
      "ErrImageNeverPull",
      'Container image "a" is not present with pull policy of Never',
    ],
    ErrImagePull: ["Warning", "Failed", 'Failed to pull image "a": the cause'],
    ImagePullBackOff: ["Normal", "BackOff", 'Back-off pulling image "a"'],
  };
  test.each(Object.entries(cases))("with %s", (reason, [type, word, message]) => {
    const cause = new Error("the cause");
    const error = new AgentError({ reason, message: "what the puller said", cause });
    expect<unknown>(refused("a", error)).toEqual([
      { type, reason: word, message },
      { type: "Warning", reason: "Failed", message: `Error: ${reason}` },
    ]);
  });
});
