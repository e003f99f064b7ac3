// The mark of an image that was prepared for many devices: `stateDir/prepared.json`.

import { isJsonObject, parseJson } from "../lib/json.ts";

export interface PreparedMark {
  /** false = it was interrupted: nothing in stateDir counts before it is finished. */
  readonly isDone: boolean;
  /** With the data of claims. */
  readonly claims: boolean;
  /** Of the machine on which the image was made: every copy has it until it is changed. */
  readonly hostname: string;
  /** The same, "" = it had none, or it was removed. */
  readonly machineId: string;
}

export const PREPARED_FILE = "prepared.json";
export const MAX_PREPARED_BYTES = 4096;

export function preparedText(mark: PreparedMark): string {
  return `${JSON.stringify(mark)}\n`;
}

/** undefined = it is damaged. */
export function readPrepared(text: string | Uint8Array): PreparedMark | undefined {
  const value = parseJson(text);
  if (!isJsonObject(value)) return undefined;
  const { isDone, claims, hostname, machineId } = value;
  if (typeof isDone !== "boolean" || typeof claims !== "boolean") return undefined;
  if (typeof hostname !== "string" || typeof machineId !== "string") return undefined;
  return { isDone, claims, hostname, machineId };
}
