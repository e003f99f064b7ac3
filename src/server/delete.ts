// DELETE on the local API. `/pods/<namespace>/<name>` shortens the grace period of a pod that is stopping: no pod is stopped
// before its source no longer declares it. `…/persistentvolumeclaims/<name>?data=true` deletes the data of a claim.

import type { Answer } from "./http/exchange.ts";
import { success, text, type LocalRequest } from "./answer.ts";
import type { NamedPod } from "../api/v1/pod.ts";
import type { GraceOutcome } from "../node/node-view-options.ts";
import { manifestPath } from "../api/pod/desired-pod.ts";
import type { ObjectFacts } from "../node/node-api.ts";

/** The resource in paths. */
export const CLAIMS = "persistentvolumeclaims";
const PARAMETER = "gracePeriodSeconds";

/** It never makes the grace period longer. */
export function shortenGrace({ facts, parts, query }: LocalRequest): Answer {
  const [namespace = "", name = ""] = parts;
  const pod = { namespace, name };
  const seconds = secondsOf(query.getAll(PARAMETER));
  if (typeof seconds === "string") return text(400, seconds);
  const outcome = facts.shortenGrace(pod, seconds);
  switch (outcome.type) {
    case "Shortened":
      return success(
        `pod ${pod.namespace}/${pod.name} has at most ${seconds} s of grace from now on`,
        { name: pod.name, kind: "pods" },
      );
    case "Wanted":
      return text(409, refusal(pod, outcome));
    case "NotFound":
      return text(404, `pods "${pod.name}" not found in namespace "${pod.namespace}"`);
  }
}

/** A string = the error. */
function secondsOf(values: readonly string[]): number | string {
  const must = `${PARAMETER} must be a whole number of seconds, 0 or more`;
  const [value, ...more] = values;
  if (value === undefined) return `${must}; add ?${PARAMETER}=1`;
  if (more.length > 0) return `${must}, given once`;
  const seconds = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  return Number.isSafeInteger(seconds) ? seconds : `${must}, not ${JSON.stringify(value)}`;
}

function refusal(
  { namespace, name }: NamedPod,
  wanted: Extract<GraceOutcome, { type: "Wanted" }>,
): string {
  const { place, remedy, kind } = declaration(wanted);
  return `pod ${namespace}/${name} is declared by ${place}: ${remedy}; a pod that ${kind} declares cannot be deleted here`;
}

export interface Declaration {
  /** As a sentence names it: `/m/web.yaml`. */
  readonly place: string;
  /** To delete it. */
  readonly remedy: string;
  /** `a file`. */
  readonly kind: string;
}

/** Where a source declares what it declares. */
export function declaration({
  source,
  sourceRef,
}: Pick<Extract<GraceOutcome, { type: "Wanted" }>, "source" | "sourceRef">): Declaration {
  switch (source) {
    case "file": {
      const file = manifestPath(sourceRef);
      return { place: file, remedy: `remove it from ${file}`, kind: "a file" };
    }
    case "http":
      return { place: sourceRef, remedy: "remove it there", kind: "a URL" };
    case "mqtt:node":
      return document("this node", sourceRef);
  }
  // Only groups remain.
  return document(source.replace("mqtt:", "").replace("/", " "), sourceRef);
}

function document(owner: string, generation: string): Declaration {
  const place = `the MQTT document of ${owner} (${generation})`;
  return { place, remedy: "publish a document without it", kind: "a document" };
}

/** Of DELETE: confirms that the data is meant. */
const DATA = "data";

/** Deletes everything in the directory of a claim; the claim itself goes with its file or document. */
export function removeClaimData({ facts, parts, query }: LocalRequest<ObjectFacts>): Answer {
  const claim = { namespace: parts[0] ?? "", name: parts[1] ?? "" };
  const name = `${claim.namespace}/${claim.name}`;
  if (query.getAll(DATA).join() !== "true")
    return text(
      400,
      `nothing was deleted: this deletes all data of the claim ${name} for good; add ?${DATA}=true to confirm`,
    );
  const outcome = facts.removeClaimData(claim);
  switch (outcome.type) {
    case "Removed":
      return success(`the data of the claim ${name} is deleted; its space is freed soon`, {
        name: claim.name,
        kind: CLAIMS,
      });
    case "InUse":
      return text(
        409,
        `the claim ${name} is used by ${outcome.pods.join(", ")}: remove these pods first and wait until they are gone`,
      );
    case "NotFound":
      return text(
        404,
        `${CLAIMS} "${claim.name}" in namespace "${claim.namespace}" has no data on this node`,
      );
    case "Failed":
      return text(500, `the data of the claim ${name} could not be deleted: ${outcome.message}`);
  }
}
