// What `agent wait --for` names, and whether an object meets it. kubectl: wait

import { failed, ok, type Result } from "../../lib/result.ts";
import { memberOf, type JsonObject } from "../../lib/json.ts";
import { jsonPathValues, parseJsonPath, valueText, type JsonPath } from "../get/json-path.ts";

export type WaitCondition =
  | { readonly type: "create" | "delete" }
  /** Names and values are compared without regard to case. */
  | { readonly type: "condition"; readonly name: string; readonly status: string }
  /** `value` undefined = any. */
  | { readonly type: "jsonpath"; readonly path: JsonPath; readonly value: string | undefined };

/** Of an object that is there. */
export type Verdict = "Met" | "Open" | { readonly error: string };

export const FOR_HELP = "delete, create, condition=NAME[=VALUE] or jsonpath='{PATH}'[=VALUE]";

export function parseWaitCondition(written: string): Result<WaitCondition> {
  const lower = written.toLowerCase();
  if (lower === "delete" || lower === "create") return ok({ type: lower });
  if (written.startsWith("condition=")) {
    const [name = "", ...status] = written.slice("condition=".length).split("=");
    const wanted = status.length === 0 ? "true" : status.join("=");
    if (name !== "") return ok({ type: "condition", name, status: wanted });
  }
  if (written.startsWith("jsonpath=")) return parsePath(written.slice("jsonpath=".length));
  return refuse(`unrecognized condition: ${JSON.stringify(written)}; --for takes ${FOR_HELP}`);
}

const PATH_FORM =
  "jsonpath wait format must be --for=jsonpath='{.status.readyReplicas}'=3 or --for=jsonpath='{.status.readyReplicas}'";

function parsePath(written: string): Result<WaitCondition> {
  const end = pathEnd(written);
  const [path, rest] = [written.slice(0, end), written.slice(end)];
  if (path === "") return refuse("jsonpath expression cannot be empty");
  if (rest !== "" && !rest.startsWith("=")) return refuse(PATH_FORM);
  const value = rest.slice(1).replace(/^(["'])(.*)\1$/s, "$2");
  if (rest !== "" && value === "")
    return refuse(
      "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3",
    );
  if (value.includes("=")) return refuse(PATH_FORM);
  const parsed = parseJsonPath(path);
  if (!parsed.ok) return parsed;
  const [only, ...more] = parsed.value;
  if (only?.type !== "path" || more.length > 0)
    return refuse(
      `unexpected path string ${JSON.stringify(path)}, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'`,
    );
  return ok({ type: "jsonpath", path: parsed.value, value: rest === "" ? undefined : value });
}

/** Of the path: its last brace, or the first `=` outside brackets. */
function pathEnd(written: string): number {
  let depth = 0;
  let quote = "";
  for (let index = 0; index < written.length; index += 1) {
    const character = written.charAt(index);
    if (quote !== "") quote = character === quote ? "" : quote;
    else if (depth > 0 && `"'`.includes(character)) quote = character;
    else if ("{[(".includes(character)) depth += 1;
    else if ("}])".includes(character)) depth -= 1;
    else if (character === "=" && depth === 0) return index;
  }
  return written.length;
}

function refuse(message: string): Result<WaitCondition> {
  return failed([{ path: "", message, code: "Invalid" }]);
}

/** `uid`: of the object that was there at the start; another one of the same name means that it is deleted. */
export function judgeWait(
  condition: WaitCondition,
  object: JsonObject,
  uid: string | undefined,
): Verdict {
  switch (condition.type) {
    case "create":
      return "Met";
    case "delete":
      return uid === undefined || memberOf(object["metadata"], "uid") === uid ? "Open" : "Met";
    case "condition":
      return hasCondition(condition, object) ? "Met" : "Open";
    case "jsonpath":
      return judgePath(condition, object);
  }
}

type OfType<T extends WaitCondition["type"]> = Extract<WaitCondition, { readonly type: T }>;

/** What was observed before the newest spec does not count. kubectl: ConditionalWait.checkCondition */
function hasCondition({ name, status }: OfType<"condition">, object: JsonObject): boolean {
  const found = conditionOf(name, object);
  if (found === undefined) return false;
  const generation = memberOf(object["metadata"], "generation");
  const observed =
    memberOf(found, "observedGeneration") ?? memberOf(object["status"], "observedGeneration");
  if (typeof generation === "number" && typeof observed === "number" && observed < generation)
    return false;
  return isEqual(memberOf(found, "status"), status);
}

function conditionOf(name: string, object: JsonObject): unknown {
  const conditions = memberOf(object["status"], "conditions");
  return (Array.isArray(conditions) ? (conditions as readonly unknown[]) : []).find((one) =>
    isEqual(memberOf(one, "type"), name),
  );
}

function isEqual(a: unknown, b: string): boolean {
  return typeof a === "string" && a.toLowerCase() === b.toLowerCase();
}

function judgePath({ path, value }: OfType<"jsonpath">, object: JsonObject): Verdict {
  const found = jsonPathValues(path, object);
  if (found.length === 0) return "Open";
  if (found.length > 1) return { error: "given jsonpath expression matches more than one value" };
  if (value === undefined) return "Met";
  const [only] = found;
  if (typeof only === "object" && only !== null)
    return { error: "jsonpath leads to a nested object or list which is not supported" };
  return valueText(only).trim() === value.trim() ? "Met" : "Open";
}

/** Why an object does not meet a condition yet, as far as it shows; "" = unknown. */
export function openText(condition: WaitCondition, object: JsonObject | undefined): string {
  if (object === undefined) return "it is not there";
  switch (condition.type) {
    case "create":
      return "";
    case "delete":
      return "it is still there";
    case "jsonpath":
      return `it is ${JSON.stringify(jsonPathValues(condition.path, object).map(valueText).join(" "))}`;
    case "condition":
      return conditionText(condition.name, object);
  }
}

function conditionText(name: string, object: JsonObject): string {
  const found = conditionOf(name, object);
  const [status, reason] = [memberOf(found, "status"), memberOf(found, "reason")];
  if (typeof status !== "string") return `${name} is not reported`;
  const why = typeof reason === "string" && reason !== "" ? ` (${reason})` : "";
  return `${name} is ${status}${why}`;
}
