// Performs: the versions of the agent on the disk: each change is on the disk before the next one begins, so that a power cut
// leaves a state that the launcher understands.

import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AgentError, errorCode, messageOf } from "../../lib/errors.ts";
import { grouped } from "../../lib/short-text.ts";
import { syncPath, writeAtomic } from "../../lib/files/system-durable-file.ts";
import {
  isVersionName,
  readFailures,
  readTrial,
  writeFailures,
  writeTrial,
} from "./version-records.ts";
import type { Failure, Launch, NewVersion, Trial, Versions } from "./versions.ts";

const VERSIONS = "versions";
const CURRENT = "current";
const PREVIOUS = "previous";
const TRIAL = "trial";
const STARTS = "starts";
const FAILED = "failed";
const INCOMING = "incoming";
const SCRATCH = "scratch";
/** As `previous`: the installed binary. */
const INSTALLED = "installed";
const RECORD_BYTES = 64 * 1024;
const PART_BYTES = 1024 * 1024;
const RECORD_MODE = 0o644;
const BINARY_MODE = 0o755;
const PRIVATE = 0o700;
const SECONDS = 1000;

/** undefined = the launcher has not started this process: then there is no way back from another version. */
export function versionsOf(
  environment: Readonly<Record<string, string | undefined>>,
): Versions | undefined {
  const {
    AGENT_LAUNCH_DIR: place = "",
    AGENT_LAUNCH_INSTALLED: installed = "",
    AGENT_LAUNCH_TRIAL: trial = "",
    AGENT_LAUNCH_UNTIL: until = "",
  } = environment;
  if (place === "" || installed === "") return undefined;
  return new VersionDirectory(place, {
    installed,
    ...(trial === "" ? {} : { trial }),
    ...(/^\d+$/.test(until) ? { until: Number(until) * SECONDS } : {}),
  });
}

class VersionDirectory implements Versions {
  readonly launch: Launch;
  readonly #place: string;

  constructor(place: string, launch: Launch) {
    this.#place = place;
    this.launch = launch;
  }

  trial(): Trial | undefined {
    const text = this.#read(TRIAL);
    return text === undefined ? undefined : readTrial(text);
  }

  current(): string | undefined {
    return this.#link(CURRENT);
  }

  previous(): string | undefined {
    return this.#link(PREVIOUS);
  }

  hasPrevious(): boolean {
    return readLink(this.#path(PREVIOUS)) !== undefined;
  }

  failures(): readonly Failure[] {
    return readFailures(this.#read(FAILED) ?? "");
  }

  incoming(key: string): string {
    return this.#try("make room for a new version in", () => {
      const directory = this.#path(INCOMING);
      mkdirSync(directory, { recursive: true, mode: PRIVATE });
      // One at a time: what another update has begun is given up.
      for (const name of readdirSync(directory))
        if (name !== key) rmSync(join(directory, name), { recursive: true, force: true });
      return join(directory, key);
    });
  }

