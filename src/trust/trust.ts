// Performs: keeps the keys in force and accepts new TrustBundles. A node that has required signatures goes on to require
// them until a reset.

import type { Sha256 } from "../api/decode/decode-context.ts";
import type { RefusedDocument } from "../protocol/desired-document.ts";
import type { SignedEnvelope } from "../protocol/dsse.ts";
import type { NodeCondition } from "../api/v1/pod-status.ts";
import type {
  SigningRole,
  RootKeys,
  TrustRecord,
  TrustStore,
  VerifySignature,
} from "../protocol/trust-bundle.ts";
import type { Clock } from "../lib/clock.ts";
import { sameValue } from "../lib/compare.ts";
import { messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { RefusalMemory } from "./refusal-report.ts";
import { RefusalLog } from "../lib/refusal-log.ts";
import { judgeSignature } from "./signature-judge.ts";
import { judgeTrustBundle } from "./trust-bundle-judge.ts";
import { keyringOf, noTrustedKey, type Keyring } from "./keyring.ts";

export interface TrustOptions {
  readonly store: TrustStore;
  /** What lies in `trustPath` at this moment. */
  readonly rootKeys: () => RootKeys;
  readonly verify: VerifySignature;
  readonly sha256: Sha256;
  readonly clock: Clock;
  readonly log: Logger;
  /** This node's name. */
  readonly node: string;
  /** For messages. */
  readonly trustPath: string;
  /** `mqtt.requireSignature`. */
  readonly requireSignature: boolean;
  readonly onConditions: () => void;
}

/** What is in force at this moment. */
export interface TrustState {
  readonly required: boolean;
  /** Absent = there is a key that can be used. */
  readonly unusable?: string;
  readonly rootKeyIds: readonly string[];
  /** 0 = there is no bundle: the roots sign everything. */
  readonly bundleVersion: number;
  /** Wall ms. */
  readonly notBefore?: number;
  readonly keys: readonly {
    readonly keyId: string;
    readonly roles: readonly SigningRole[];
    readonly nodes?: readonly string[];
    readonly groups?: readonly string[];
  }[];
  /** Sentences about `trustPath`. */
  readonly problems: readonly string[];
  /** The newest TrustBundle that was refused. */
  readonly lastRejected?: RefusedDocument;
}

/** How soon a repaired directory, or a disk with room again, is noticed. */
const LOOK_AGAIN_MS = 60_000;
const NOTHING_FOUND: RootKeys = { keys: [], problems: [] };

export class Trust implements Disposable {
  readonly verify: VerifySignature;
  readonly #options: TrustOptions;
  readonly #refusals: RefusalMemory;
  readonly #refusalLog: RefusalLog;
  #record: TrustRecord;
  #found: RootKeys = NOTHING_FOUND;
  #keyring: Keyring;
  /** Once true, true for this life, written down or not. */
  #mustSign = false;
  /** A bundle that the disk did not take. */
  #owed: Uint8Array | undefined;
  /** The newest bundle, if nobody in force had signed it: with other root keys it may count. */
  #unsigned: Uint8Array | undefined;
  #again: Disposable | undefined;
  #onKeysChanged: () => void = () => undefined;

  constructor(options: TrustOptions) {
    this.#options = options;
    this.verify = options.verify;
    this.#refusals = new RefusalMemory(options.clock);
    this.#refusalLog = new RefusalLog(options.clock, options.log);
    this.#record = options.store.read();
    this.#keyring = this.#read();
  }

  /** One listener; called when other keys are in force, with which refused documents may count. */
  onKeysChanged(listener: () => void): void {
    this.#onKeysChanged = listener;
  }

  /** The keys in force, `trustPath` read anew: asked before every judgement. Throws nothing. */
  look(): Keyring {
    const before = this.#keyring;
    this.#refresh();
    this.#settle(before);
    return this.#keyring;
  }

  /** A message on the trust topic. Never throws. */
  receive(message: Uint8Array): void {
    this.#owed = undefined;
    this.#unsigned = undefined;
    this.look();
    this.#take(message);
  }

  /** Why the signature of a command to this node, or to one of its groups, does not count; undefined = it does. */
  judgeCommand(envelope: SignedEnvelope, group?: string): string | undefined {
    const keyring = this.look();
    if (keyring.unusable !== undefined) return noTrustedKey(keyring.unusable);
    const to = group === undefined ? { node: this.#options.node } : { group };
    const verdict = judgeSignature({ envelope, role: "command", to }, keyring, this.verify);
    return verdict.type === "Refused" ? verdict.message : undefined;
  }

  /** Nothing unsigned counts any more. */
  required(): boolean {
    return this.look().required;
  }

  current(): TrustState {
    const { required, unusable, roots, signers = [], bundleVersion, notBefore } = this.look();
    const lastRejected = this.#refusals.last();
    return {
      required,
      ...(unusable === undefined ? {} : { unusable }),
      rootKeyIds: roots.map(({ id }) => id),
      bundleVersion,
      ...(notBefore === undefined ? {} : { notBefore }),
      keys: signers.map(({ id, pub: _pub, ...scope }) => ({ keyId: id, ...scope })),
      problems: this.#found.problems,
      ...(lastRejected === undefined ? {} : { lastRejected }),
    };
  }

  /** At most one, as of the last look. */
  conditions(): readonly NodeCondition[] {
    const { required, unusable } = this.#keyring;
    if (!required || unusable === undefined) return [];
    const message = `no document is accepted, what runs goes on: ${unusable}`;
    return [{ type: "TrustUnavailable", status: "True", reason: "NoTrustedKey", message }];
  }

  /** `agent trust reset`: as if no key had ever been seen; what lies in `trustPath` counts at once. Throws what the
   * checkpoint throws, and nothing is forgotten then. */
  reset(): void {
    const record: TrustRecord = { required: false };
    this.#options.store.write(record);
    this.#record = record;
    this.#mustSign = false;
    this.#owed = undefined;
    this.#refusals.forget();
    this.#options.log.warn("trust was reset");
    const before = this.#keyring;
    this.#keyring = this.#read();
    this.#refresh();
    this.#settle(before);
  }

  [Symbol.dispose](): void {
    this.#again?.[Symbol.dispose]();
    this.#again = undefined;
  }

  #take(message: Uint8Array): void {
    const { verify, sha256 } = this.#options;
    const verdict = judgeTrustBundle({ message, keyring: this.#keyring, verify, sha256 });
    switch (verdict.type) {
      case "Unchanged":
        return;
      case "Refused": {
        const { code, digest, message: why } = verdict;
        if (code === 401) this.#unsigned = message;
        if (this.#refusals.note({ code, digest, message: why }))
          this.#refusalLog.warn("refused a TrustBundle", { code, digest, reason: why });
        return;
      }
      case "Accepted":
        return this.#accept(message, verdict.bundle.version);
    }
  }

  #accept(envelope: Uint8Array, version: number): void {
    const { store, log } = this.#options;
    const record: TrustRecord = { required: true, bundle: { version, envelope } };
    try {
      store.write(record);
    } catch (error) {
      log.error("a TrustBundle could not be kept; it is tried again by itself", {
        version,
        error: messageOf(error),
      });
      this.#owed = envelope;
      this.#lookLater();
      return;
    }
    this.#record = record;
    this.#refusals.forget();
    const before = this.#keyring;
    this.#keyring = this.#read();
    const { signers = [], roots } = this.#keyring;
    log.info("accepted a TrustBundle", { version, roots: roots.length, keys: signers.length });
    this.#settle(before);
  }

  #refresh(): void {
    const { rootKeys, requireSignature } = this.#options;
    const found = rootKeys();
    const isSame = sameValue(found, this.#found);
    if (!isSame) this.#tellProblems(found);
    this.#found = found;
    const isFirst = !this.#mustSign && (requireSignature || found.keys.length > 0);
    if (isFirst) this.#require();
    if (isFirst || !isSame) this.#keyring = this.#read();
  }

  /** Counts from here on, whether the disk takes it or not. */
  #require(): void {
    const { store, log } = this.#options;
    this.#mustSign = true;
    if (this.#record.required) return;
    const record: TrustRecord = { ...this.#record, required: true };
    try {
      store.write(record);
      this.#record = record;
      const remedy = 'only "agent trust reset" takes it back';
      log.info("from now on documents must be signed", { keys: this.#found.keys.length, remedy });
    } catch (error) {
      log.error("cannot write down that documents must be signed; it counts all the same", {
        error: messageOf(error),
      });
      this.#lookLater();
    }
  }

  #read(): Keyring {
    const { trustPath, sha256 } = this.#options;
    // A key that cannot be read was meant to count: until it can, or is taken away, nothing plain does.
    const isMeant = this.#found.problems.length > 0;
    const required = this.#record.required || this.#mustSign || isMeant;
    const record = { ...this.#record, required };
    return keyringOf({ record, found: this.#found, trustPath, sha256 });
  }

  #settle(before: Keyring): void {
    const { log, onConditions } = this.#options;
    const { required, unusable } = this.#keyring;
    const isStuck = required && unusable !== undefined;
    // Also one that has been from the start, and for which nothing has changed.
    if (isStuck && this.#again === undefined) this.#lookLater();
    if (this.#keyring === before) return;
    if (before.required !== required || before.unusable !== unusable) {
      if (isStuck) log.error("no document is accepted", { reason: unusable });
      onConditions();
    }
    // The broker does not send it twice, and documents may need it.
    const unsigned = this.#unsigned;
    this.#unsigned = undefined;
    if (unsigned !== undefined) this.#take(unsigned);
    this.#onKeysChanged();
  }

  #tellProblems({ problems }: RootKeys): void {
    const { problems: told } = this.#found;
    for (const problem of problems)
      if (!told.includes(problem)) this.#options.log.warn("a root key cannot be used", { problem });
  }

  /** While something is amiss that nobody would tell of when it is put right. */
  #lookLater(): void {
    this.#again?.[Symbol.dispose]();
    this.#again = this.#options.clock.after(LOOK_AGAIN_MS, () => {
      this.#again = undefined;
      if (this.#mustSign && !this.#record.required) this.#require();
      const owed = this.#owed;
      if (owed === undefined) this.look();
      else this.receive(owed);
      const { required, unusable } = this.#keyring;
      if (required && unusable !== undefined && this.#again === undefined) this.#lookLater();
    });
  }
}
