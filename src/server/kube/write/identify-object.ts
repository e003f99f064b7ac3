// Which object a request is about: what its path says and what its body says must agree.

import type { NamedPod } from "../../../api/v1/pod.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { Random } from "../../../lib/random.ts";
import type { Answer } from "../../http/exchange.ts";
import { refusal } from "../kube-status.ts";
import { memberOf } from "../object-meta.ts";
import type { ObjectPlace } from "../read-objects.ts";
import { invalidObject } from "./refusals.ts";

export interface Identified {
  /** With kind, namespace and name. */
  readonly object: JsonObject;
  readonly named: NamedPod;
}

/** Without vowels and digits that look like letters, so that no word comes out. k8s: SimpleNameGenerator */
const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH = 5;
const MAX_BASE = 58;

interface IdentifyOptions {
  readonly verb: "create" | "replace" | "apply";
  readonly random: Random;
}

export function identified(
  body: JsonObject,
  place: ObjectPlace,
  { verb, random }: IdentifyOptions,
): Identified | Answer {
  const metadata = memberOf(body, "metadata");
  const { kind } = place.resource;
  const name = nameOf(metadata, place.name, random);
  if (name === undefined) return invalidObject(kind, "", [NAME_REQUIRED]);
  const mismatch =
    kindError(body, kind) ??
    namespaceError(metadata, place) ??
    nameError(name, place) ??
    metadataError(metadata, verb);
  if (mismatch !== undefined) return refusal(400, mismatch);
  const named = { namespace: place.namespace ?? "", name };
  const { apiVersion = "" } = body;
  const object = {
    apiVersion: apiVersion === "" ? "v1" : apiVersion,
    kind,
    ...without(body),
    metadata: { ...metadata, ...named },
  };
  return { object, named };
}

const NAME_REQUIRED = {
  path: "metadata.name",
  code: "Required",
  message: "Required value: name or generateName is required",
};

function kindError(
  { kind = "", apiVersion = "" }: JsonObject,
  expected: string,
): string | undefined {
  if (kind === "" || kind === expected) return undefined;
  return `${wordOf(kind)} in version ${wordOf(apiVersion)} cannot be handled as a ${expected}`;
}

function namespaceError(metadata: JsonObject, { namespace }: ObjectPlace): string | undefined {
  const written = metadata["namespace"] ?? "";
  if (written === "" || written === namespace) return undefined;
  return `the namespace of the provided object (${wordOf(written)}) does not match the namespace sent on the request (${namespace})`;
}

function nameError(own: string, { name }: ObjectPlace): string | undefined {
  if (name === undefined || own === name) return undefined;
  return `the name of the object (${own}) does not match the name on the URL (${name})`;
}

function metadataError(
  { managedFields = null, resourceVersion = "" }: JsonObject,
  verb: IdentifyOptions["verb"],
): string | undefined {
  if (verb === "apply" && managedFields !== null) return "metadata.managedFields must be nil";
  const isVersioned = resourceVersion !== "" && resourceVersion !== null;
  return verb === "create" && isVersioned
    ? "resourceVersion should not be set on objects to be created"
    : undefined;
}

function without({ apiVersion: _version, kind: _kind, ...content }: JsonObject): JsonObject {
  return content;
}

/** Of the body, else of the path, else a new one; undefined = there is none. */
function nameOf(
  metadata: JsonObject,
  path: string | undefined,
  random: Random,
): string | undefined {
  const { name, generateName } = metadata;
  if (typeof name === "string" && name !== "") return name;
  if (path !== undefined) return path;
  if (typeof generateName !== "string" || generateName === "") return undefined;
  const letters = Array.from({ length: SUFFIX_LENGTH }, () =>
    ALPHABET.charAt(Math.floor(random.next() * ALPHABET.length)),
  );
  return `${generateName.slice(0, MAX_BASE)}${letters.join("")}`;
}

function wordOf(value: unknown): string {
  return JSON.stringify(value).slice(0, 80);
}
