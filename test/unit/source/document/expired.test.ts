import { expect, test } from "bun:test";

import { staleConditions } from "../../../../src/source/document/expired.ts";
import { aState } from "../../upstream/health.ts";

const EXPIRES = Date.parse("2026-11-21T08:00:00Z");
const { document } = aState([]);
const states =
  document === undefined
    ? []
    : [
        { source: "mqtt:node", document: { ...document, expiresAt: EXPIRES } } as const,
        { source: "mqtt:group/kiosks", document } as const,
      ];

test("a document whose time is over is told, and nothing else", () => {
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

test("a clock that nobody vouches for says nothing", () => {
  expect(staleConditions(states, undefined)).toEqual([]);
});
