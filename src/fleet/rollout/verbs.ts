// Performs: the verbs of `agent fleet rollout`; each loads its work when it runs.

import { InvalidArgumentError } from "commander";
import { durationOf, type Flag, type Flags } from "../../cli/flags.ts";
import type { Verb } from "../../cli/define-verb.ts";
import { parseDuration } from "../../api/resource/duration.ts";
import { keyFlag, SEAL_FLAGS, timeoutFlag } from "../flags.ts";
import type { FleetParts } from "../open-broker.ts";
import { HISTORY } from "./history.ts";
import { parseStep, type WrittenStep } from "./plan-rollout.ts";

const STEPS = "1,10%,50%,100%";
const BAKE = "10m";
const FAILURES = "2%";
const TIMEOUT = "15m";

/** How a rollout goes on, and is taken back. */
export const PROCEDURE_FLAGS: Flags = {
  "--steps <steps>": stepsFlag(),
  "--bake <duration>": {
    description: "how long a step has to be good before the next one",
    default: parseDuration(BAKE),
    defaultText: BAKE,
    parse: durationOf,
  },
  "--max-failures <percent>": {
    description: "share of the nodes whose turn it is; if more fail, the rollout stops",
    default: percentOf(FAILURES),
    defaultText: FAILURES,
    parse: percentOf,
  },
  "--match <labels>": {
    description: "only nodes with these labels, such as site=berlin,floor=2",
    parse: labelsOf,
  },
  "--on-failure <what>": {
    description: "what follows when too many fail",
    choices: ["undo", "pause"],
    default: "undo",
  },
  "--history <directory>": {
    description: "where documents are kept that a rollout may be taken back to",
    default: HISTORY,
  },
  "--epoch <epoch>": "epoch of the document, if not that of the nodes",
  "--allow-plain-secrets": "publish even if a Secret can be read by the whole group",
  ...SEAL_FLAGS,
  ...timeoutFlag(TIMEOUT, "how long nodes have to be healthy again after an undo"),
};

const FLAGS: Flags = {
  "-f, --filename <file>": {
    description:
      "pods, ConfigMaps, Secrets and claims, or one DesiredState; - for standard input (repeatable)",
    isRepeatable: true,
  },
  "--group <group>": "the group (required)",
  ...keyFlag("private key in PEM that signs document and Rollout"),
  ...PROCEDURE_FLAGS,
};

export function rolloutVerb(parts: FleetParts): Verb {
  return {
    usage: "rollout",
    description: "publish a document for a group and release it node by node, or take it back",
    flags: FLAGS,
    run: async ({ flags }) => (await import("./rollout.ts")).beginRollout(parts, flags()),
    verbs: [
      {
        usage: "status",
        description: "how far the rollout is, and each node that is not healthy",
        flags: { "-w, --watch": "show each change, until Ctrl-C" },
        run: async ({ flags }) =>
          (await import("./rollout-status.ts")).rolloutStatus(parts, flags()),
      },
      {
        usage: "pause",
        description: "release it for no further node",
        run: async ({ flags }) =>
          (await import("./rollout.ts")).changeRollout(parts, flags(), "pause"),
      },
      {
        usage: "resume",
        description: "go on with a rollout that is paused, or whose program has ended",
        run: async ({ flags }) =>
          (await import("./rollout.ts")).changeRollout(parts, flags(), "resume"),
      },
      {
        usage: "undo",
        description: "take it back: publish the content of the generation before, or of -f",
        run: async ({ flags }) =>
          (await import("./rollout.ts")).changeRollout(parts, flags(), "undo"),
      },
      {
        usage: "history",
        description: "the generations of the group that are kept; needs no broker",
        run: async ({ flags }) =>
          (await import("./rollout-status.ts")).rolloutHistory(parts, flags()),
      },
    ],
  };
}

function stepsFlag(): Flag {
  return {
    description: "nodes or percent of the group, rising",
    default: stepsOf(STEPS),
    defaultText: STEPS,
    parse: stepsOf,
  };
}

function stepsOf(written: string): readonly WrittenStep[] {
  return written.split(",").map((word) => {
    const step = parseStep(word);
    if (step !== undefined) return step;
    throw new InvalidArgumentError("It must be a list such as 1,10%,50%,100%.");
  });
}

function percentOf(written: string): number {
  const value = Number(/^(\d{1,3}(?:\.\d{1,2})?)%?$/.exec(written)?.[1] ?? Number.NaN);
  if (value >= 0 && value <= 100) return value;
  throw new InvalidArgumentError("It must be a percentage from 0% to 100%.");
}

function labelsOf(written: string): Readonly<Record<string, string>> {
  const pairs = written.split(",").map((word) => {
    const [key = "", value, ...more] = word.split("=");
    if (key !== "" && value !== undefined && more.length === 0) return [key, value] as const;
    throw new InvalidArgumentError("It must be a list such as site=berlin,floor=2.");
  });
  return Object.fromEntries(pairs);
}
