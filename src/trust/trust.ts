// Performs: keeps the keys in force and accepts new TrustBundles. A node that has required signatures goes on to
// require them until a reset.

import type { TrustFile } from "../store/trust-file.ts";
import type { RefusedDocument } from "../protocol/desired-document.ts";
import type { SignedEnvelope } from "../protocol/dsse.ts";
import type { NodeCondition } from "../api/v1/pod-status.ts";
import type { RootKeys, TrustRecord, VerifySignature } from "../protocol/trust-bundle.ts";
import { sameValue } from "../lib/compare.ts";
import { messageOf } from "../lib/errors.ts";
import { RefusalMemory } from "./last-rejected.ts";
import { RefusalLog } from "../lib/refusal-log.ts";
import { judgeSignature, verifiedBy } from "./verify-signature.ts";
import { judgeTrustBundle } from "./judge-trust-bundle.ts";
import { keyringOf, noTrustedKey, type Keyring } from "./keyring.ts";
import type { Edges } from "../edges.ts";
import { Alarm } from "../lib/alarm.ts";

interface TrustOptions extends Pick<Edges, "clock" | "log" | "sha256" | "rootKeys"> {
  readonly store: Pick<TrustFile, "read" | "write">;
  readonly verify: VerifySignature;
  /** This node's name. */
  readonly node: string;
  /** Shown in messages. */
  readonly trustPath: string;
  /** `mqtt.requireSignature`. */
  readonly requireSignature: boolean;
  readonly onConditions: () => void;
}

/** Interval for noticing a repaired directory or a disk with room again, ms. */
const RETRY_MS = 60_000;
const NOTHING_FOUND: RootKeys = { keys: [], problems: [] };

export class Trust implements Disposable {
  readonly verify: VerifySignature;
  readonly #options: TrustOptions;
  readonly #refusals: RefusalMemory;
  readonly #refusalLog: RefusalLog;
  #record: TrustRecord;
  #found: RootKeys = NOTHING_FOUND;
  #keyring: Keyring;
  /** Once true, stays true for this process, stored or not. */
  #mustSign = false;
  /** A bundle that could not be stored. */
  #unsaved: Uint8Array | undefined;
  /** The newest bundle, if no key in force has signed it: with other root keys it may count. */
  #unsigned: Uint8Array | undefined;
  /** Polls while there is a problem whose end no event reports. */
  readonly #retry: Alarm;
  #onKeysChanged: () => void = () => undefined;

  constructor(options: TrustOptions) {
    this.#options = options;
    this.verify = options.verify;
    this.#retry = new Alarm(options.clock, () => this.#tryAgain());
    this.#refusals = new RefusalMemory(options.clock);
    this.#refusalLog = new RefusalLog(options.clock, options.log);
    this.#record = options.store.read();
    this.#keyring = this.#read();
  }

  /** One listener; called when the keys in force change, so that refused documents are judged again. */
  onKeysChanged(listener: () => void): void {
    this.#onKeysChanged = listener;
  }

  /** Reads `trustPath` and returns the keys in force; called before every judgement. Never throws. */
  look(): Keyring {
    const before = this.#keyring;
    this.#refresh();
    this.#settle(before);
    return this.#keyring;
  }

  /** A message on the trust topic. Never throws. */
  receive(message: Uint8Array): void {
    this.#unsaved = undefined;
    this.#unsigned = undefined;
    this.look();
    this.#take(message);
  }

