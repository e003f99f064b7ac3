// A command's JSON → the command, or why it cannot be answered with more than a refusal (MQTT.md §5). Pure.

import {
  COMMAND_VERBS,
  LATER_VERBS,
  type Command,
  type CommandResponse,
  type CommandVerb,
} from "./command.ts";
import { MAX_TOPIC_BYTES } from "./mqtt-topics.ts";

export type ReadCommand =
  | { readonly type: "Command"; readonly command: Command }
  | {
      readonly type: "Invalid";
      /** Absent = nobody could tell what an answer belongs to. */
      readonly id?: string;
      readonly code: 400 | 501;
      readonly error: CommandError;
    };

export type CommandError = NonNullable<CommandResponse["error"]>;

/** Bytes of a whole message; a signed one is a third longer than what it holds. */
export const MAX_COMMAND_BYTES = 32 * 1024;
export const DEFAULT_TTL_SECONDS = 60;
export const MAX_TTL_SECONDS = 86_400;

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;
const TOPIC = /^[!-"$-*,-~]+$/;

type JsonObject = Readonly<Record<string, unknown>>;

/** `value` as JSON gave it; never throws. */
export function decodeCommand(value: unknown): ReadCommand {
  if (!isObject(value))
    return { type: "Invalid", code: 400, error: wrong("", "is no JSON object") };
  const { id } = value as { readonly id?: unknown };
  if (typeof id !== "string" || !ULID.test(id))
    return {
      type: "Invalid",
      code: 400,
      error: wrong("id", "must be a ULID: 26 characters of 0-9 and A-Z without I, L, O, U"),
    };
  const verb = readVerb(value["verb"]);
  if (typeof verb !== "string") return { type: "Invalid", id, ...verb };
  const fields = readFields(value);
  if ("error" in fields) return { type: "Invalid", id, code: 400, error: fields.error };
  return { type: "Command", command: { id, verb, ...fields.fields } };
}

function readVerb(
  written: unknown,
): CommandVerb | { readonly code: 400 | 501; readonly error: CommandError } {
  const known = COMMAND_VERBS.find((verb) => verb === written);
  if (known !== undefined) return known;
  if (LATER_VERBS.some((verb) => verb === written))
    return { code: 501, error: later(`${String(written)}`) };
  return { code: 400, error: wrong("verb", `must be one of ${COMMAND_VERBS.join(", ")}`) };
}

/** What an answer says of a verb of the contract that this agent does not have. */
export function later(verb: string): CommandError {
  return {
    category: "NotImplemented",
    component: "commands",
    element: "verb",
    message: `${verb} is not supported yet`,
  };
}

type Fields = Omit<Command, "id" | "verb">;

interface Rule {
  readonly element: "session" | "args" | "issuedAt" | "ttl" | "replyTo";
  readonly isRight: (written: unknown) => boolean;
  readonly message: string;
}

/** Of fields that may be absent. */
const RULES: readonly Rule[] = [
  {
    element: "session",
    isRight: isCount,
    message: "must be the whole number of the node's present birth",
  },
  { element: "args", isRight: isObject, message: "must be a JSON object" },
  {
    element: "issuedAt",
    isRight: (written) => timeOf(written) !== undefined,
    message: "must be a time such as 2026-11-21T08:00:00Z",
  },
  {
    element: "ttl",
    isRight: (written) => isCount(written) && written >= 1 && written <= MAX_TTL_SECONDS,
    message: `must be whole seconds from 1 to ${MAX_TTL_SECONDS}`,
  },
  {
    element: "replyTo",
    isRight: isTopic,
    message: `must be a topic of at most ${MAX_TOPIC_BYTES} characters of ASCII without + and #`,
  },
];

function readFields(
  value: JsonObject,
): { readonly fields: Fields } | { readonly error: CommandError } {
  const broken = RULES.find(({ element, isRight }) => {
    const written = value[element];
    return written !== undefined && !isRight(written);
  });
  const problem =
    targetProblem(value["target"]) ??
    (broken === undefined ? undefined : wrong(broken.element, broken.message));
  return problem === undefined ? { fields: fieldsOf(value) } : { error: problem };
}

/** What the rules have been asked about. */
function fieldsOf(value: JsonObject): Fields {
  const { target, session, args, issuedAt, ttl, replyTo } = value as {
    readonly [key in keyof Command]?: unknown;
  };
  const at = timeOf(issuedAt);
  return {
    target: isObject(target) ? target : {},
    args: isObject(args) ? args : {},
    ttl: isCount(ttl) ? ttl : DEFAULT_TTL_SECONDS,
    ...(isCount(session) ? { session } : {}),
    ...(at === undefined ? {} : { issuedAt: at }),
    ...(isTopic(replyTo) ? { replyTo } : {}),
  };
}

const TARGET_FIELDS: readonly string[] = ["node", "group", "fleet"];

/** Whom a field that nobody reads here should keep out must not be guessed. */
function targetProblem(target: unknown): CommandError | undefined {
  if (target === undefined) return undefined;
  if (!isObject(target)) return wrong("target", "must be an object such as {node: …}");
  for (const [key, name] of Object.entries(target)) {
    if (!TARGET_FIELDS.includes(key))
      return wrong(`target.${key.slice(0, 40)}`, `must be one of ${TARGET_FIELDS.join(", ")}`);
    if (typeof name !== "string") return wrong(`target.${key}`, "must be a text");
  }
  return undefined;
}

function timeOf(written: unknown): number | undefined {
  if (typeof written !== "string" || !RFC3339.test(written)) return undefined;
  const at = Date.parse(written);
  return Number.isNaN(at) ? undefined : at;
}

function isTopic(written: unknown): written is string {
  return typeof written === "string" && written.length <= MAX_TOPIC_BYTES && TOPIC.test(written);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function wrong(element: string, message: string): CommandError {
  return { category: "Invalid", component: "commands", element, message };
}
