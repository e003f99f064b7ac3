// What a request for a log asks for. k8s: v1.PodLogOptions

import { failed, ok, type Result } from "../../lib/result.ts";

export interface LogOptions {
  /** undefined = the only one, or the default one of the pod. */
  readonly container: string | undefined;
  readonly isFollowing: boolean;
  /** Of the instance before the newest. */
  readonly isPrevious: boolean;
  readonly withTimestamps: boolean;
  /** Wall-clock ms; undefined = from the beginning. */
  readonly since: number | undefined;
  /** undefined = all lines. */
  readonly tailLines: number | undefined;
  /** undefined = all bytes. */
  readonly limitBytes: number | undefined;
  /** undefined = both. */
  readonly stream: "stdout" | "stderr" | undefined;
}

/** `now`: wall-clock ms. */
export function readLogOptions(query: URLSearchParams, now: number): Result<LogOptions> {
  const wrong: string[] = [];
  const count = (name: string, least: number): number | undefined => {
    const value = query.get(name);
    if (value === null || value === "") return undefined;
    const number = /^\d{1,15}$/.test(value) ? Number(value) : -1;
    if (number >= least) return number;
    wrong.push(`${name} must be a whole number, ${least} or more, not ${JSON.stringify(value)}`);
    return undefined;
  };
  const flag = (name: string): boolean => ["true", "1"].includes(query.get(name) ?? "");
  const sinceSeconds = count("sinceSeconds", 1);
  const sinceTime = timeOf(query.get("sinceTime"));
  if (sinceTime === "Invalid") wrong.push("sinceTime must be a time such as 2026-11-21T08:00:00Z");
  if (sinceSeconds !== undefined && sinceTime !== undefined)
    wrong.push("only one of sinceTime and sinceSeconds may be given");
  const stream = streamOf(query.get("stream"));
  if (stream === "Invalid") wrong.push("stream must be All, Stdout or Stderr");
  const options = {
    container: query.get("container") ?? undefined,
    isFollowing: flag("follow"),
    isPrevious: flag("previous"),
    withTimestamps: flag("timestamps"),
    since: sinceSeconds === undefined ? numberOf(sinceTime) : now - sinceSeconds * 1000,
    tailLines: count("tailLines", 0),
    limitBytes: count("limitBytes", 1),
    stream: stream === "Invalid" ? undefined : stream,
  };
  if (wrong.length === 0) return ok(options);
  return failed(wrong.map((message) => ({ path: "", message, code: "Invalid" })));
}

function timeOf(written: string | null): number | "Invalid" | undefined {
  if (written === null || written === "") return undefined;
  const time = Date.parse(written);
  return Number.isNaN(time) ? "Invalid" : time;
}

function numberOf(time: number | "Invalid" | undefined): number | undefined {
  return typeof time === "number" ? time : undefined;
}

function streamOf(written: string | null): LogOptions["stream"] | "Invalid" {
  switch (written) {
    case null:
    case "":
    case "All":
      return undefined;
    case "Stdout":
      return "stdout";
    case "Stderr":
      return "stderr";
  }
  return "Invalid";
}
