import { describe, expect, test } from "bun:test";
import {
  digestOfRef,
  imageBeingWritten,
  partsOf,
  pulledBytes,
  type Ingest,
} from "../../../src/containerd/pulled-bytes.ts";

const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;
const [A, B, C] = [digest("a"), digest("b"), digest("c")];

function ingest(of: string, offset: number, updatedAt = 0): Ingest {
  return { digest: of, ref: `layer-${of}`, offset, updatedAt };
}

test.each([
  [`layer-${A}`, A],
  [`manifest-${A}`, A],
  [A, A],
  ["agent-upload", undefined],
])("the digest of %s", (ref, expected) => {
  expect(digestOfRef(ref)).toBe(expected);
});

describe("the parts of a manifest", () => {
  const of = (value: unknown) => partsOf(Buffer.from(JSON.stringify(value)));
  test("are its configuration and its layers", () => {
    const layers = [
      { digest: B, size: 200 },
      { digest: C, size: 300 },
    ];
    const expected = new Map([A, B, C].map((one, index) => [one, (index + 1) * 100]));
    expect(of({ config: { digest: A, size: 100 }, layers })).toEqual(expected);
  });

  test.each([
    ["an index", { manifests: [{ digest: A, size: 1 }] }],
    ["a layer without size", { config: { digest: A, size: 1 }, layers: [{ digest: B }] }],
    ["a negative size", { config: { digest: A, size: -1 }, layers: [] }],
    ["a text", "manifest"],
  ])("are unknown of %s", (_, value) => expect(of(value)).toBeUndefined());
});

describe("the image that is being written", () => {
  const old = new Map([[A, 100]]);
  const fresh = new Map([
    [A, 100],
    [B, 200],
  ]);
  test("is the one of which a part is being written", () => {
    expect(imageBeingWritten([old, fresh], [ingest(B, 5)])).toBe(fresh);
    expect(imageBeingWritten([old, fresh], [ingest(C, 5)])).toBeUndefined();
    expect(imageBeingWritten([], [])).toBeUndefined();
  });

  test("is the one with the newest byte, if an earlier pull has left a part", () => {
    expect(imageBeingWritten([old, fresh], [ingest(A, 5, 10), ingest(B, 5, 20)])).toBe(fresh);
  });
});

describe("bytes", () => {
  const parts = new Map([
    [A, 100],
    [B, 200],
    [C, 300],
  ]);
  test("are those that are here and those that have arrived of the rest", () => {
    const read = pulledBytes(parts, [ingest(B, 50)], new Set([A]));
    expect(read).toEqual({ bytes: { done: 150, total: 600 }, mark: "150" });
  });

  test("of other images do not count", () => {
    expect(pulledBytes(parts, [ingest(digest("d"), 50)], new Set()).mark).toBe("0");
  });

  test("are no more than the part has", () => {
    expect(pulledBytes(parts, [ingest(A, 500)], new Set()).bytes?.done).toBe(100);
  });

  test("of an unknown image are all that arrive", () => {
    const before = pulledBytes(undefined, [ingest(A, 1), ingest(B, 1)], new Set());
    const after = pulledBytes(undefined, [ingest(B, 1), ingest(A, 2)], new Set());
    expect(before.bytes).toBeUndefined();
    expect(after.mark).not.toBe(before.mark);
    expect(pulledBytes(undefined, [ingest(B, 1), ingest(A, 1)], new Set()).mark).toBe(before.mark);
  });
});
