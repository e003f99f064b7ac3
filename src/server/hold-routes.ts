// Performs: `POST …/hold` and `POST …/release`: pause and resume the updates of a pod, or of all pods of this node.

import { messageOf } from "../lib/errors.ts";
import { notAllowed, success, text, type Answer } from "./answer.ts";
import type { NamedPod } from "../api/v1/pod.ts";
import { type HoldVerb, type HoldOutcome, holdRefusal } from "../rollout/update-holds.ts";
import type { HoldFacts } from "../node/node-api.ts";

export const HOLD_PATHS: readonly string[] = ["/hold", "/release"];

export interface HoldPath {
  readonly verb: HoldVerb;
  readonly pod: NamedPod | undefined;
}

/** undefined = another path. */
export function holdOfPath(path: string): HoldPath | undefined {
  const match = /^(?:\/pods\/([^/]+)\/([^/]+))?\/(hold|release)$/.exec(path);
  if (match === null) return undefined;
  const [, namespace, name, word] = match;
  const verb = word === "hold" ? "hold" : "release";
  return {
    verb,
    pod: namespace === undefined || name === undefined ? undefined : { namespace, name },
  };
}

export function answerForHold(method: string, { verb, pod }: HoldPath, facts: HoldFacts): Answer {
  if (method !== "POST")
    return notAllowed("POST", `this makes updates ${verb === "hold" ? "wait" : "go on"}: use POST`);
  try {
    const outcome = facts.changeHold(verb, pod);
    return outcome.type === "Done" ? success(doneText(verb, pod)) : refused(outcome, pod);
  } catch (error) {
    return text(500, `nothing was changed: ${messageOf(error)}; try again`);
  }
}

function refused(
  outcome: Exclude<HoldOutcome, { type: "Done" }>,
  pod: NamedPod | undefined,
): Answer {
  return text(outcome.type === "NotFound" ? 404 : 409, holdRefusal(outcome, pod));
}

function doneText(verb: HoldVerb, pod: NamedPod | undefined): string {
  const what = pod === undefined ? "all updates" : `updates of pod ${pod.namespace}/${pod.name}`;
  return `${what} ${verb === "hold" ? "wait until they are released" : "go on"}`;
}
