import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  formatDuration,
  humanDuration,
  parseDuration,
} from "../../../../src/api/resource/duration.ts";

describe("parseDuration", () => {
  test.each([
    ["1m30s", 90_000],
    ["300s", 300_000],
    ["1.5h", 5_400_000],
    ["250ms", 250],
    ["1h1m1s1ms", 3_661_001],
    [".5s", 500],
    ["0", 0],
    ["0s", 0],
    ["2000us", 2],
    ["2000µs", 2],
  ])("reads %p as %p ms", (text, ms) => {
    expect(parseDuration(text)).toBeCloseTo(ms, 9);
  });

  test.each(["", "5", "-1s", "1d", "1 s", "s", "1m30", "1e3s", "1s!", "١s", "+1s", "1..5s"])(
    "refuses %p",
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );

  test("is the inverse of formatDuration", () => {
    fc.assert(
      fc.property(fc.nat({ max: 10 * 365 * 86_400_000 }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });
});

describe("formatDuration", () => {
  test.each([
    [0, "0s"],
    [300_000, "5m"],
    [90_250, "1m30s250ms"],
    [7_200_000, "2h"],
  ])("prints %p ms as %p", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});

describe("humanDuration", () => {
  const S = 1000;
  const M = 60 * S;
  const H = 60 * M;
  const D = 24 * H;
  test.each([
    [-5 * S, "<invalid>"],
    [-1 * S, "0s"],
    [0, "0s"],
    [1 * S, "1s"],
    [119 * S, "119s"],
    [120 * S, "2m"],
    [125 * S, "2m5s"],
    [10 * M, "10m"],
    [179 * M, "179m"],
    [180 * M, "3h"],
    [185 * M, "3h5m"],
    [7 * H, "7h"],
    [8 * H - S, "7h59m"],
    [8 * H + 30 * M, "8h"],
    [47 * H, "47h"],
    [48 * H, "2d"],
    [50 * H, "2d2h"],
    [8 * D - H, "7d23h"],
    [8 * D + 5 * H, "8d"],
    [729 * D, "729d"],
    [730 * D, "2y"],
    [735 * D, "2y5d"],
    [775 * D, "2y45d"],
    [3 * 365 * D, "3y"],
    [8 * 365 * D - H, "7y364d"],
    [8 * 365 * D + D, "8y"],
    [10 * 365 * D, "10y"],
  ])("shows %p ms as %p", (ms, text) => {
    expect(humanDuration(ms)).toBe(text);
  });
});
