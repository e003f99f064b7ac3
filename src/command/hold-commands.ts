// Performs: the commands that make updates wait and go on: hold and release.

import { messageOf } from "../lib/errors.ts";
import type { CommandOrder } from "./executor.ts";
import { failure, refusedArgs, type CommandOutcome } from "./response.ts";
import { readArgs } from "./args.ts";
import { type HoldVerb, holdRefusal } from "../rollout/update-holds.ts";
import type { HoldFacts } from "../node/node-api.ts";

/** Of one pod, or with `all` of the whole node. */
export function changeHold(
  { command }: CommandOrder,
  verb: HoldVerb,
  facts: HoldFacts,
): CommandOutcome {
  const read = readArgs(command.args, { namespace: "text", pod: "text", all: "flag" });
  if (!read.ok) return read.outcome;
  const { namespace = "default", pod: name, all = false } = read.args;
  if ((name === undefined) !== all) return refusedArgs("args", "names either a pod or all: true");
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
