// Performs: where a path of the host really is, every link followed: also one that is not there yet.

import type { Files } from "../host/files.ts";

/** What is missing is named in the nearest directory that is there. undefined = a link to nothing is in the way. */
export function realPlace(
  files: Pick<Files, "info" | "realPath">,
  path: string,
): string | undefined {
  const missing: string[] = [];
  const steps = path.split("/").filter((step) => step !== "" && step !== ".");
  for (; steps.length > 0; missing.unshift(steps.pop() ?? "")) {
    const part = `/${steps.join("/")}`;
    const real = files.realPath(part);
    if (real !== undefined) return below(real, missing);
    // A name that is there, and leads nowhere, could lead anywhere by the time it is mounted.
    if (files.info(part) !== undefined) return undefined;
  }
  return below("/", missing);
}

/** Nothing that is missing may be left again by two dots: it could be a link by then. */
function below(real: string, missing: readonly string[]): string | undefined {
  if (missing.includes("..")) return undefined;
  return [real === "/" ? "" : real, ...missing].join("/") || "/";
}
