import { describe, expect, test } from "bun:test";
import {
  bytesText,
  inTenths,
  nextPullState,
  PullBoard,
  stallOf,
  STALL_MS,
  UNPACK_MS,
  type PullState,
} from "../../../src/image/pull-progress.ts";
import { imageProgress, ImageLedger } from "../../../src/image/pull-results.ts";
import { aContainer, aDesiredPod, aPod } from "../../fakes/a-pod.ts";

const MIB = 1024 * 1024;

test("bytes as text, and in tenths", () => {
  expect(bytesText({ done: 12.34 * MIB, total: 45.6 * MIB })).toBe("12.3 MiB of 45.6 MiB (27 %)");
  expect(bytesText({ done: 0, total: 0 })).toBe("0.0 MiB of 0.0 MiB (0 %)");
  expect(inTenths({ done: 99, total: 100 })).toEqual({ done: 90, total: 100 });
  expect(inTenths({ done: 100, total: 100 })).toEqual({ done: 100, total: 100 });
});

describe("a stall", () => {
  const begin: PullState = { mark: "1", since: 0, bytes: undefined };
  test("is ten minutes without a byte", () => {
    const same = nextPullState(begin, { mark: "1", bytes: { done: 1, total: 9 } }, STALL_MS);
    expect(stallOf(same, STALL_MS - 1)).toBeUndefined();
    expect(stallOf(same, STALL_MS)).toContain("no byte has arrived for 10 minutes");
    const moved = nextPullState(same, { mark: "2", bytes: { done: 2, total: 9 } }, STALL_MS);
    expect(stallOf(moved, STALL_MS)).toBeUndefined();
  });

  test("is an hour once all bytes are here", () => {
    const full = nextPullState(begin, { mark: "1", bytes: { done: 9, total: 9 } }, STALL_MS);
    expect(stallOf(full, UNPACK_MS - 1)).toBeUndefined();
    expect(stallOf(full, UNPACK_MS)).toContain("all bytes have arrived");
  });
});

describe("the board", () => {
  test("knows an image by any of its names, and none that is not pulled", () => {
    const board = new PullBoard(() => undefined);
    board.set("docker.io/library/busybox:latest", { done: 1, total: 2 });
    expect(board.of("busybox")).toEqual({ done: 1, total: 2 });
    expect(board.of("busybox:1")).toBeUndefined();
    expect(board.of("Bad Name")).toBeUndefined();
    board.delete("docker.io/library/busybox:latest");
    expect(board.of("busybox")).toBeUndefined();
  });
});

test("a document's progress has the bytes of what is pulled now, each image once", () => {
  const ledger = new ImageLedger(() => 0);
  const image = "r.test/app:1";
  const pods = ["a", "b"].map((name) =>
    aDesiredPod(aPod({ containers: [aContainer("c", { image })] }, { name, uid: name }), {
      uid: name,
    }),
  );
  const progress = () => imageProgress(pods, ledger, () => undefined);
  expect(progress()).toEqual({ images: 2, imagesDone: 0 });
  ledger.pulls.set(image, { done: 57, total: 100 });
  expect(progress()).toEqual({ images: 2, imagesDone: 0, bytes: 100, bytesDone: 50 });
});
