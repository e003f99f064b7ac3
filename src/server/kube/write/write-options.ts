// The query and the body of a request that changes something. k8s: CreateOptions, UpdateOptions, PatchOptions, DeleteOptions

import { isJsonObject, memberOf, type JsonObject } from "../../../lib/json.ts";
import { failed, ok, type Result } from "../../../lib/result.ts";

export type FieldValidation = "Ignore" | "Warn" | "Strict";

export interface WriteOptions {
  /** Nothing is written. */
  readonly isDryRun: boolean;
  /** What becomes of fields that no object of this kind has. */
  readonly fieldValidation: FieldValidation;
  /** The query's, else the first word of the client's User-Agent. */
  readonly fieldManager: string;
  /** Whether the query names the manager. */
  readonly isManagerNamed: boolean;
  /** Of an apply: takes the object from another manager. */
  readonly force: boolean;
}

export interface DeleteOptions {
  readonly isDryRun: boolean;
  /** undefined = the pod's own. */
  readonly gracePeriodSeconds: number | undefined;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

const VALIDATIONS: readonly FieldValidation[] = ["Ignore", "Warn", "Strict"];
/** k8s: FieldManagerMaxLength */
const MAX_MANAGER = 128;

function refuse<T>(path: string, message: string): Result<T> {
  return failed([{ path, message, code: "Invalid" }]);
}

export function readWriteOptions(
  query: URLSearchParams,
  userAgent: string | undefined,
): Result<WriteOptions> {
  const isDryRun = dryRunOf(query.getAll("dryRun"));
  if (isDryRun === undefined) return refuse("dryRun", DRY_RUN);
  const asked = query.get("fieldValidation") ?? "";
  const validation = asked === "" ? "Warn" : VALIDATIONS.find((one) => one === asked);
  if (validation === undefined)
    return refuse("fieldValidation", `must be one of ${VALIDATIONS.join(", ")}`);
  const manager = query.get("fieldManager") ?? "";
  if (manager.length > MAX_MANAGER)
    return refuse("fieldManager", `must be no more than ${MAX_MANAGER} characters`);
  if (!/^[\x20-\x7E]*$/.test(manager))
    return refuse("fieldManager", "must be printable ASCII characters");
  return ok({
    isDryRun,
    fieldValidation: validation,
    fieldManager: manager === "" ? agentOf(userAgent) : manager,
    isManagerNamed: manager !== "",
    force: isTrue(query.get("force")),
  });
}

const DRY_RUN = "must be All, or not given";

/** undefined = neither none nor all. */
function dryRunOf(values: readonly unknown[]): boolean | undefined {
  const given = values.filter((one) => one !== "");
  if (given.some((one) => one !== "All")) return undefined;
  return given.length > 0;
}

function isTrue(value: string | null): boolean {
  return value === "true" || value === "1";
}

/** k8s: prefixFromUserAgent */
function agentOf(userAgent = ""): string {
  const [word = ""] = userAgent.split("/");
  return word.replaceAll(/[^\x20-\x7E]/g, "").slice(0, MAX_MANAGER) || "unknown";
}

/** `body`: a DeleteOptions object; an empty one if there is none. The query counts first. */
export function readDeleteOptions(query: URLSearchParams, body: JsonObject): Result<DeleteOptions> {
  const inBody = body["dryRun"];
  const written = Array.isArray(inBody) ? (inBody as readonly unknown[]) : [];
  const isDryRun = dryRunOf(query.has("dryRun") ? query.getAll("dryRun") : written);
  if (isDryRun === undefined) return refuse("dryRun", DRY_RUN);
  const seconds = query.get("gracePeriodSeconds") ?? body["gracePeriodSeconds"] ?? undefined;
  const grace = seconds === undefined ? undefined : secondsOf(seconds);
  if (Number.isNaN(grace))
    return refuse(
      "gracePeriodSeconds",
      `must be a whole number of seconds, 0 or more, not ${JSON.stringify(seconds)}`,
    );
  const preconditions = isJsonObject(body["preconditions"]) ? body["preconditions"] : {};
  return ok({
    isDryRun,
    gracePeriodSeconds: grace,
    uid: textOf(memberOf(preconditions, "uid")),
    resourceVersion: textOf(memberOf(preconditions, "resourceVersion")),
  });
}

/** NaN = none. */
function secondsOf(value: unknown): number {
  if (typeof value === "string" && !/^\d{1,16}$/.test(value)) return Number.NaN;
  const seconds = Number(value);
  return Number.isSafeInteger(seconds) && seconds >= 0 ? seconds : Number.NaN;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
