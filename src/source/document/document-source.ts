// Performs: one desired document as a source of pods and objects: restores the accepted document at the start, judges
// each message, writes an accepted document to the disk, and only then publishes it.

import { Alarm } from "../../lib/alarm.ts";
import type {
  AcceptedDocument,
  DesiredDocument,
  DocumentState,
} from "../../protocol/desired-document.ts";
import type { Rejection, SourceName } from "../../api/pod/desired-pod.ts";
import { nextBackoff, type BackoffEntry, type BackoffPolicy } from "../../lib/backoff.ts";
import { withoutUndefined } from "../../lib/json.ts";
import { messageOf } from "../../lib/errors.ts";
import { RefusalLog } from "../../lib/refusal-log.ts";
import { decodeAccepted } from "./decode-accepted.ts";
import type { DocumentRules, DocumentSourceOptions } from "./document-rules.ts";
import { judgeDocument, type Verdict } from "./judge-document.ts";
import { type DocumentRefusal, refusal, storageRefusal } from "./refusal.ts";
import { RefusalMemory } from "../../trust/last-rejected.ts";
import { supersededBy } from "./epoch-and-generation.ts";
import { reportedSource } from "../../protocol/wire-text.ts";
import { takeToken, type TokenBucket, type TokenBucketPolicy } from "../../lib/token-bucket.ts";
import { digestOf } from "../../protocol/dsse.ts";
import { documentHand, type Hand } from "../../store/start-guard/hand.ts";
import { START_GUARD, UNGUARDED, type WorkGuard } from "../../store/start-guard/start-guard.ts";

/** A document that could not be written is retried without another message from the broker. */
const STORE_RETRY: BackoffPolicy = { initial: 30_000, max: 600_000, resetAfter: 3_600_000 };
const UNMET = 412;
const STAGED = 423;
/** Judging takes up to 150 ms and accepting writes to the disk; of a flood of messages the newest counts. */
const JUDGE_RATE: TokenBucketPolicy = { burst: 10, perSecond: 1 };
const NEXT_TURN_MS = 1_000;

export class DocumentSource implements Disposable {
  readonly source: SourceName;
  readonly #rules: DocumentRules;
  readonly #options: DocumentSourceOptions;
  readonly #guard: WorkGuard;
  readonly #refusals: RefusalMemory;
  readonly #refusalLog: RefusalLog;
  #stored: AcceptedDocument | undefined;
  #document: DesiredDocument | undefined;
  #openedSignature: Uint8Array | undefined;
  /** False until a document was accepted or restored whole: until then a missing pod is no orphan. */
  #ready = false;
  /** What the accepted document leaves out or ignores. */
  #notices: readonly Rejection[] = [];
  /** Why the newest message was refused, while it is the newest. */
  #refused: readonly Rejection[] = [];
  /** Why the newest Rollout of the group was refused. */
  #rolloutRefused: readonly Rejection[] = [];
  /** The newest message, if it was refused: with other keys or other documents it may count. */
  #refusedMessage:
    { readonly payload: Uint8Array; readonly code: DocumentRefusal["code"] } | undefined;
  readonly #retry: Alarm;
  /** The newest message, if it could not be written. */
  #unstored: Uint8Array | undefined;
  #backoff: BackoffEntry | undefined;
  readonly #nextTurn: Alarm;
  #judged: TokenBucket | undefined;
  /** The newest message, if it is not judged yet. */
  #waiting: Uint8Array | undefined;
  /** The newest Rollout of the group, if it is not judged yet. */
  #waitingRollout: (() => readonly Rejection[]) | undefined;
  /** Aborts when a newer message arrives. */
  #newest = new AbortController();
  readonly #disposed = new AbortController();