  scratch(): string {
    return this.#try("make a directory in", () => {
      this.removeScratch();
      mkdirSync(this.#path(SCRATCH), { recursive: true, mode: PRIVATE });
      return this.#path(SCRATCH);
    });
  }

  removeScratch(): void {
    rmSync(this.#path(SCRATCH), { recursive: true, force: true });
  }

  add({ name, path }: NewVersion): void {
    this.#try("add a version to", () => {
      this.#tidy(name);
      const directory = this.#path(join(VERSIONS, name));
      mkdirSync(directory, { recursive: true, mode: BINARY_MODE });
      const beside = this.#identityOfInstalled();
      if (beside !== undefined) writeAtomic(join(directory, "beside"), `${beside}\n`, RECORD_MODE);
      chmodSync(path, BINARY_MODE);
      syncPath(path);
      renameSync(path, join(directory, "agent"));
      syncPath(directory);
      syncPath(dirname(directory));
      syncPath(this.#place);
    });
  }

  begin(trial: Trial): void {
    this.#try("begin the trial in", () => {
      // Before the trial: its starts are counted from zero.
      rmSync(this.#path(STARTS), { force: true });
      writeAtomic(this.#path(TRIAL), writeTrial(trial), RECORD_MODE);
    });
  }

  confirm(name: string): void {
    this.#try("make a version the current one in", () => {
      const before = this.current();
      if (before !== name) this.#point(PREVIOUS, before);
      this.#point(CURRENT, name);
      this.#endTrial();
      this.#tidy();
    });
  }

  giveUp({ name, sha256 }: Trial, reason: string): void {
    this.remember({ name, sha256, reason });
    this.#try("end the trial in", () => this.#endTrial());
  }

  remember(failure: Failure): void {
    this.#try("remember a failure in", () => {
      mkdirSync(this.#place, { recursive: true, mode: PRIVATE });
      writeAtomic(this.#path(FAILED), writeFailures([...this.failures(), failure]), RECORD_MODE);
    });
  }

  forget(sha256: string): void {
    const all = this.failures();
    const kept = all.filter((failure) => failure.sha256 !== sha256);
    if (kept.length === all.length) return;
    this.#try("forget a failure in", () =>
      writeAtomic(this.#path(FAILED), writeFailures(kept), RECORD_MODE),
    );
  }

  back(): void {
    this.#try("go back in", () => {
      const [before, current] = [this.previous(), this.current()];
      this.#point(CURRENT, before);
      this.#point(PREVIOUS, current);
    });
  }

  async digest(
    path: string,
    signal: AbortSignal,
  ): Promise<{ readonly sha256: string; readonly size: number }> {
    const hash = createHash("sha256");
    let size = 0;
    await inParts(path, (part) => {
      signal.throwIfAborted();
      hash.update(part);
      size += part.length;
    });
    return { sha256: hash.digest("hex"), size };
  }

  async copy(
    from: string,
    to: string,
    { maxBytes, signal }: { readonly maxBytes: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const info = statSync(from, { throwIfNoEntry: false });
    if (info?.isFile() !== true) throw fileError(`there is no file ${from}`);
    if (info.size > maxBytes)
      throw fileError(
        `${from} has ${grouped(info.size)} bytes, at most ${grouped(maxBytes)} are accepted`,
      );
    try {
      rmSync(to, { force: true });
      const target = await open(to, "wx", PRIVATE);
      await using _ = { [Symbol.asyncDispose]: () => target.close() };
      let size = 0;
      await inParts(from, async (part) => {
        signal.throwIfAborted();
        size += part.length;
        if (size > maxBytes) throw fileError(`${from} grows while it is copied`);
        await target.write(part);
      });
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof AgentError) throw cause;
      throw fileError(`cannot copy ${from}: ${messageOf(cause)}`, cause);
    }
  }

  /** The current and the previous version, that on trial and `kept` stay. */
  #tidy(kept?: string): void {
    const wanted = [this.current(), this.previous(), this.trial()?.name, kept];
    const directory = this.#path(VERSIONS);
    if (!existsSync(directory)) return;
    for (const name of readdirSync(directory))
      if (!wanted.includes(name)) rmSync(join(directory, name), { recursive: true, force: true });
  }

  #endTrial(): void {
    rmSync(this.#path(TRIAL), { force: true });
    syncPath(this.#place);
    rmSync(this.#path(STARTS), { force: true });
  }

  #path(name: string): string {
    return join(this.#place, name);
  }

  #read(name: string): string | undefined {
    const path = this.#path(name);
    const info = statSync(path, { throwIfNoEntry: false });
    if (info?.isFile() !== true || info.size > RECORD_BYTES) return undefined;
    return this.#try("read", () => readFileSync(path, "utf8"));
  }

  /** undefined = the installed binary. */
  #link(link: string): string | undefined {
    const name = basename(readLink(this.#path(link)) ?? INSTALLED);
    return name !== INSTALLED && isVersionName(name) ? name : undefined;
  }

  #point(link: string, name: string | undefined): void {
    const path = this.#path(link);
    if (link === CURRENT && name === undefined) rmSync(path, { force: true });
    else {
      rmSync(`${path}.new`, { force: true });
      symlinkSync(name === undefined ? INSTALLED : join(VERSIONS, name), `${path}.new`);
      renameSync(`${path}.new`, path);
    }
    syncPath(this.#place);
  }

  /** As the launcher finds it: size and time in seconds. */
  #identityOfInstalled(): string | undefined {
    const info = statSync(this.launch.installed, { throwIfNoEntry: false });
    return info === undefined ? undefined : `${info.size}-${Math.floor(info.mtimeMs / SECONDS)}`;
  }

  #try<T>(what: string, run: () => T): T {
    try {
      return run();
    } catch (cause) {
      if (cause instanceof AgentError) throw cause;
      throw fileError(`cannot ${what} ${this.#place}: ${messageOf(cause)}`, cause);
    }
  }
}

function fileError(message: string, cause?: unknown): AgentError {
  return new AgentError({ reason: "FileError", message, cause });
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (["ENOENT", "EINVAL", "ENOTDIR"].includes(errorCode(error))) return undefined;
    throw error;
  }
}

async function inParts(
  path: string,
  take: (part: Uint8Array) => void | Promise<void>,
): Promise<void> {
  const file = await open(path, "r");
  await using _ = { [Symbol.asyncDispose]: () => file.close() };
  const buffer = new Uint8Array(PART_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, PART_BYTES);
    if (bytesRead === 0) return;
    await take(buffer.subarray(0, bytesRead));
  }
}
