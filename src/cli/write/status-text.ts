// A refusal and the warnings of the Kubernetes API in kubectl's words. kubectl: CheckErr

import { isJsonObject, memberOf, parseJson, type JsonObject } from "../../lib/json.ts";
import { CliError } from "../exit-codes.ts";
import { printableText } from "../terminal-text.ts";

/** `status`: the body of an answer that is a failure. */
export function statusText(status: JsonObject): string {
  const message = textOf(status["message"]) || "unknown error";
  const reason = textOf(status["reason"]) || "Unknown";
  const details = status["details"];
  if (reason === "Invalid") return invalidText(details, message);
  return `Error from server (${reason}): ${printableText(message)}\n`;
}

function invalidText(details: unknown, message: string): string {
  const causes = memberOf(details, "causes");
  const lines = (Array.isArray(causes) ? (causes as readonly unknown[]) : []).map((cause) => {
    const field = textOf(memberOf(cause, "field"));
    const text = textOf(memberOf(cause, "message"));
    return field === "" ? text : `${field}: ${text}`;
  });
  const [kind, name] = [textOf(memberOf(details, "kind")), textOf(memberOf(details, "name"))];
  const [only] = lines;
  if (kind === "" || only === undefined)
    return `Error from server (Invalid): ${printableText(message)}\n`;
  const head = `The ${kind} ${JSON.stringify(name)} is invalid: `;
  const rest = lines.length === 1 ? only : `\n${lines.map((line) => `* ${line}`).join("\n")}`;
  return `${printableText(head + rest)}\n`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function isFailure({ status }: { readonly status: number }): boolean {
  return status >= 400;
}

/** `metadata.uid` of an object, or `details.uid` of the Status of its deletion; "" = there is none. */
export function uidOf(body: JsonObject): string {
  const own = memberOf(body["metadata"], "uid") ?? memberOf(body["details"], "uid");
  return typeof own === "string" ? own : "";
}

export function metadataOf(body: JsonObject): JsonObject {
  return isJsonObject(body["metadata"]) ? body["metadata"] : {};
}

/** Of a `Warning` header: `299 - "text"`, several with commas between them. */
export function warningsOf(header: string): readonly string[] {
  const quoted = header.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g);
  return [...quoted].map(([, text = ""]) => text.replaceAll(/\\(.)/g, "$1"));
}

/** What the agent answered instead of an object. */
export class StatusError extends CliError {
  /** `NotFound`, `Conflict`, …; "" = the answer has none. */
  readonly reason: string;

  constructor(message: string, reason: string) {
    super(message);
    this.reason = reason;
  }
}

/** Of a metav1.Status; undefined = it is none. */
export function statusError(text: string): StatusError | undefined {
  const status = parseJson(text);
  if (!isJsonObject(status)) return undefined;
  const { kind, message, reason } = status;
  if (kind !== "Status" || typeof message !== "string") return undefined;
  return new StatusError(message, typeof reason === "string" ? reason : "");
}
