// Pods made of every field of a spec with anything in them: what is said is said in words, what is accepted stays accepted.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { POD_SPEC } from "../../../../src/api/v1/pod-spec.ts";
import type { Level } from "../../../../src/api/schema/type.ts";
import { decode, writtenPod } from "../written-pod.ts";

/** Values that are right somewhere, wrong elsewhere, and never more than that. */
const leaf = fc.constantFrom<unknown>(
  "",
  "a",
  "Always",
  "Localhost",
  "RuntimeDefault",
  "Exists",
  "In",
  "Gt",
  "NoExecute",
  "None",
  "10.0.0.1",
  "a/b",
  "../x",
  "net.core.somaxconn",
  "cpu",
  "64Mi",
  "1",
  "-1",
  "1e99",
  "\0",
  "ü",
  0,
  1,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  1e300,
  true,
  false,
  null,
);
const junk = fc.oneof(
  { weight: 4, arbitrary: leaf },
  fc.array(leaf, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom("name", "value", "a b", "cpu", "x/y", "__proto__"), leaf, {
    maxKeys: 3,
  }),
);

/** An object of a level: some of its fields, most of them of the right shape. */
function objectOf(level: Level, depth: number): fc.Arbitrary<unknown> {
  const fields = Object.entries(level).map(([name, { type, level: below }]) => {
    const inner = below === undefined || depth === 0 ? leaf : objectOf(below, depth - 1);
    const right = type.startsWith("[]") ? fc.array(inner, { maxLength: 2 }) : inner;
    return [name, fc.oneof({ weight: 5, arbitrary: right }, junk)] as const;
  });
  const picked = fc.shuffledSubarray(fields, { maxLength: Math.min(6, fields.length) });
  return picked.chain((some) => fc.record(Object.fromEntries(some)));
}

const { containers: _containers, nodeName: _nodeName, ...level } = POD_SPEC.level;
const spec = objectOf(level, 4);

describe("any spec", () => {
  test("is run, or refused in words that name the place", () => {
    fc.assert(
      fc.property(spec, (written) => {
        const { pods, errors, notices } = decode(writtenPod(written as object));
        expect(pods.length).toBe(errors.length > 0 ? 0 : 1);
        for (const { path, message, code } of [...errors, ...notices]) {
          expect(path).toMatch(/^spec[.[]/);
          expect(message.length).toBeGreaterThan(3);
          expect(code).toMatch(/^[A-Z][A-Za-z]+$/);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("that runs once is the same when it is read again without judgement", () => {
    let accepted = 0;
    fc.assert(
      fc.property(spec, (written) => {
        const [strict] = decode(writtenPod(written as object)).pods;
        if (strict === undefined) return;
        accepted += 1;
        expect(decode(strict.written, { lenient: true }).pods[0]?.desired).toEqual(strict.desired);
      }),
      { numRuns: 1000 },
    );
    expect(accepted).toBeGreaterThan(10);
  });

  test("can be read without judgement, whatever is wrong with it", () => {
    fc.assert(
      fc.property(spec, (written) => {
        // What has no image cannot run at all.
        const { initContainers: _initContainers, ...rest } = written as Record<string, unknown>;
        const kept = decode(writtenPod(rest), { lenient: true });
        expect([kept.pods.length, kept.errors, kept.notices]).toEqual([1, [], []]);
      }),
      { numRuns: 1000 },
    );
  });
});
