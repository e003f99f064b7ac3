// Performs: what an update of the agent needs of the outside: the versions on the disk, downloads, and the test of a new
// version by itself.

import { dirname } from "node:path";
import type { SelfUpdateEdge } from "../edges.ts";
import { fileDownloads } from "../host/http/download-file.ts";
import { configWords } from "../host/process/own-program.ts";
import { runPrograms } from "../host/run-program.ts";
import { versionsOf } from "../host/versions/version-directory.ts";
import type { DownloadOptions } from "../host/http/download-edge.ts";
import type { Clock } from "../lib/clock.ts";
import type { CountWritten } from "../lib/files/write-classes.ts";
import { AgentError, messageOf } from "../lib/errors.ts";
import { memberOf, parseJson } from "../lib/json.ts";
import { shortText } from "../lib/short-text.ts";

/** The hidden verb, which `self-test.ts` answers. */
const VERB = "self-test";
/** A slow card reads the whole binary. */
const TIMEOUT_MS = 180_000;
const ANSWER_BYTES = 64 * 1024;
const SHOWN = 500;

/** Empty = the launcher has not started this process. */
export function selfUpdateEdge(
  options: DownloadOptions,
  count: CountWritten,
): { readonly selfUpdate?: SelfUpdateEdge } {
  const versions = versionsOf(process.env);
  if (versions === undefined) return {};
  const download = fileDownloads(options);
  const downloadFile: SelfUpdateEdge["downloadFile"] = (request, signal) => {
    let last: number | undefined;
    const onBytes = (bytes: number): void => {
      if (last !== undefined && bytes > last) count("updates", bytes - last);
      last = bytes;
      request.onBytes(bytes);
    };
    return download({ ...request, onBytes }, signal);
  };
  return { selfUpdate: { versions, downloadFile, selfTest: selfTests(options.clock) } };
}

function selfTests(clock: Clock): SelfUpdateEdge["selfTest"] {
  const runProgram = runPrograms(clock);
  return async (path, directory, signal) => {
    const config = configWords();
    const { PATH = "", AGENT_CONFIG } = process.env;
    const call = {
      path,
      args: [VERB, ...config],
      env: { PATH, ...(AGENT_CONFIG === undefined ? {} : { AGENT_CONFIG }) },
      stdin: directory,
      timeoutMs: TIMEOUT_MS,
      maxBytes: ANSWER_BYTES,
    };
    try {
      const { stdout, exitCode } = await runProgram(call, signal);
      const answer = parseJson(stdout);
      const version = memberOf(answer, "version");
      if (exitCode === 0 && typeof version === "string") return version;
      const why = memberOf(answer, "error");
      throw new Error(typeof why === "string" ? why : `it ended with code ${exitCode}`);
    } catch (cause) {
      signal.throwIfAborted();
      const why = shortText(messageOf(cause), SHOWN);
      if (why.includes("EACCES")) throw notExecutable(path, cause);
      const message = `the new version does not pass its self-test: ${why}`;
      throw new AgentError({ reason: "SelfTestFailed", message, cause });
    }
  };
}

/** Not the fault of the binary. */
function notExecutable(path: string, cause: unknown): AgentError {
  const message = `the new version cannot be executed in ${dirname(path)}: mount the state directory without noexec`;
  return new AgentError({ reason: "NotExecutable", message, cause });
}
