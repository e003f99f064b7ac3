// How a command in a container has ended, from the Status that the runtime reports. k8s: remotecommand v4

import { isJsonObject, memberOf, parseJson } from "../../lib/json.ts";

export type CommandEnd =
  | { readonly type: "Exited"; readonly code: number }
  /** It did not start, or how it ended is unknown. */
  | { readonly type: "Failed"; readonly message: string };

/** `status`: JSON; "" = the connection ended before. */
export function commandEnd(status: string): CommandEnd {
  const value = parseJson(status);
  if (!isJsonObject(value))
    return { type: "Failed", message: status === "" ? LOST : `the runtime reported ${status}` };
  if (value["status"] === "Success") return { type: "Exited", code: 0 };
  const code = exitCodeIn(memberOf(value["details"], "causes"));
  if (value["reason"] === "NonZeroExitCode" && code !== undefined) return { type: "Exited", code };
  const { message } = value;
  return { type: "Failed", message: typeof message === "string" ? message : "it failed" };
}

const LOST = "the connection ended before the command did";

function exitCodeIn(causes: unknown): number | undefined {
  if (!Array.isArray(causes)) return undefined;
  const cause: unknown = causes.find((one) => memberOf(one, "reason") === "ExitCode");
  const text = memberOf(cause, "message");
  return typeof text === "string" && /^\d{1,3}$/.test(text) ? Number(text) : undefined;
}
