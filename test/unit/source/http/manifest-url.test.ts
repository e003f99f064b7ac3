import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  afterFailure,
  afterNotModified,
  isSameView,
  nextRequestMs,
  restored,
  snapshotOfUrl,
  urlRef,
  urlWarnings,
  type UrlState,
} from "../../../../src/source/http/manifest-url.ts";

const REF = "https://fleet.example/pods.yaml";
const synced = restored(REF, new Map(), true);
const fresh = restored(REF, new Map(), false);

function failed(state: UrlState, times: number, message = "no"): UrlState {
  return Array.from({ length: times }).reduce<UrlState>(
    (before) => afterFailure(before, message),
    state,
  );
}
const codes = (state: UrlState) => snapshotOfUrl(state, []).rejected.map(({ code }) => code);

describe("a failure", () => {
  test("is shown when it was the third in a row, and until the server answers", () => {
    expect(codes(failed(synced, 2))).toEqual([]);
    expect(codes(failed(synced, 3))).toEqual(["URLFailed"]);
    expect(codes(afterNotModified(failed(synced, 9)))).toEqual([]);
  });

  test("is shown at once while the source has never synced", () => {
    expect(codes(failed(fresh, 1))).toEqual(["URLFailed"]);
  });

  test("changes nothing that is shown when it is the same again", () => {
    expect(isSameView(failed(synced, 3), failed(synced, 4))).toBe(true);
    expect(isSameView(failed(synced, 3), failed(synced, 4, "other"))).toBe(false);
    expect(isSameView(synced, failed(synced, 1))).toBe(true);
  });

  test("is no order: what is in effect and whether it has synced stay", () => {
    for (const state of [synced, fresh]) {
      const { outcome, ready } = failed(state, 5);
      expect({ outcome, ready }).toEqual({ outcome: state.outcome, ready: state.ready });
    }
  });
});

describe("the pause", () => {
  test("is the frequency, and after failures doubles up to five minutes", () => {
    const pauses = [0, 1, 2, 3, 4, 5, 6, 1000].map((failures) =>
      nextRequestMs({ failures }, 20_000),
    );
    expect(pauses.map((ms) => ms / 1000)).toEqual([20, 20, 40, 80, 160, 300, 300, 300]);
  });

  test("is never shorter than the frequency or what the server asks for, and grows", () => {
    const args = [
      fc.nat(100),
      fc.integer({ min: 1000, max: 86_400_000 }),
      fc.nat(3_600_000),
    ] as const;
    fc.assert(
      fc.property(...args, (failures, frequency, wanted) => {
        const pause = nextRequestMs({ failures }, frequency, wanted);
        expect(pause).toBeGreaterThanOrEqual(frequency);
        if (failures > 0) expect(pause).toBeGreaterThanOrEqual(wanted);
        expect(nextRequestMs({ failures: failures + 1 }, frequency, wanted)).toBeGreaterThanOrEqual(
          pause,
        );
        expect(pause).toBeLessThanOrEqual(Math.max(300_000, frequency, wanted));
      }),
    );
  });
});

test("the name of a URL has nothing of its query, which may be secret", () => {
  expect(urlRef("https://fleet.example:8443/pods.yaml?token=hushed#x")).toBe(
    "https://fleet.example:8443/pods.yaml",
  );
});

test("only an unencrypted way to another machine is warned of", () => {
  const warned = (url: string) => urlWarnings(url).map(({ code }) => code);
  expect(warned("http://fleet.example/a")).toEqual(["InsecureURL"]);
  expect(warned("http://127.0.0.1.evil.example/a")).toEqual(["InsecureURL"]);
  for (const url of [
    "https://a/b",
    "http://127.0.0.1:8080/b",
    "http://[::1]/b",
    "http://localhost/b",
  ])
    expect(warned(url)).toEqual([]);
});
