import { describe, expect, test } from "bun:test";
import { MAX_PART_BYTES, MAX_PARTS, responsesOf } from "../../../src/command/response.ts";
import { jsonBytes } from "../../../src/protocol/wire-text.ts";
import { ulid } from "../upstream/a-command.ts";

const list = (items: readonly unknown[]) => ({ name: "items", items });
const size = (data: unknown): number => new TextEncoder().encode(JSON.stringify(data)).length;

describe("an answer", () => {
  test("is one message while it fits, also with nothing in it", () => {
    expect(responsesOf(ulid(1), { code: 200, data: { a: 1 }, list: list([]) })).toEqual([
      { id: ulid(1), phase: "done", code: 200, data: { a: 1, items: [] } },
    ]);
    expect(responsesOf(ulid(1), { code: 404 })).toEqual([
      { id: ulid(1), phase: "failed", code: 404 },
    ]);
  });

  test("comes in numbered parts where it does not, none too large and nothing lost", () => {
    const items = Array.from({ length: 300 }, (_, n) => ({ n, text: "ä".repeat(n) }));
    const parts = responsesOf(ulid(1), { code: 200, data: { kind: "List" }, list: list(items) });
    expect(parts.length).toBeGreaterThan(2);
    expect(parts.map(({ part }) => part)).toEqual(parts.map((_, index) => index));
    expect(parts.map(({ last }) => last === true)).toEqual(
      parts.map((_, index) => index === parts.length - 1),
    );
    for (const { data } of parts) expect(size(data)).toBeLessThanOrEqual(MAX_PART_BYTES);
    const got = parts.flatMap(({ data }) => (data as { items: unknown[] }).items);
    expect(got).toEqual(items);
  });

  test("names what is too large for any part", () => {
    const pod = {
      kind: "Pod",
      metadata: { namespace: "default", name: "web" },
      spec: "x".repeat(40_000),
    };
    const [one] = responsesOf(ulid(1), { code: 200, list: list([pod]) });
    expect(one?.data).toMatchObject({
      items: [{ kind: "Pod", metadata: { namespace: "default", name: "web" } }],
    });
    expect(size(one?.data)).toBeLessThan(1_000);
  });

  const events = Array.from({ length: 40 }, (_, n) => ({ n, text: "e".repeat(2_000) }));

  test("contains the fields beside a list once, in its first part", () => {
    const data = { kind: "Pod", spec: "x".repeat(31_500) };
    const parts = responsesOf(ulid(1), { code: 200, data, list: list(events) });
    expect(parts.map(({ data: one }) => Object.keys(one ?? {}).length)).toEqual([3, 1, 1, 1]);
    for (const { data: one } of parts) expect(size(one)).toBeLessThanOrEqual(MAX_PART_BYTES);
    expect(parts.flatMap(({ data: one }) => (one as { items: unknown[] }).items)).toEqual(events);
  });

  test.each([32_650, 40_000, 10_000_000])("with %d bytes beside a list stays small", (length) => {
    const metadata = { namespace: "default", name: "web" };
    const data = { kind: "Pod", metadata, spec: "x".repeat(length) };
    const parts = responsesOf(ulid(1), { code: 200, data, list: list(events) });
    expect(parts).toHaveLength(3);
    expect(parts[0]?.data).toMatchObject({ kind: "Pod", metadata, truncated: size(data) });
    for (const { data: one } of parts) expect(size(one)).toBeLessThanOrEqual(MAX_PART_BYTES);
    const [alone] = responsesOf(ulid(1), { code: 200, data });
    expect(alone?.data).toEqual({ kind: "Pod", metadata, truncated: size(data) });
  });

  test("is cut at a limit and marked as truncated", () => {
    const items = Array.from({ length: 3 * MAX_PARTS }, () => "x".repeat(20_000));
    const parts = responsesOf(ulid(1), { code: 200, list: list(items) });
    expect(parts).toHaveLength(MAX_PARTS);
    expect(parts.at(-1)?.data).toMatchObject({ truncated: true });
    expect(parts.at(0)?.data).not.toHaveProperty("truncated");
  });

  test("carries texts that are short and harmless on a terminal", () => {
    const message = `no\u001B[2J${"x".repeat(500)}`;
    const error = { category: "A", component: "b", message };
    const [one] = responsesOf(ulid(1), { code: 500, error });
    expect(one?.error?.message.length).toBeLessThanOrEqual(256);
    expect(new TextDecoder().decode(one === undefined ? undefined : jsonBytes(one))).not.toContain(
      "u001b",
    );
  });
});
