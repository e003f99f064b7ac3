// A refusal as one line.

import { isWarning, type Rejection } from "../../api/pod/desired-pod.ts";
import { errorLine } from "../terminal-text.ts";

/** `file:line: field: message`; of what is no mistake `file:line: warning: field: message`. */
export function refusalLine({ ref, line, code, path, message }: Rejection): string {
  return errorLine({ file: ref, line, path, message }, isWarning({ code }) ? "warning: " : "");
}
