// How the state of an update lies in its rows. Read leniently: what this version cannot read is as good as not there (law 11).

import { z } from "zod";

import type { GoodCopy, RolloutState } from "../../api/pod/rollout.ts";

const WANTED = { revision: z.string(), generation: z.number() };
const FAILURE = { reason: z.string(), message: z.string() };

const STATE = z.object({
  good: z.object(WANTED).exactOptional(),
  trial: z
    .object({
      ...WANTED,
      since: z.number(),
      crashesBefore: z.number(),
      elapsedMs: z.number(),
      at: z.number(),
      counts: z.boolean(),
      bootId: z.string(),
      boots: z.number(),
      started: z.boolean(),
      needsUpstream: z.boolean().exactOptional(),
      failed: z.object(FAILURE).exactOptional(),
    })
    .exactOptional(),
  bad: z.array(z.object({ ...WANTED, ...FAILURE })),
});

const COPY = z.object({
  pod: z.string(),
  objects: z.array(z.string()),
  images: z.record(z.string(), z.string()),
});

export function readState(text: string): RolloutState | undefined {
  return STATE.safeParse(parsed(text)).data;
}

export function readCopy(text: string): GoodCopy | undefined {
  return COPY.safeParse(parsed(text)).data;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Torn, or written by a hand: as good as not there.
    return undefined;
  }
}
