// What stateDir keeps of a take-over: the mark of what was taken, and the plan of one that is under way.

import { isJsonObject, parseJson, type JsonObject } from "../lib/json.ts";

/** `provisioned.json` */
export interface Mark {
  readonly directory: string;
  /** What was taken, by its name in the directory. */
  readonly files: ReadonlyMap<string, TakenMark>;
  /** Sizes of image archives; the bytes stay where they are. */
  readonly archives: ReadonlyMap<string, number>;
  /** Names of what was refused: once corrected, they are taken. */
  readonly refused: ReadonlySet<string>;
}

export interface TakenMark {
  readonly sha256: string;
  readonly target: string;
}

/** A file of a take-over that is under way; its bytes lie in the staging directory. */
export interface StagedFile extends TakenMark {
  readonly name: string;
  readonly mode: number;
  readonly isSecret: boolean;
}

/** `provisioning/plan.json`: everything that it needs is on the node's own disk. */
export interface TakePlan {
  /** The configuration first. */
  readonly files: readonly StagedFile[];
  readonly mark: Mark;
}

export const MARK_FILE = "provisioned.json";
export const STAGING = "provisioning";
export const PLAN_FILE = "plan.json";

export const NO_MARK: Mark = {
  directory: "",
  files: new Map(),
  archives: new Map(),
  refused: new Set(),
};

export function markText(mark: Mark): string {
  return `${JSON.stringify(plainMark(mark), undefined, 2)}\n`;
}

function plainMark({ directory, files, archives, refused }: Mark): JsonObject {
  return {
    directory,
    files: Object.fromEntries(files),
    archives: Object.fromEntries(archives),
    refused: [...refused],
  };
}

export function planText({ files, mark }: TakePlan): string {
  return `${JSON.stringify({ files, mark: plainMark(mark) })}\n`;
}

/** undefined = it is damaged. */
export function readMark(text: string | Uint8Array): Mark | undefined {
  return markOf(parseJson(text));
}

export function readPlan(text: string | Uint8Array): TakePlan | undefined {
  const value = parseJson(text);
  if (!isJsonObject(value) || !Array.isArray(value["files"])) return undefined;
  const mark = markOf(value["mark"]);
  const files = value["files"].map((one: unknown) => stagedOf(one));
  const whole = files.filter((one) => one !== undefined);
  return mark === undefined || whole.length < files.length ? undefined : { files: whole, mark };
}

function markOf(value: unknown): Mark | undefined {
  if (!isJsonObject(value)) return undefined;
  const { directory, files, archives, refused } = value;
  if (typeof directory !== "string" || !Array.isArray(refused)) return undefined;
  if (!isJsonObject(files) || !isJsonObject(archives)) return undefined;
  const taken = Object.entries(files).map(([name, one]) => [name, takenOf(one)] as const);
  const whole = taken.flatMap(([name, one]) => (one === undefined ? [] : [[name, one] as const]));
  const sizes = Object.entries(archives).flatMap(([name, size]) =>
    typeof size === "number" ? [[name, size] as const] : [],
  );
  if (whole.length < taken.length) return undefined;
  return {
    directory,
    files: new Map(whole),
    archives: new Map(sizes),
    refused: new Set(refused.filter((name) => typeof name === "string")),
  };
}

function takenOf(value: unknown): TakenMark | undefined {
  if (!isJsonObject(value)) return undefined;
  const { sha256, target } = value;
  return typeof sha256 === "string" && typeof target === "string" ? { sha256, target } : undefined;
}

function stagedOf(value: unknown): StagedFile | undefined {
  const taken = takenOf(value);
  if (taken === undefined || !isJsonObject(value)) return undefined;
  const { name, mode, isSecret } = value;
  return typeof name === "string" && typeof mode === "number" && typeof isSecret === "boolean"
    ? { ...taken, name, mode, isSecret }
    : undefined;
}
