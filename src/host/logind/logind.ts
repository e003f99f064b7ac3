// Performs: systemd-logind: a lock that delays the machine's shutdown, and the announcement of one. systemd's own programs
// hold the lock and read the bus: the lock is a file descriptor that comes over a socket, which Bun cannot receive.

import { aborted, deadline, type Clock } from "../../lib/clock.ts";
import { AgentError, errorCode, messageOf } from "../../lib/errors.ts";
import { memberOf, parseJson } from "../../lib/json.ts";
import { killGroup, type RunProgram } from "../run-program.ts";
import { TextLines } from "./text-lines.ts";

/** As long as it is held and not disposed of, logind delays a shutdown, up to its own limit. */
export interface ShutdownLock extends Disposable {
  /** The next announcement. true: the machine is about to go off; false: it is not any more; undefined: the lock is lost. */
  next(): Promise<boolean | undefined>;
}

export interface Logind {
  /** Where files beside its own configuration lie. */
  readonly confDir: string;
  /**
   * Resolves when the lock is granted, which logind refuses while it shuts down. Rejects with AgentError `NoProgram` without
   * systemd, else `NoLock`.
   */
  lock(signal: AbortSignal): Promise<ShutdownLock>;
  /** How long logind waits for locks, in ms. Rejects with AgentError. */
  maxDelayMs(signal: AbortSignal): Promise<number>;
  /** Makes logind read its configuration again. Rejects with AgentError. */
  reload(signal: AbortSignal): Promise<void>;
}

const INHIBIT = "systemd-inhibit";
const BUS = "busctl";
const NAME = "org.freedesktop.login1";
const PATH = "/org/freedesktop/login1";
const MANAGER = `${NAME}.Manager`;
const SIGNAL = "PrepareForShutdown";
const GRANTED = "granted";
const MATCH = `type=signal,sender=${NAME},interface=${MANAGER},member=${SIGNAL}`;
/**
 * All that it starts ends with its standard input, so also when the agent is killed, and with busctl, which says a line when
 * it listens.
 */
const SCRIPT = `echo ${GRANTED}; { ${BUS} --json=short --match='${MATCH}' monitor 2>&1; kill 0; } & read -r end; kill 0`;
const CONF_DIR = "/etc/systemd/logind.conf.d";
const HANGUP = "1";
const LIMIT_MS = 10_000;
/** busctl listens after some milliseconds. */
const LISTENS_MS = 2_000;
const MAX_BYTES = 64 * 1024;

export function systemdLogind({
  clock,
  runProgram,
}: {
  readonly clock: Clock;
  readonly runProgram: RunProgram;
}): Logind {
  const call = async (args: readonly string[], signal: AbortSignal): Promise<unknown> => {
    const limits = { timeoutMs: LIMIT_MS, maxBytes: MAX_BYTES };
    const program = { path: BUS, args: ["--json=short", ...args], env: environment(), stdin: "" };
    const { exitCode, stdout } = await runProgram({ ...program, ...limits }, signal);
    if (exitCode === 0) return parseJson(stdout);
    throw noLock(`${BUS} ${args[0]} has failed with exit code ${exitCode}`);
  };
  const property = async (name: string, signal: AbortSignal): Promise<unknown> =>
    memberOf(await call(["get-property", NAME, PATH, MANAGER, name], signal), "data");
  return {
    confDir: CONF_DIR,
    async lock(signal) {
      const lock = await takeLock(clock, signal);
      try {
        // What was announced before busctl listened is a property now.
        const isAnnounced = (await property("PreparingForShutdown", signal)) === true;
        return isAnnounced ? announcedLock(lock) : lock;
      } catch (error) {
        lock[Symbol.dispose]();
        throw error;
      }
    },
    async maxDelayMs(signal) {
      const microseconds = await property("InhibitDelayMaxUSec", signal);
      if (typeof microseconds === "number") return microseconds / 1000;
      throw noLock("systemd-logind does not say how long it waits");
    },
    async reload(signal) {
      const systemd = ["org.freedesktop.systemd1", "/org/freedesktop/systemd1"];
      const unit = ["KillUnit", "ssi", "systemd-logind.service", "all", HANGUP];
      await call(["call", ...systemd, "org.freedesktop.systemd1.Manager", ...unit], signal);
    },
  };
}

async function takeLock(clock: Clock, signal: AbortSignal): Promise<ShutdownLock> {
  const child = start();
  const end = (): void => {
    void child.stdin.end();
  };
  const lines = new TextLines(child.stdout, MAX_BYTES);
  using limit = deadline(clock, LIMIT_MS, signal);
  const first = await Promise.race([lines.next(), aborted(limit.signal)]);
  if (first === GRANTED) {
    await Promise.race([lines.peek(), clock.sleep(LISTENS_MS, signal)]);
    return { next: () => nextAnnouncement(lines), [Symbol.dispose]: end };
  }
  end();
  killGroup(child.pid);
  signal.throwIfAborted();
  const why = limit.signal.aborted ? `no answer within ${LIMIT_MS / 1000} s` : await said(child);
  throw noLock(`systemd-logind grants no lock: ${why}`);
}

async function nextAnnouncement(lines: TextLines): Promise<boolean | undefined> {
  for (;;) {
    const line = await lines.next();
    if (line === undefined) return undefined;
    const announced = announcement(line);
    if (announced !== undefined) return announced;
  }
}

function announcedLock(lock: ShutdownLock): ShutdownLock {
  let isFirst = true;
  return {
    next: () => {
      const known = isFirst;
      isFirst = false;
      return known ? Promise.resolve(true) : lock.next();
    },
    [Symbol.dispose]: () => lock[Symbol.dispose](),
  };
}

function start() {
  const options = ["--what=shutdown", "--mode=delay", "--who=agent"];
  const why = "--why=pods are stopped in order before the machine goes off";
  try {
    return Bun.spawn([INHIBIT, ...options, why, "sh", "-c", SCRIPT], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
      env: environment(),
      cwd: "/",
      // A process group of its own, which ends as a whole.
      detached: true,
    });
  } catch (cause) {
    const isMissing = errorCode(cause) === "ENOENT";
    const message = `cannot run ${INHIBIT}: ${isMissing ? "there is no such program" : messageOf(cause)}`;
    throw new AgentError({ reason: isMissing ? "NoProgram" : "NoLock", message, cause });
  }
}

/** Its last words, after it has ended. */
async function said(child: ReturnType<typeof start>): Promise<string> {
  const text = await new Response(child.stderr).text();
  return text.slice(0, MAX_BYTES).trim().split("\n").at(-1) ?? "";
}

/** undefined = another line than an announcement. */
function announcement(line: string): boolean | undefined {
  const message = parseJson(line);
  if (memberOf(message, "member") !== SIGNAL) return undefined;
  const data = memberOf(memberOf(message, "payload"), "data");
  const [goesOff] = Array.isArray(data) ? (data as readonly unknown[]) : [];
  return typeof goesOff === "boolean" ? goesOff : undefined;
}

/** `DBUS_SYSTEM_BUS_ADDRESS` only where it is set. */
function environment(): Readonly<Record<string, string>> {
  const { PATH: path = "/usr/sbin:/usr/bin:/sbin:/bin", DBUS_SYSTEM_BUS_ADDRESS: bus } =
    process.env;
  const text = { PATH: path, LC_ALL: "C.UTF-8" };
  return bus === undefined ? text : { ...text, DBUS_SYSTEM_BUS_ADDRESS: bus };
}

function noLock(message: string): AgentError {
  return new AgentError({ reason: "NoLock", message });
}
