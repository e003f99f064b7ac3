// `POST …/hold` and `POST …/release`: updates of a pod, or of all pods of this node, wait or go on.

import { messageOf } from "../lib/errors.ts";
import { json, notAllowed, text, type Answer } from "./answer.ts";
import type { NamedPod } from "./delete-pod.ts";

export type HoldVerb = "hold" | "release";

/** What became of it. */
export type HoldOutcome =
  | { readonly type: "Done" }
  | { readonly type: "NotFound" }
  /** A file's edits are its author's own: they are not held. */
  | { readonly type: "OfFile"; readonly file: string };

export interface HoldFacts {
  /** `pod` undefined = the whole node. Throws what cannot be written down. */
  changeHold(verb: HoldVerb, pod: NamedPod | undefined): HoldOutcome;
}

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

/** One sentence for every door. */
export function holdRefusal(
  outcome: Exclude<HoldOutcome, { type: "Done" }>,
  pod: NamedPod | undefined,
): string {
  const { namespace, name } = pod ?? { namespace: "", name: "" };
  if (outcome.type === "NotFound") return `pods "${name}" not found in namespace "${namespace}"`;
  return `pod ${namespace}/${name} is declared by ${outcome.file}: edits of a file are not held, and files never roll back`;
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
