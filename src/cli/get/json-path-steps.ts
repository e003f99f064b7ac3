// One path of a JSONPath template: `.items[?(@.status.phase=="Running")].metadata['name','uid']`, read step by step.

import { failed, ok, type Result } from "../../lib/result.ts";

export type Step =
  | { readonly type: "root" }
  | { readonly type: "member"; readonly name: string }
  /** `*` */
  | { readonly type: "all" }
  /** `..` */
  | { readonly type: "deep" }
  | { readonly type: "indexes"; readonly indexes: readonly number[] }
  | {
      readonly type: "slice";
      readonly from: number | undefined;
      readonly to: number | undefined;
      readonly step: number | undefined;
    }
  | { readonly type: "union"; readonly names: readonly string[] }
  | { readonly type: "filter"; readonly test: Test };

type Operand =
  | { readonly type: "path"; readonly steps: readonly Step[] }
  | { readonly type: "value"; readonly value: unknown };

/** `operator` undefined = the left side has to exist. */
export interface Test {
  readonly left: Operand;
  readonly operator: (typeof OPERATORS)[number] | undefined;
  readonly right: Operand;
}

const OPERATORS = ["==", "!=", "<", "<=", ">", ">="] as const;
const NAME = /^(?:[^.[\]{}()"'\s\\]|\\.)+/;
const TEST = /^\?\((.*)\)$/s;
const COMPARISON = /^(.*?)\s*(==|!=|<=|>=|<|>)\s*(.*)$/s;
const INDEXES = /^-?\d+(?:\s*,\s*-?\d+)*$/;
const SLICE = /^(-?\d*):(-?\d*)(?::(\d*))?$/;
const NAMES = /^(?:'[^']*'|"[^"]*")(?:\s*,\s*(?:'[^']*'|"[^"]*"))*$/;

export function parseSteps(written: string): Result<readonly Step[]> {
  const steps: Step[] = [];
  let rest = written.trim();
  if (rest.startsWith("$")) steps.push({ type: "root" });
  rest = rest.replace(/^[$@]/, "");
  if (/^[\w*]/.test(rest)) rest = `.${rest}`;
  while (rest !== "") {
    const taken = takeStep(rest, steps);
    if (taken === undefined) return refuse(`cannot read "${rest}" of the path "${written}"`);
    rest = rest.slice(taken);
  }
  return ok(steps);
}

/** How many characters were read; undefined = they are no step. */
function takeStep(rest: string, steps: Step[]): number | undefined {
  if (rest.startsWith("[")) return takeBrackets(rest, steps);
  const dots = rest.startsWith("..") ? 2 : rest.startsWith(".") ? 1 : 0;
  if (dots === 0) return undefined;
  if (dots === 2) steps.push({ type: "deep" });
  const after = rest.slice(dots);
  if (after.startsWith("[") || after === "") return dots;
  const [name] = NAME.exec(after) ?? [];
  if (name === undefined) return undefined;
  steps.push(
    name === "*" ? { type: "all" } : { type: "member", name: name.replaceAll(/\\(.)/g, "$1") },
  );
  return dots + name.length;
}

function takeBrackets(rest: string, steps: Step[]): number | undefined {
  const end = closing(rest);
  if (end === undefined) return undefined;
  const step = bracketStep(rest.slice(1, end).trim());
  if (step === undefined) return undefined;
  steps.push(step);
  return end + 1;
}

/** Where the bracket that `rest` begins with is closed, outside of quotes. */
function closing(rest: string): number | undefined {
  let quote = "";
  let depth = 0;
  for (let index = 0; index < rest.length; index += 1) {
    const character = rest.charAt(index);
    if (quote !== "") quote = character === quote ? "" : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === "[") depth += 1;
    else if (character === "]") depth -= 1;
    if (depth === 0 && quote === "") return index;
  }
  return undefined;
}

function bracketStep(inner: string): Step | undefined {
  if (inner === "*") return { type: "all" };
  if (INDEXES.test(inner)) return { type: "indexes", indexes: inner.split(",").map(Number) };
  if (NAMES.test(inner)) return { type: "union", names: quotedNames(inner) };
  const slice = SLICE.exec(inner);
  if (slice !== null) {
    const [from, to, step] = slice.slice(1).map((one) => (one ? Number(one) : undefined));
    return { type: "slice", from, to, step };
  }
  const test = TEST.exec(inner)?.[1];
  const parsed = test === undefined ? undefined : parseTest(test.trim());
  return parsed === undefined ? undefined : { type: "filter", test: parsed };
}

function quotedNames(inner: string): readonly string[] {
  return (inner.match(/'[^']*'|"[^"]*"/g) ?? []).map((one) => one.slice(1, -1));
}

function parseTest(written: string): Test | undefined {
  const [, first = written, operator, second] = COMPARISON.exec(written) ?? [];
  const left = operand(first);
  const right = second === undefined ? NOTHING : operand(second);
  if (left === undefined || right === undefined) return undefined;
  return { left, operator: operatorOf(operator), right };
}

const NOTHING: Operand = { type: "value", value: undefined };

function operatorOf(written: string | undefined): Test["operator"] {
  return OPERATORS.find((one) => one === written);
}

function operand(written: string): Operand | undefined {
  if (/^(?:'[^']*'|"[^"]*")$/.test(written)) return { type: "value", value: written.slice(1, -1) };
  if (/^-?\d+(?:\.\d+)?$/.test(written)) return { type: "value", value: Number(written) };
  if (written === "true" || written === "false")
    return { type: "value", value: written === "true" };
  const steps = parseSteps(written);
  return steps.ok ? { type: "path", steps: steps.value } : undefined;
}

function refuse(message: string): Result<readonly Step[]> {
  return failed([{ path: "", message, code: "Invalid" }]);
}
