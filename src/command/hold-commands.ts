// Performs: the commands that make updates wait and continue: hold and release.

import { messageOf } from "../lib/errors.ts";
import type { HoldFacts } from "../node/node-api.ts";
import { type HoldVerb, holdRefusal } from "../rollout/update-holds.ts";
import { running, type Runs } from "./executor.ts";
import { failure, type CommandOutcome } from "./response.ts";
import { VERBS } from "./verbs.ts";

interface HoldArguments {
  readonly namespace: string;
  /** undefined = all of the node. */
  readonly pod?: string;
}

export function holdCommands(facts: HoldFacts): Pick<Runs, HoldVerb> {
  return {
    hold: running(VERBS.hold, (args) => changeHold("hold", args, facts)),
    release: running(VERBS.release, (args) => changeHold("release", args, facts)),
  };
}

function changeHold(
  verb: HoldVerb,
  { namespace, pod: name }: HoldArguments,
  facts: HoldFacts,
): CommandOutcome {
  const pod = name === undefined ? undefined : { namespace, name };
  try {
    const outcome = facts.changeHold(verb, pod);
    if (outcome.type === "Done") return { code: 200, data: {} };
    const code = outcome.type === "NotFound" ? 404 : 409;
    return failure(code, outcome.type, holdRefusal(outcome, pod));
  } catch (error) {
    return failure(500, "Internal", `nothing was changed: ${messageOf(error)}`);
  }
}