  constructor(options: DocumentSourceOptions) {
    const { rules, address } = options;
    this.source = address.source;
    this.#rules = rules;
    this.#options = options;
    this.#guard = rules.guard ?? UNGUARDED;
    this.#retry = new Alarm(rules.clock, () => {
      if (this.#unstored !== undefined) this.#take(this.#unstored);
    });
    this.#nextTurn = new Alarm(rules.clock, () => this.#takeWaiting());
    this.#refusals = new RefusalMemory(rules.clock);
    this.#refusalLog = new RefusalLog(rules.clock, rules.log);
  }

  /** Restores the accepted document and publishes nothing yet. Throws what the checkpoint throws. */
  restore(): void {
    const { documents, log, ...parts } = this.#rules;
    const { source } = this;
    const stored = documents.get(source);
    this.#stored = stored;
    if (stored === undefined) return;
    const { generation, lost } = stored;
    const hand = documentHand(source, stored.digest);
    const why = this.#guard.waits(hand);
    if (why !== undefined) return this.#restoreLater(hand, why);
    using _ = this.#guard.hold(hand);
    const { document, rejected, intact } = decodeAccepted(stored, this.#options.address, parts);
    this.#notices = rejected;
    this.#ready = intact;
    if (lost !== undefined) {
      const message =
        "the desired document cannot be opened; it counts again when it is published again";
      log.error(message, { source, generation, why: lost });
      return;
    }
    this.#setDocument(document);
    const { pods, objects } = document;
    log.info("restored the desired document", {
      source,
      generation,
      pods: pods.length,
      objects: objects.length,
    });
    if (!intact) log.error("part of the desired document cannot be read", { source, generation });
  }

  /** Not synced until then: what runs of the document runs on (start-guard). */
  #restoreLater(hand: Hand, message: string): void {
    const { source, ref } = this.#options.address;
    this.#notices = [{ source, ref, path: "", code: START_GUARD, message }];
    void this.#guard.free(hand, this.#disposed.signal).then((isFree) => {
      if (!isFree || this.#ready) return;
      this.restore();
      this.publish();
      this.#options.host.stateChanged();
    });
  }

  /** The accepted document. */
  get document(): DesiredDocument | undefined {
    return this.#document;
  }

  /** There is a document, and not all of it could be read. */
  get isDamaged(): boolean {
    return this.#stored !== undefined && !this.#ready;
  }

  /** Of the accepted document, also if it is lost; undefined = there is none. */
  get generation(): number | undefined {
    return this.#stored?.generation;
  }

  /** A message from the broker: judged at once, or in a flood within a second unless a newer one comes. Never throws. */
  receive(payload: Uint8Array): void {
    // The newest message is the retained document; an older one that waits for the disk is outdated.
    this.#retry[Symbol.dispose]();
    this.#newest.abort();
    this.#newest = new AbortController();
    this.#backoff = undefined;
    this.#refusedMessage = undefined;
    this.#waiting = payload;
    this.#takeWaiting();
  }

  /** A Rollout of the group has arrived: judged in the turns of documents, of a flood the newest. `judge` returns what is
   * wrong with it. */
  receiveRollout(judge: () => readonly Rejection[]): void {
    this.#waitingRollout = judge;
    this.#takeWaiting();
  }

  #takeWaiting(): void {
    const payload = this.#waiting;
    const rollout = this.#waitingRollout;
    if (payload === undefined && rollout === undefined) return;
    const now = this.#rules.clock.monotonic();
    const judged = takeToken(this.#judged, now, JUDGE_RATE);
    if (judged === undefined) return this.#nextTurn.by(now + NEXT_TURN_MS);
    this.#judged = judged;
    this.#waitingRollout = undefined;
    this.#waiting = undefined;
    if (rollout !== undefined) this.#setRolloutRefused(rollout());
    if (payload !== undefined) this.#take(payload);
    else if (this.#refusedMessage?.code === STAGED) this.judgeAgain();
  }

  /** Trust was reset: a document of any version follows. Throws what the checkpoint throws. */
  forgetVersion(): void {
    if (this.#stored === undefined) return;
    this.#rules.documents.forgetVersion(this.source);
    this.#stored = { ...this.#stored, versionForgotten: true };
  }

  /** Other keys are in force: judges a refused message again, because the broker does not send it twice. */
  judgeAgain(): void {
    const message = this.#refusedMessage;
    if (message === undefined) return;
    this.#retry[Symbol.dispose]();
    this.#take(message.payload);
  }

  /** Another document was accepted: judges a message again that was refused because it requires one, or for the labels that
   * the node had. */
  judgeUnmetAgain(): void {
    const { code } = this.#refusedMessage ?? {};
    if (code === UNMET || code === STAGED) this.judgeAgain();
  }

  /** Remembers that this generation has converged, for the acknowledgement after a restart. */
  observed(generation: number): void {
    const stored = this.#stored;
    if (stored === undefined || stored.generation !== generation) return;
    if (stored.observedGeneration === generation) return;
    const { documents, log } = this.#rules;
    try {
      documents.setObserved(this.source, generation);
    } catch (thrown) {
      // It has converged whether it is written down or not; after a restart it converges again.
      log.warn("cannot write down that the document has converged", {
        source: this.source,
        generation,
        error: messageOf(thrown),
      });
    }
    this.#stored = { ...stored, observedGeneration: generation };
    this.#options.host.stateChanged();
  }

  state(): DocumentState {
    const { superseded } = this.#stored ?? {};
    return {
      source: this.source,
      document: this.#document,
      observedGeneration: this.#stored?.observedGeneration ?? 0,
      acceptedAt: this.#stored?.acceptedAt ?? 0,
      ...withoutUndefined({ superseded, openedSignature: this.#openedSignature }),
      lastRejected: this.#refusals.last(),
    };
  }

  /** Publishes its snapshot. */
  publish(): void {
    const document = this.#document;
    this.#options.host.publish({
      source: this.source,
      ready: this.#ready,
      pods: document?.pods ?? [],
      objects: document?.objects ?? [],
      ...withoutUndefined({ runs: document?.runs, services: document?.services }),
      rejected: [...this.#notices, ...this.#refused, ...this.#rolloutRefused],
      ...(this.#ready && document !== undefined ? { document } : {}),
    });
  }

  [Symbol.dispose](): void {
    this.#retry[Symbol.dispose]();
    this.#nextTurn[Symbol.dispose]();
    this.#newest.abort();
    this.#disposed.abort();
  }

  #take(payload: Uint8Array): void {
    const digest = digestOf(payload, this.#rules.sha256);
    const hand = documentHand(this.source, digest);
    const why = this.#guard.waits(hand);
    if (why !== undefined) return this.#takeLater(payload, digest, why);
    using held = this.#guard.hold(hand);
    const verdict = this.#judge(payload);
    this.#refusedMessage = verdict.type === "Refused" ? { payload, code: verdict.code } : undefined;
    switch (verdict.type) {
      case "Accepted":
        this.#accept(verdict, payload);
        this.#proveTime(verdict.document);
        break;
      case "Unchanged":
        this.#setRefused([]);
        this.#proveTime(this.#document);
        break;
      case "Refused":
        this.#refuse(verdict);
        break;
    }
    // An accepted one is still to be applied, in the hand of its payload.
    if (verdict.type !== "Accepted" || verdict.accepted.digest !== digest) held.settle();
    this.#rules.onJudged?.();
  }

  /** What is in force stays so; a newer message is judged in its place (start-guard). */
  #takeLater(payload: Uint8Array, digest: string, why: string): void {
    this.#refusedMessage = { payload, code: 503 };
    this.#refuse({ ...refusal(503, why), digest });
    void this.#guard.free(documentHand(this.source, digest), this.#newest.signal).then((isFree) => {
      if (isFree) this.#take(payload);
    });
  }

  #setDocument(document: DesiredDocument): void {
    this.#document = document;
    const { epoch, generation, digest, opened: secrets } = document;
    const facts = { source: reportedSource(this.source), epoch, generation, digest };
    this.#openedSignature =
      secrets === undefined ? undefined : this.#rules.keys?.signOpened({ ...facts, secrets });
  }

  #proveTime(document: DesiredDocument | undefined): void {
    if (document?.issuedAt !== undefined) this.#rules.onIssued(document.issuedAt);
  }

  #judge(payload: Uint8Array): Verdict {
    const { clock, clockTrusted, trust } = this.#rules;
    return judgeDocument({
      address: this.#options.address,
      payload,
      stored: this.#stored,
      current: this.#document?.objects ?? [],
      context: {
        ...this.#rules,
        now: clock.now(),
        clockTrusted: clockTrusted(),
        accepted: this.#options.host.generations(),
        trust: { keyring: trust.look(), verify: trust.verify },
        ...withoutUndefined({ staged: this.#options.host.staged(this.source) }),
      },
    });
  }

  #accept(verdict: Extract<Verdict, { type: "Accepted" }>, payload: Uint8Array): void {
    const { document, notices } = verdict;
    const hasFailed = this.#rules.hasFailed(this.source, this.generation ?? 0);
    const superseded = supersededBy(verdict.accepted, this.#stored, hasFailed);
    const accepted = { ...verdict.accepted, ...(superseded === undefined ? {} : { superseded }) };
    const { digest, generation } = accepted;
    try {
      this.#rules.documents.accept(accepted);
    } catch (thrown) {
      this.#retryLater(payload);
      this.#refuse({ ...storageRefusal(thrown), digest, generation });
      return;
    }
    this.#stored = accepted;
    this.#setDocument(document);
    this.#ready = true;
    this.#notices = notices;
    this.#refused = [];
    this.#backoff = undefined;
    this.#refusals.forget();
    this.#rules.log.info("accepted a desired document", {
      source: this.source,
      epoch: accepted.epoch,
      generation,
      signed: document.signed === true,
      pods: document.pods.length,
      objects: document.objects.length,
    });
    this.publish();
    this.#options.host.stateChanged();
    this.#options.host.accepted(this.source);
  }

  #refuse(
    refused: DocumentRefusal & { readonly digest: string; readonly generation?: number },
  ): void {
    const { code, digest, generation, message, rejections } = refused;
    const facts = { source: this.source, code, digest, generation, reason: message };
    if (code === STAGED) this.#rules.log.info("a staged document waits", facts);
    else this.#refusalLog.warn("refused a desired document", facts);
    const isNew = this.#refusals.note({
      code,
      digest,
      message,
      ...(generation === undefined ? {} : { generation }),
    });
    this.#setRefused(rejections);
    if (isNew) this.#options.host.stateChanged();
  }

  #setRolloutRefused(rejections: readonly Rejection[]): void {
    if (JSON.stringify(rejections) === JSON.stringify(this.#rolloutRefused)) return;
    this.#rolloutRefused = rejections;
    this.publish();
  }

  #setRefused(rejections: readonly Rejection[]): void {
    if (JSON.stringify(rejections) === JSON.stringify(this.#refused)) return;
    this.#refused = rejections;
    this.publish();
  }

  #retryLater(payload: Uint8Array): void {
    const { clock } = this.#rules;
    this.#backoff = nextBackoff(this.#backoff, clock.monotonic(), STORE_RETRY);
    this.#unstored = payload;
    this.#retry.after(this.#backoff.delay);
  }
}
