// Performs: reads the termination message of a dead container. Its content is untrusted.

import { ANNOTATION } from "../../api/pod/labels.ts";
import type { ContainerStatus } from "../../cri/gen/runtime/v1/api_pb.ts";
import type { Files } from "../../host/files.ts";
import { messageOf } from "../../lib/errors.ts";
import {
  absolutePath,
  fallsBackToLogs,
  fileMessage,
  LOG_TAIL_BYTES,
  logMessage,
  MESSAGE_BYTES,
  type Ending,
} from "./termination-message.ts";

export type TerminationFiles = Pick<Files, "info" | "tail">;

/** "" = none. A read error becomes the message, worded as the kubelet's. Never throws. */
export function readTerminationMessage(files: TerminationFiles, status: ContainerStatus): string {
  const { exitCode, reason, annotations } = status;
  const policy = annotations[ANNOTATION.terminationMessagePolicy];
  const path = hostPath(status);
  let file: Uint8Array | undefined;
  try {
    file = path === undefined ? undefined : tailOf(files, path, MESSAGE_BYTES);
  } catch (error) {
    return `Error on reading termination log ${path ?? ""}: ${messageOf(error)}`;
  }
  const ending: Ending = {
    policy: policy === "FallbackToLogsOnError" ? policy : "File",
    exitCode,
    reason,
    file,
  };
  if (!fallsBackToLogs(ending)) return fileMessage(file ?? new Uint8Array());
  return lastLines(files, status.logPath);
}

function lastLines(files: TerminationFiles, logPath: string): string {
  try {
    const tail = logPath === "" ? undefined : tailOf(files, logPath, LOG_TAIL_BYTES);
    return logMessage(tail ?? new Uint8Array());
  } catch (error) {
    return `Error on reading termination message from logs: ${messageOf(error)}`;
  }
}

/** The last mount at that path covers earlier ones, and is the one added by this agent. */
function hostPath({ annotations, mounts }: ContainerStatus): string | undefined {
  const path = annotations[ANNOTATION.terminationMessagePath] ?? "";
  if (path === "") return undefined;
  return mounts.findLast(({ containerPath }) => containerPath === absolutePath(path))?.hostPath;
}

function tailOf(files: TerminationFiles, path: string, maxBytes: number): Uint8Array | undefined {
  return files.info(path) === undefined ? undefined : files.tail(path, maxBytes);
}
