// kubectl's JSONPath templates: text, and `{…}` with paths, filters, and ranges. kubectl: jsonpath

import { failed, ok, type Result } from "../../lib/result.ts";
import { canonicalJson, isJsonObject } from "../../lib/json.ts";
import { CliError } from "../exit-codes.ts";
import { parseSteps, type Step, type Test } from "./json-path-steps.ts";

type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "path"; readonly steps: readonly Step[] }
  | { readonly type: "range"; readonly steps: readonly Step[]; readonly body: readonly Part[] };

export type JsonPath = readonly Part[];

interface Open {
  readonly steps: readonly Step[];
  readonly parts: Part[];
}

const QUOTED = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')$/s;

/** `{range .items[*]}{.metadata.name}{"\n"}{end}`; a template without braces is one path. */
export function parseJsonPath(template: string): Result<JsonPath> {
  const whole = template.includes("{") ? template : `{${template}}`;
  const open: Open[] = [{ steps: [], parts: [] }];
  for (const piece of whole.match(
    /\{(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^{}"'])*\}|[^{]+|\{/gs,
  ) ?? []) {
    const top = open.at(-1);
    if (top === undefined) break;
    if (piece === "{") return refuse(`${template}: a { is not closed`);
    if (!piece.startsWith("{")) {
      top.parts.push({ type: "text", text: piece });
      continue;
    }
    const wrong = takeBraces(piece.slice(1, -1).trim(), open);
    if (wrong !== undefined) return refuse(`${template}: ${wrong}`);
  }
  const [root, ...unclosed] = open;
  if (unclosed.length > 0 || root === undefined)
    return refuse(`${template}: {range} without {end}`);
  return ok(root.parts);
}

/** What is wrong; undefined = nothing. */
function takeBraces(inner: string, open: Open[]): string | undefined {
  const top = open.at(-1);
  if (top === undefined) return "{end} without {range}";
  const quoted = QUOTED.exec(inner);
  if (quoted !== null) {
    top.parts.push({ type: "text", text: unescaped(quoted[1] ?? quoted[2] ?? "") });
    return undefined;
  }
  if (inner === "end") {
    if (open.length < 2) return "{end} without {range}";
    open.pop();
    open.at(-1)?.parts.push({ type: "range", steps: top.steps, body: top.parts });
    return undefined;
  }
  const isRange = /^range\s/.test(inner);
  const steps = parseSteps(isRange ? inner.slice("range".length).trim() : inner);
  if (!steps.ok) return steps.errors.map(({ message }) => message).join("; ");
  if (isRange) open.push({ steps: steps.value, parts: [] });
  else top.parts.push({ type: "path", steps: steps.value });
  return undefined;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/gs, (_, character: string) => ESCAPES[character] ?? character);
}

function refuse(message: string): Result<JsonPath> {
  return failed([{ path: "", message, code: "Invalid" }]);
}

/** The text of the template for an object. Throws CliError for an index that a list does not have. */
export function printJsonPath(template: JsonPath, root: unknown, at: unknown = root): string {
  return template
    .map((part) => {
      switch (part.type) {
        case "text":
          return part.text;
        case "path":
          return walk(part.steps, root, at).map(valueText).join(" ");
        case "range":
          return walk(part.steps, root, at)
            .map((one) => printJsonPath(part.body, root, one))
            .join("");
      }
      return "";
    })
    .join("");
}

/** Everything that the paths of the template find. Throws CliError for an index that a list does not have. */
export function jsonPathValues(template: JsonPath, root: unknown): readonly unknown[] {
  return template.flatMap((part) => {
    switch (part.type) {
      case "text":
        return [];
      case "path":
        return walk(part.steps, root, root);
      case "range":
        return walk(part.steps, root, root).flatMap((one) => jsonPathValues(part.body, one));
    }
    return [];
  });
}

/** The members of an object in kubectl's order. */
export function valueText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : canonicalJson(value);
}

