// What a binary is: its version, the time of its sources, and the machine that it is for.

import { rfc3339 } from "./clock.ts";
import { withoutUndefined } from "./json.ts";

/** Set by the build: seconds since 1970 of its sources. */
declare const AGENT_BUILD_TIME: number | undefined;

/** Set by the build: the commit, such as `1a2b3c4d5e6f`, or the empty text. */
declare const AGENT_COMMIT: string | undefined;

/** Milliseconds since 1970 of its sources; undefined = build.sh has not made it. */
export const BUILT_MS: number | undefined =
  typeof AGENT_BUILD_TIME === "number" ? AGENT_BUILD_TIME * 1000 : undefined;

/** The commit of its sources, which the version of a tagged one does not name; undefined = it is not known. */
const BUILT_COMMIT: string | undefined =
  typeof AGENT_COMMIT === "string" && AGENT_COMMIT !== "" ? AGENT_COMMIT : undefined;

/** k8s: version.Info, as far as it is true here. */
export interface VersionInfo {
  /** `v0.1.0+1a2b3c` */
  readonly gitVersion: string;
  readonly gitCommit?: string;
  readonly gitTreeState?: "clean" | "dirty";
  readonly buildDate?: string;
  /** As Go calls it: `linux/arm64`. */
  readonly platform: string;
}

/** `version`: of the binary, such as `0.1.0+1a2b3c.dirty`; `arch`: as the runtime calls it; `built`: the commit that the build names. */
export function versionInfo(version: string, arch: string, built = BUILT_COMMIT): VersionInfo {
  const [, commit = built, dirty] = /\+([0-9a-f]+)(\.dirty)?$/.exec(version) ?? [];
  return {
    gitVersion: `v${version.replace(/^v/, "")}`,
    ...withoutUndefined({
      gitCommit: commit,
      gitTreeState:
        commit === undefined
          ? undefined
          : dirty === undefined
            ? ("clean" as const)
            : ("dirty" as const),
      buildDate: BUILT_MS === undefined ? undefined : rfc3339(BUILT_MS),
    }),
    platform: platformOf(arch),
  };
}

/** What the agent calls itself to HTTP servers. */
export function userAgent(version: string, arch: string): string {
  return `agent/${version} (${platformOf(arch)})`;
}

function platformOf(arch: string): string {
  return `linux/${arch === "x64" ? "amd64" : arch}`;
}
