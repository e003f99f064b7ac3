// Performs: `POST …/hold` and `POST …/release`: updates of a pod, or of all pods of this node, wait or go on.

import { messageOf } from "../lib/errors.ts";
import { json, notAllowed, text, type Answer } from "./answer.ts";
import type { NamedPod } from "../api/v1/pod.ts";
import { type HoldVerb, type HoldOutcome, holdRefusal } from "../rollout/update-holds.ts";
import type { HoldFacts } from "../node/node-api.ts";

export const HOLD_PATHS: readonly string[] = ["/hold", "/release"];

export interface HoldPath {
  readonly verb: HoldVerb;
  readonly pod: NamedPod | undefined;
}

/** undefined = the path is about something else. */
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
    return outcome.type === "Done" ? json(success(verb, pod)) : refused(outcome, pod);
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

/** k8s: metav1.Status */
function success(verb: HoldVerb, pod: NamedPod | undefined): object {
  const what = pod === undefined ? "all updates" : `updates of pod ${pod.namespace}/${pod.name}`;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    message: `${what} ${verb === "hold" ? "wait until they are released" : "go on"}`,
    code: 200,
  };
}
