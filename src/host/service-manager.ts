// Performs: tells the service manager how the agent is, by the protocol of sd_notify(3): systemd, and others that have taken
// it over. A process that no manager started tells nothing.

import { sendDatagram } from "./libc.ts";

export interface ServiceManager {
  /** Longest time without `alive()` before the manager ends the process, in ms; undefined = it does not watch. */
  readonly watchdogMs: number | undefined;
  /** Local facts are reconciled: what waits for this unit goes on. */
  ready(): void;
  /** One line for people, such as `systemctl status` shows. */
  status(text: string): void;
  /** The agent ends on request. */
  stopping(): void;
  /** The loops turn. */
  alive(): void;
}

export const MANAGER_VARIABLES = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] as const;

/** `sun_path` of the kernel, with its end. */
const LONGEST_PATH = 107;

/** By NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID of the environment; undefined = no manager listens. */
export function serviceManager(
  environment: Readonly<Record<string, string | undefined>>,
  pid: number = process.pid,
): ServiceManager | undefined {
  const { NOTIFY_SOCKET: socket = "", WATCHDOG_USEC: usec, WATCHDOG_PID: watched } = environment;
  if (!/^[/@]/.test(socket) || Buffer.byteLength(socket) > LONGEST_PATH) return undefined;
  // A manager that is busy misses a message; the next one follows.
  const tell = (text: string): void => void sendDatagram(socket, text);
  const isWatched = usec !== undefined && (watched === undefined || watched === String(pid));
  const watchdogMs = isWatched && Number(usec) > 0 ? Number(usec) / 1000 : undefined;
  return {
    watchdogMs,
    ready: () => tell("READY=1"),
    status: (text) => tell(`STATUS=${text.replaceAll(/\s+/g, " ")}`),
    stopping: () => tell("STOPPING=1"),
    alive: () => tell("WATCHDOG=1"),
  };
}