function walk(steps: readonly Step[], root: unknown, at: unknown): readonly unknown[] {
  let found: readonly unknown[] = [at];
  for (const step of steps) found = step.type === "root" ? [root] : stepFrom(step, found);
  return found;
}

type Move = Exclude<Step, { type: "root" }>;

/** Of `['a','b']` every `a` precedes every `b`. */
function stepFrom(step: Move, values: readonly unknown[]): readonly unknown[] {
  const alone = alternatives(step);
  return alone.flatMap((one) => values.flatMap((value) => stepInto(one, value)));
}

type SingleMove = Exclude<Move, { type: "union" | "indexes" }>;

function alternatives(step: Move): readonly SingleMove[] {
  switch (step.type) {
    case "union":
      return step.names.map((name) => ({ type: "member", name }));
    case "indexes":
      return step.indexes.map((from) => {
        return { type: "slice", from, to: from === -1 ? undefined : from + 1, step: undefined };
      });
    case "member":
    case "all":
    case "deep":
    case "slice":
    case "filter":
      return [step];
  }
}

function stepInto(step: SingleMove, value: unknown): readonly unknown[] {
  switch (step.type) {
    case "member":
      return isJsonObject(value) && value[step.name] !== undefined ? [value[step.name]] : [];
    case "all":
      return membersOf(value);
    case "deep":
      return [value, ...membersOf(value).flatMap((one) => stepInto(step, one))];
    case "slice":
      return value === null ? [] : sliceOf(value, step);
    case "filter":
      return membersOf(value).filter((one) => holds(step.test, one));
  }
}

/** As in kubectl, what the list does not have is an error. Throws CliError. */
function sliceOf(value: unknown, asked: Extract<Step, { type: "slice" }>): readonly unknown[] {
  if (!Array.isArray(value)) throw new CliError(`${valueText(value)} is not array or slice`);
  const list: readonly unknown[] = value;
  const place = (index: number): number => (index < 0 ? index + list.length : index);
  const from = place(asked.from ?? 0);
  const to = place(asked.to ?? list.length);
  if (from === to) return [];
  if (from < 0 || from >= list.length) throw outOfBounds(from, list);
  if (to < 0 || to > list.length) throw outOfBounds(to - 1, list);
  if (from > to) throw new CliError(`starting index ${from} is greater than ending index ${to}`);
  return list.slice(from, to).filter((_, index) => index % (asked.step ?? 1) === 0);
}

function outOfBounds(index: number, { length }: readonly unknown[]): CliError {
  return new CliError(`array index out of bounds: index ${index}, length ${length}`);
}

function membersOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isJsonObject(value) ? Object.values(value) : [];
}

function holds({ left, operator, right }: Test, value: unknown): boolean {
  if (operator === undefined) return exists(left, value);
  const [found] = foundIn(left, value);
  const [other] = foundIn(right, value);
  switch (operator) {
    case "==":
      return found === other;
    case "!=":
      return found !== other;
    case "<":
    case "<=":
    case ">":
    case ">=":
      return compares(operator, found, other);
  }
}

function foundIn(operand: Test["left"], value: unknown): readonly unknown[] {
  return operand.type === "path" ? walk(operand.steps, value, value) : [operand.value];
}

function exists(operand: Test["left"], value: unknown): boolean {
  try {
    return foundIn(operand, value).length > 0;
  } catch (error) {
    if (error instanceof CliError) return false;
    throw error;
  }
}

function compares(operator: "<" | "<=" | ">" | ">=", a: unknown, b: unknown): boolean {
  const areNumbers = typeof a === "number" && typeof b === "number";
  const areTexts = typeof a === "string" && typeof b === "string";
  if (!areNumbers && !areTexts) return false;
  const order = a < b ? -1 : a > b ? 1 : 0;
  if (operator.endsWith("=") && order === 0) return true;
  return operator.startsWith("<") ? order < 0 : order > 0;
}
