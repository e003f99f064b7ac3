// What a seed does to a simulated world, as plain data: it can be printed, replayed and thinned out.

import type { CallName } from "../fakes/fake-cri-faults.ts";
import type { Mulberry32 } from "../fakes/mulberry32.ts";
import type { BadDocument } from "./sim-authority.ts";
import type { HintMode, HowRemoved, HowWritten } from "./sim-directory.ts";
import type { EditedKeys, ObjectName, Spoiling } from "./sim-objects.ts";
import type { Shortage } from "./sim-pressure.ts";
import { NAMES, VERSIONS, type FileName, type SimName } from "./sim-specs.ts";

/** Wall ms to which the clock may step. */
export const WALL = { "1970": 0, later: Date.UTC(2031, 0, 1), earlier: Date.UTC(2026, 10, 20) };

export type FaultKind =
  | "fail"
  | "failHappened"
  | "unavailable"
  | "hang"
  | "hangHappened"
  | "delay"
  | "reserved"
  | "leaked";

export type Breakage = "syntax" | "field" | "empty";

export type BrokerTrouble =
  | "down"
  | "silent"
  | "refuses"
  | "wiped"
  | "kick"
  | "cut"
  | "losesSubacks"
  | "losesPubacks"
  | "slow"
  | "closesOnDesired"
  | "well";

/** `handOver`: other keys sign; `newRoots`: and a later root vouches for them. The rest is somebody's mischief. */
export type TrustHow =
  | "handOver"
  | "newRoots"
  | "forgedBundle"
  | "oldBundle"
  | "emptied"
  | "unreadable"
  | "mistyped"
  | "mended";

/** A document that must not count: signed by nobody who may, recorded, or meant for others. */
export type Forgery =
  | "unsigned"
  | "stranger"
  | "removed"
  | "root"
  | "herald"
  | "elsewhere"
  | "tampered"
  | "replay"
  | "otherNode"
  | "otherFleet";

/** `restart` is as it should be; `again`: the last such one, byte for byte. */
export type CommandHow =
  | "ping"
  | "get"
  | "restart"
  | "again"
  | "otherSession"
  | "retained"
  | "otherNode"
  | "unsigned"
  | "stranger"
  | "desk";

export type SimAct =
  | {
      readonly type: "Write";
      readonly name: SimName;
      readonly version: number;
      readonly how: HowWritten;
    }
  | { readonly type: "Delete"; readonly name: SimName; readonly how: HowRemoved }
  /** Deleted and there again as it was: before anybody looks, or a moment later. */
  | { readonly type: "ReAdd"; readonly name: SimName; readonly atOnce: boolean }
  | { readonly type: "Relabel"; readonly name: SimName; readonly how: HowWritten }
  | { readonly type: "Break"; readonly name: SimName; readonly how: Breakage }
  | { readonly type: "Directory"; readonly there: boolean; readonly how: "remove" | "rename" }
  | { readonly type: "Hints"; readonly mode: HintMode; readonly lagMs: number }
  /** The complete document: versions by name, 0 = not in it; objects that are new in it get their first content. */
  | {
      readonly type: "Publish";
      readonly versions: readonly number[];
      readonly objects?: readonly ObjectName[];
    }
  | { readonly type: "BadDocument"; readonly how: BadDocument }
  /** In its file. */
  | {
      readonly type: "EditObject";
      readonly object: ObjectName;
      readonly keys: EditedKeys;
      readonly how: HowWritten;
      readonly immutable: boolean;
    }
  | { readonly type: "DropObject"; readonly object: ObjectName }
  | { readonly type: "MoveObject"; readonly object: ObjectName; readonly to: FileName }
  /** An edit that must not count. */
  | { readonly type: "SpoilObject"; readonly object: ObjectName; readonly how: Spoiling }
  /** The same document with other content of this object, or without it. */
  | {
      readonly type: "PublishObject";
      readonly object: ObjectName;
      readonly keys: EditedKeys | "none";
    }
  /** Where signatures count. */
  | { readonly type: "Trust"; readonly how: TrustHow }
  | { readonly type: "Forge"; readonly how: Forgery }
  | {
      readonly type: "Command";
      readonly how: CommandHow;
      readonly pod: SimName;
      readonly container?: string;
    }
  | { readonly type: "Broker"; readonly how: BrokerTrouble }
  /** The will of a connection that is long over. */
  | { readonly type: "LateWill" }
  /** While no agent lives. `key`: only that of Secrets is lost; `keyless`: the database and the key. */
  | {
      readonly type: "Database";
      readonly how: "lost" | "corrupt" | "everything" | "key" | "keyless";
    }
  | { readonly type: "Exit"; readonly index: number; readonly exitCode: number }
  | { readonly type: "KillSandbox"; readonly index: number }
  | { readonly type: "Lose"; readonly index: number }
  /** What probes find from now on. */
  | { readonly type: "Health"; readonly name: SimName; readonly healthy: boolean }
  | {
      readonly type: "Fault";
      readonly call: CallName;
      readonly kind: FaultKind;
      readonly times: number;
      readonly ms: number;
    }
  | { readonly type: "ClearFaults" }
  | { readonly type: "Mute"; readonly muted: boolean }
  | { readonly type: "EndStream"; readonly broken: boolean }
  | { readonly type: "Network"; readonly ready: boolean }
  | { readonly type: "Images"; readonly there: boolean }
  | { readonly type: "Daemon"; readonly up: boolean }
  /** So full is the disk of images, by other things too. */
  | { readonly type: "ImageDisk"; readonly percent: number }
  | { readonly type: "Disk"; readonly failures: number }
  /** What the kernel says is left; nothing fails for it. */
  | { readonly type: "Pressure"; readonly of: Shortage; readonly short: boolean }
  /** The disk of claims, where they have one. */
  | { readonly type: "ClaimDisk"; readonly there: boolean }
  | { readonly type: "Wall"; readonly to: "1970" | "later" | "earlier" }
  | { readonly type: "Reboot" }
  /** `agent shutdown`, or that it is taken back. */
  | { readonly type: "Shutdown"; readonly begin: boolean }
  /** kill -9, at once or before the n-th thing the agent does or hears from now on. */
  | { readonly type: "Kill"; readonly acts: number }
  /** SIGTERM. */
  | { readonly type: "Stop" }
  /** A new process, unless one lives. */
  | { readonly type: "Start" }
  | { readonly type: "Wait" };

export type SimStep = SimAct & {
  /** Virtual ms that pass afterwards. */
  readonly pause: number;
};

/** One line of the history. */
export function sayStep({ pause, ...act }: SimStep): string {
  const { type, ...facts } = act;
  const words = Object.entries(facts).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `${[type, ...words].join(" ")}; ${pause} ms`;
}

export function throwVersion(dice: Mulberry32): number {
  return 1 + dice.below(VERSIONS);
}

export function throwName(dice: Mulberry32): SimName {
  return dice.pick(NAMES);
}
