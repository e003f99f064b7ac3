// The versions of the agent beside each other, as the launcher and the agent share them. Types only.

import type { Monotonic } from "../../lib/clock.ts";

/** A version that must still prove itself. */
export interface Trial {
  /** Of its directory. */
  readonly name: string;
  /** Of its binary, in hexadecimal digits. */
  readonly sha256: string;
  readonly version: string;
  /** The version that began it, and runs again if it fails. */
  readonly from: string;
  /** Whether that version had the broker: then this one must reach it too. */
  readonly hadBroker: boolean;
}

export interface Failure {
  readonly sha256: string;
  readonly name: string;
  readonly reason: string;
}

/** What the launcher passes to this process. */
export interface Launch {
  /** Path of the installed binary, which runs when there is no other version. */
  readonly installed: string;
  /** Name of the version on trial, if this process is it. */
  readonly trial?: string;
  /** When the launcher ends this process, unless it has proved itself. */
  readonly until?: Monotonic;
}

export interface NewVersion {
  readonly name: string;
  /** The downloaded binary; it is moved. */
  readonly path: string;
}

/** Every method throws AgentError `FileError`, and what it has done is on the disk when it returns. */
export interface Versions {
  readonly launch: Launch;
  trial(): Trial | undefined;
  /** Of the version that runs if none is on trial; undefined = the installed binary. */
  current(): string | undefined;
  /** Of the version before it; undefined = the installed binary, if `hasPrevious`. */
  previous(): string | undefined;
  hasPrevious(): boolean;
  /** Oldest first. */
  failures(): readonly Failure[];
  /** Where a binary with this digest, or from this address, is gathered; its directory exists. */
  incoming(key: string): string;
  /** A directory without content, for a copy of the database. */
  scratch(): string;
  removeScratch(): void;
  /** Moves a binary beside the others and removes those that are no longer wanted. */
  add(version: NewVersion): void;
  /** From the next start on the version is on trial. */
  begin(trial: Trial): void;
  /** The version on trial becomes the current one. */
  confirm(name: string): void;
  /** The trial ends, and its version is remembered as failed. */
  giveUp(trial: Trial, reason: string): void;
  /** Remembers a binary that has failed before its trial. */
  remember(failure: Failure): void;
  /** A binary that has failed may be tried again. */
  forget(sha256: string): void;
  /** Makes the previous version the current one. */
  back(): void;
  /** The sha256 and size of a file, read in parts. */
  digest(
    path: string,
    signal: AbortSignal,
  ): Promise<{ readonly sha256: string; readonly size: number }>;
  /** Copies a file of at most so many bytes; a longer one throws. */
  copy(
    from: string,
    to: string,
    options: { readonly maxBytes: number; readonly signal: AbortSignal },
  ): Promise<void>;
}
