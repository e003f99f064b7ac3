// A DesiredState document: what a node, or each node of a group, should run. Unknown fields are warnings, so that a
// document for a newer agent still runs here; what would change its meaning is refused.

import { UPDATE_POLICY, DEFAULT_POLICY } from "../api/pod/update-policy.ts";
import type { Place } from "../api/decode/field-reader.ts";
import { ignored } from "../api/decode/field-rules.ts";
import {
  boolean,
  fieldOf,
  list,
  listOf,
  map,
  objectType,
  oneOf,
  text,
  unread,
  type Decoded,
} from "../api/schema/codec.ts";
import { presentSchema } from "../api/schema/json-schema.ts";
import { manifestSchema } from "../api/schema/schema-kinds.ts";
import { emptyValue } from "../api/schema/read-value.ts";
import type { JsonSchema, Type } from "../api/schema/type.ts";
import { anything, atLeast, exactText, time } from "../api/schema/values.ts";
import { labelValueError, qualifiedNameError } from "../api/validation/validate-names.ts";
import { REMOTE_SETTINGS } from "./remote-settings.ts";
import { SEALED_SECRETS } from "./sealed-secret.ts";
import { AGENT_UPDATE } from "./agent-release.ts";
import { growingNumber } from "./dsse.ts";
import { GROUPS } from "./groups.ts";

const MAX_EPOCH_LENGTH = 128;
/** Code of features that this agent lacks: the document is refused with status 412. */
export const NOT_SUPPORTED = "NotSupported";

/** Of a document or a command. An unknown kind of target is an error: another node may be meant. */
export const TARGET = objectType(
  "Target",
  {
    node: fieldOf(exactText)({ about: "Name of the node." }),
    group: fieldOf(exactText)({ about: "Name of the group." }),
    fleet: fieldOf(exactText)({ about: "Name of the fleet, mqtt.fleet of the configuration." }),
  },
  { unknown: { code: "UnknownField", message: "unknown field" } },
);
export type Target = Decoded<typeof TARGET>;

/** An unknown requirement is one that this agent cannot meet. */
const REQUIRES = objectType(
  "Requires",
  {
    agent: fieldOf(exactText)({
      about: "Range of semantic versions that the agent must be in, such as >=1.2.",
    }),
    arch: list(text, { about: "Architectures, such as arm64; the node must have one of them." }),
    features: list(text, { about: "Features that the node must have, all of them." }),
    documents: map(atLeast(1), {
      about: "Lowest generation of other documents, by name: node or group/<name>.",
    }),
  },
  { unknown: { code: NOT_SUPPORTED, message: "this agent does not know the requirement" } },
);
export type Requires = Decoded<typeof REQUIRES>;

const epoch = fieldOf(exactText);

function epochError(written: string): string | undefined {
  return written.length <= MAX_EPOCH_LENGTH
    ? undefined
    : `must have at most ${MAX_EPOCH_LENGTH} characters`;
}

/** Judged after the document. */
const RESOURCE: Type<unknown> = { ...anything, name: "Object", schema: manifestSchema };

const FIELDS = {
  apiVersion: oneOf(["agent/v1"], { about: "Version of the format.", required: "agent/v1" }),
  kind: oneOf(["DesiredState"], { about: "Kind of the document.", required: "DesiredState" }),
  target: fieldOf(TARGET)({
    about:
      "Node or group that the document is for; must match the topic. Required if it is signed.",
    default: {},
  }),
  epoch: epoch({
    about: "Series of generations; generations of different epochs are not comparable.",
    default: "",
    check: epochError,
  }),
  previousEpoch: epoch({ about: "Epoch that a new epoch follows.", check: epochError }),
  generation: growingNumber,
  issuedAt: fieldOf(time)({ about: "Time of the signature." }),
  expiresAt: fieldOf(time)({
    about: "Time from which on the document is no longer accepted. What runs continues to run.",
  }),
  requires: fieldOf(REQUIRES)({
    about: "Requirements of the document; a node that does not meet them refuses it with 412.",
    default: emptyValue(REQUIRES),
  }),
  policy: fieldOf(UPDATE_POLICY)({
    about: "How changes are carried out.",
    default: DEFAULT_POLICY,
  }),
  allowEmpty: boolean({
    about: "Whether resources may be empty, which removes everything.",
    default: false,
  }),
  resources: fieldOf(
    listOf(RESOURCE),
    [],
  )({
    about:
      "The complete list of objects. Pods, ConfigMaps, Secrets and claims that are not in it are removed.",
    required: "the complete list of objects; [] needs allowEmpty: true",
    keep: true,
  }),
  agent: fieldOf(AGENT_UPDATE)({
    about: "Version of the agent itself that the node shall run. Only in a signed document.",
  }),
  config: fieldOf(REMOTE_SETTINGS)({
    about:
      "Settings of the agent itself, over those of the device; {} = those of the device alone. Only in a signed document. Default: what is in force stays.",
    keep: true,
  }),
  sealed: SEALED_SECRETS,
};

const ONLY_OF_NODE = ignored("only the document of the node itself may set this", [], {});

/** Labels that only the node itself has: pods of its files select by them. */
export function isOwnLabel(key: string): boolean {
  return key.startsWith("kubernetes.io/");
}

const OWN_LABEL =
  "is the node's own label, which no document sets; leave it out, or write nodeLabels in the agent's configuration";

export const NODE_DOCUMENT = objectType(
  "DesiredState",
  {
    ...FIELDS,
    groups: fieldOf(GROUPS)({
      about:
        "Groups of the node, beside those of its configuration. Only in the node's own document.",
      default: [],
    }),
    labels: map(exactText, {
      about:
        "Labels of the node, beside those of its configuration. Only in the node's own document.",
      key: qualifiedNameError,
      value: labelValueError,
    }),
  },
  {
    check({ labels }, { findings, path }) {
      for (const key of Object.keys(labels).filter(isOwnLabel))
        findings.warn([...path, "labels", key], "Ignored", OWN_LABEL);
    },
  },
);

const GROUP_DOCUMENT = objectType("DesiredState", {
  ...FIELDS,
  groups: unread("[]GroupMember", "Only in a node's own document.", ONLY_OF_NODE),
  labels: unread("map[string]string", "Only in a node's own document.", ONLY_OF_NODE),
});

export type DesiredState = Decoded<typeof NODE_DOCUMENT>;
/** Kind of target: groups and labels in a node's own document count, those in a group's document are ignored. */
export type DocumentOf = "node" | "group";

/** Of a node's own document, which has every field. */
export function desiredStateSchema(): JsonSchema {
  return presentSchema(NODE_DOCUMENT.schema("warn"));
}

/** Reports what is wrong; undefined = not even an object. Set up the findings to warn of unknown fields. */
export function readDesiredState(at: Place, of: DocumentOf): DesiredState | undefined {
  if (of === "node") return NODE_DOCUMENT.read(at);
  const document = GROUP_DOCUMENT.read(at);
  return document === undefined ? undefined : { ...document, groups: [], labels: {} };
}