  /** Why the signature of a command to this node or one of its groups does not count; undefined = it counts. */
  judgeCommand(envelope: SignedEnvelope, group?: string): string | undefined {
    const keyring = this.look();
    if (keyring.unusable !== undefined) return noTrustedKey(keyring.unusable);
    const to = group === undefined ? { node: this.#options.node } : { group };
    const verdict = judgeSignature({ envelope, role: "command", to }, keyring, this.verify);
    return verdict.type === "Refused" ? verdict.message : undefined;
  }

  /** Ids of the keys in force that have signed it. */
  signersOf(envelope: SignedEnvelope): readonly string[] {
    const { signers, roots } = this.look();
    return verifiedBy(envelope, signers ?? roots, this.verify).map(({ id }) => id);
  }

  /** Whether unsigned documents and commands no longer count. */
  required(): boolean {
    return this.look().required;
  }

  /** The newest TrustBundle that was refused since one was accepted. */
  lastRejected(): RefusedDocument | undefined {
    return this.#refusals.last();
  }

  /** At most one, as of the last look. */
  conditions(): readonly NodeCondition[] {
    const { required, unusable } = this.#keyring;
    if (!required || unusable === undefined) return [];
    const message = `no document is accepted, running pods continue: ${unusable}`;
    return [{ type: "TrustUnavailable", status: "True", reason: "NoTrustedKey", message }];
  }

  /** `agent trust reset`: deletes the stored trust; keys in `trustPath` count again at once. Throws what the checkpoint
   * throws; then nothing is deleted. */
  reset(): void {
    const record: TrustRecord = { required: false };
    this.#options.store.write(record);
    this.#record = record;
    this.#mustSign = false;
    this.#unsaved = undefined;
    this.#refusals.forget();
    this.#options.log.warn("trust was reset");
    const before = this.#keyring;
    this.#keyring = this.#read();
    this.#refresh();
    this.#settle(before);
  }

  [Symbol.dispose](): void {
    this.#retry[Symbol.dispose]();
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
      log.error("a TrustBundle could not be stored; trying again", {
        version,
        error: messageOf(error),
      });
      this.#unsaved = envelope;
      this.#retryLater();
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
    if (!isSame) this.#logProblems(found);
    this.#found = found;
    const isFirst = !this.#mustSign && (requireSignature || found.keys.length > 0);
    if (isFirst) this.#require();
    if (isFirst || !isSame) this.#keyring = this.#read();
  }

  /** Takes effect even if it cannot be stored. */
  #require(): void {
    const { store, log } = this.#options;
    this.#mustSign = true;
    if (this.#record.required) return;
    const record: TrustRecord = { ...this.#record, required: true };
    try {
      store.write(record);
      this.#record = record;
      const remedy = 'only "agent trust reset" ends this';
      log.info("from now on documents must be signed", { keys: this.#found.keys.length, remedy });
    } catch (error) {
      log.error("cannot store that documents must be signed; it is required all the same", {
        error: messageOf(error),
      });
      this.#retryLater();
    }
  }

  #read(): Keyring {
    const { trustPath, sha256 } = this.#options;
    // An unreadable key was meant to count: until it is readable or removed, unsigned documents do not.
    const isMeant = this.#found.problems.length > 0;
    const required = this.#record.required || this.#mustSign || isMeant;
    const record = { ...this.#record, required };
    return keyringOf({ record, found: this.#found, trustPath, sha256 });
  }

  #settle(before: Keyring): void {
    const { log, onConditions } = this.#options;
    const { required, unusable } = this.#keyring;
    const isStuck = this.#isStuck();
    // Also if it was so from the start, without a change.
    if (isStuck) this.#retryLater();
    if (this.#keyring === before) return;
    if (before.required !== required || before.unusable !== unusable) {
      if (isStuck) log.error("no document is accepted", { reason: unusable });
      onConditions();
    }
    // The broker does not send it again, and documents may need it.
    const unsigned = this.#unsigned;
    this.#unsigned = undefined;
    if (unsigned !== undefined) this.#take(unsigned);
    this.#onKeysChanged();
  }

  #logProblems({ problems }: RootKeys): void {
    const { problems: reported } = this.#found;
    for (const problem of problems)
      if (!reported.includes(problem))
        this.#options.log.warn("a root key cannot be used", { problem });
  }

  #tryAgain(): void {
    if (this.#mustSign && !this.#record.required) this.#require();
    const owed = this.#unsaved;
    if (owed === undefined) this.look();
    else this.receive(owed);
    if (this.#isStuck()) this.#retryLater();
  }

  #isStuck(): boolean {
    return this.#keyring.required && this.#keyring.unusable !== undefined;
  }

  #retryLater(): void {
    this.#retry.by(this.#options.clock.monotonic() + RETRY_MS);
  }
}

/** Trust as it was at first. Refused documents are judged again: their version or signature may count now. Throws when it
 * cannot be stored. */
export function resetTrust(
  trust: Pick<Trust, "reset">,
  documents: { forgetVersion(): void; judgeAgain(): void } | undefined,
): void {
  // In this order: forgetting the version while keys stay in force would accept an older document.
  trust.reset();
  documents?.forgetVersion();
  documents?.judgeAgain();
}
