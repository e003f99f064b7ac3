import { expect, test } from "bun:test";

import type { AcceptedDocument } from "../../../../src/protocol/desired-document.ts";
import { supersededBy } from "../../../../src/source/document/epoch-and-generation.ts";
import { aState } from "../../upstream/health.ts";
import { staleConditions } from "../../../../src/source/document/issued-and-expires.ts";

function accepted(generation: number, change: Partial<AcceptedDocument> = {}): AcceptedDocument {
  return {
    source: "mqtt:node",
    epoch: "e1",
    generation,
    digest: `sha256:${generation}`,
    payload: new Uint8Array([generation]),
    observedGeneration: 5,
    acceptedAt: 0,
    ...change,
  };
}

const ON_ITS_WAY = { epoch: "e1", generation: 6, digest: "sha256:6", observedGeneration: 5 };

test("what is on its way is superseded, of another epoch and of no signature as well", () => {
  expect(supersededBy(accepted(7), accepted(6), false)).toEqual(ON_ITS_WAY);
  expect(supersededBy(accepted(1, { epoch: "e2" }), accepted(6), false)).toEqual(ON_ITS_WAY);
  expect(supersededBy(accepted(7), accepted(6, { signed: true }), false)).toEqual({
    ...ON_ITS_WAY,
    signed: true,
  });
});

test("what was superseded stays so when the same document is accepted once more", () => {
  const superseded = { epoch: "e1", generation: 5, digest: "sha256:5", observedGeneration: 4 };
  const before = accepted(7, { superseded });
  expect(supersededBy(accepted(7, { signed: true }), before, false)).toEqual(superseded);
});

test.each([
  ["nothing was there", undefined, false],
  ["it had converged", accepted(6, { observedGeneration: 6 }), false],
  ["it had failed", accepted(6), true],
  ["it could not be decrypted", accepted(6, { lost: "the key is gone" }), false],
  ["it is the same, signed by now", accepted(6, { digest: "sha256:7" }), false],
] as const)("nothing is superseded when %s", (_, before, hasFailed) => {
  expect(supersededBy(accepted(7), before, hasFailed)).toBeUndefined();
});

const EXPIRES = Date.parse("2026-11-21T08:00:00Z");
const { document } = aState([]);
const states =
  document === undefined
    ? []
    : [
        { source: "mqtt:node", document: { ...document, expiresAt: EXPIRES } } as const,
        { source: "mqtt:group/kiosks", document } as const,
      ];

test("a document that has expired is reported, and no other", () => {
  expect(staleConditions(states, EXPIRES - 1)).toEqual([]);
  expect(staleConditions(states, EXPIRES)).toEqual([
    {
      type: "DesiredStale",
      status: "True",
      reason: "Expired",
      message:
        "generation 7 of mqtt:node expired at 2026-11-21T08:00:00Z; it runs on until a newer one is published",
    },
  ]);
});

test("without a synchronised clock no document counts as expired", () => {
  expect(staleConditions(states, undefined)).toEqual([]);
});
