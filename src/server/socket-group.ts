// Performs: finds the number of a group of this machine.

import type { Files } from "../host/files.ts";

const GROUPS = "/etc/group";
const MAX_BYTES = 4 * 1024 * 1024;

/** Of a name or a number. Throws if no group of /etc/group has the name. */
export function groupNumber(files: Pick<Files, "readFollowing">, group: string): number {
  if (/^\d+$/.test(group)) return Number(group);
  const lines = new TextDecoder().decode(files.readFollowing(GROUPS, MAX_BYTES)).split("\n");
  const fields = lines.map((line) => line.split(":")).find(([name]) => name === group);
  const number = Number(fields?.[2] ?? Number.NaN);
  if (Number.isSafeInteger(number) && fields?.[2] !== "") return number;
  throw new Error(
    `${GROUPS} has no group ${group}: make it with "groupadd ${group}", or give its number`,
  );
}
