// Where the agent keeps what belongs to one pod on the host: `<stateDir>/pods/<uid>`.

import type { PodUID } from "../v1/pod.ts";
import { AgentError } from "../../lib/errors.ts";

/** Only root may enter. */
export const POD_DIRECTORY_MODE = 0o750;

export function podsDirectory(stateDir: string): string {
  return `${stateDir.replace(/\/+$/, "")}/pods`;
}

/** Everything of one pod. Throws AgentError `InvalidUID` for a text that could lead to another directory. */
export function podDirectory(stateDir: string, uid: PodUID): string {
  return `${podsDirectory(stateDir)}/${safeName(uid, "pod UID")}`;
}

/** `<stateDir>/pods/<uid>/etc-hosts`. Throws AgentError `InvalidUID`. */
export function etcHostsPath(stateDir: string, uid: PodUID): string {
  return `${podDirectory(stateDir, uid)}/etc-hosts`;
}

/**
 * Host path of one instance's termination message: `<stateDir>/pods/<uid>/containers/<name>/<attempt>`.
 * Throws AgentError `InvalidUID` for names that could escape that directory.
 */
export function terminationLogPath(
  stateDir: string,
  instance: { readonly uid: PodUID; readonly container: string; readonly attempt: number },
): string {
  const { uid, container, attempt } = instance;
  const directory = podDirectory(stateDir, uid);
  return `${directory}/containers/${safeName(container, "container name")}/${attempt}`;
}

/** The agent's UIDs are UUIDs; a forged label must not lead to another path. */
export function isPodUID(text: string): boolean {
  return /^[0-9A-Za-z][0-9A-Za-z-]{0,127}$/.test(text);
}

function safeName(name: string, what: string): string {
  if (isPodUID(name)) return name;
  const message = `"${name}" is not a ${what}: only letters, digits and dashes are allowed`;
  throw new AgentError({ reason: "InvalidUID", message });
}
