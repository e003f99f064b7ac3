// Words a notice about a provisioning directory for a person at a terminal.

import type { Notice } from "../../provision/report.ts";
import { printable } from "../terminal-text.ts";

export function noticeText({ level, message, remedy }: Notice): string {
  const label = { info: "", warn: "Warning: ", error: "Error: " }[level];
  return `${label}${printable(message)}${remedy === undefined ? "" : `; ${printable(remedy)}`}\n`;
}
