// The MQTT documents as a source of pods and objects: judges what arrives, checkpoints it, and only then lets it act (MQTT.md §3).

import type { Sha256 } from "../api/decode-context.ts";
import type { AcceptedDocument, DesiredDocument, DocumentState } from "../api/desired-document.ts";
import type { Rejection, SourceName, SourceSnapshot } from "../api/desired-pod.ts";
import { parseTopic, topicFor } from "../api/mqtt-topics.ts";
import { nextBackoff, type BackoffEntry, type BackoffPolicy } from "../lib/backoff.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { judgeDocument, type Verdict } from "./desired-judge.ts";
import type { PodRules } from "./desired-pod-policy.ts";
import type { Refusal } from "./desired-refusal.ts";
import type { NodeFacts } from "./desired-requires.ts";
import { restoreDocument } from "./desired-restore.ts";
import { documentName, type DocumentAddress } from "./desired-version.ts";
import { RefusalMemory } from "./mqtt-refusals.ts";
import { RefusalLog } from "../lib/refusal-log.ts";
import { storageRefusal } from "./storage-refusal.ts";
import type { Trust } from "./trust.ts";

/** The checkpoint. What `accept` has returned from is on the disk; when it throws nothing was accepted. */
export interface DocumentStore {
  get(source: SourceName): AcceptedDocument | undefined;
  accept(document: AcceptedDocument): void;
  setObserved(source: SourceName, generation: number): void;
  forgetVersion(source: SourceName): void;
}

export interface MqttSourceOptions {
  readonly documents: DocumentStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly sha256: Sha256;
  /** This node's name. */
  readonly node: string;
  /** `mqtt.topicRoot`. */
  readonly topicRoot: string;
  /** `mqtt.fleet`; absent = any. */
  readonly fleet?: string;
  readonly facts: NodeFacts;
  readonly trust: Pick<Trust, "look" | "receive" | "verify">;
  readonly podRules: PodRules;
  /** Whether the kernel says that the clock is synchronised. */
  readonly clockTrusted: () => boolean;
  /** Receives a snapshot at the start and after every change. */
  readonly emit: (snapshot: SourceSnapshot) => void;
  /** Receives the state of every document source at the start and after every change. */
  readonly onState: (states: readonly DocumentState[]) => void;
}

/** A document that could not be written down is tried again without the broker's help. */
const STORE_RETRY: BackoffPolicy = { initial: 30_000, max: 600_000, resetAfter: 3_600_000 };

const SOURCE: SourceName = "mqtt:node";

export class MqttSource implements Disposable {
  readonly #options: MqttSourceOptions;
  readonly #address: DocumentAddress;
  readonly #refusals: RefusalMemory;
  readonly #refusalLog: RefusalLog;
  #stored: AcceptedDocument | undefined;
  #document: DesiredDocument | undefined;
  /** False until a document was accepted or restored whole (law 5). */
  #ready = false;
  /** What the accepted document leaves out or ignores. */
  #notices: readonly Rejection[] = [];
  /** Why the newest refused document was refused, while it is the newest. */
  #refused: readonly Rejection[] = [];
  /** The newest message, if it was refused: with other keys in force it may count. */
  #refusedMessage: Uint8Array | undefined;
  #retry: Disposable | undefined;
  #backoff: BackoffEntry | undefined;

  constructor(options: MqttSourceOptions) {
    this.#options = options;
    const { node, topicRoot: root } = options;
    this.#address = {
      source: SOURCE,
      topic: topicFor({ type: "NodeDesired", root, node }),
      node,
    };
    this.#refusals = new RefusalMemory(options.clock);
    this.#refusalLog = new RefusalLog(options.clock, options.log);
  }

  /** Restores the accepted document and speaks, before it returns. Throws what the checkpoint throws. */
  start(): void {
    this.#stored = this.#options.documents.get(SOURCE);
    if (this.#stored !== undefined) this.#restore(this.#stored);
    this.#emit();
    this.#tell();
  }

  #restore(stored: AcceptedDocument): void {
    const { log, sha256 } = this.#options;
    const { generation } = stored;
    const { document, rejected, intact } = restoreDocument(stored, this.#address, sha256);
    this.#notices = rejected;
    this.#ready = intact;
    if (stored.lost !== undefined) {
      log.error(
        "the desired document cannot be opened; it counts again when it is published again",
        {
          source: SOURCE,
          generation,
          why: stored.lost,
        },
      );
      return;
    }
    this.#document = document;
    const { pods, objects } = document;
    log.info("restored the desired document", {
      source: SOURCE,
      generation,
      pods: pods.length,
      objects: objects.length,
    });
    if (!intact)
      log.error("part of the desired document cannot be read", { source: SOURCE, generation });
  }

  /** A message from the broker: this node's document, or who may sign it. Never throws. */
  receive(topic: string, payload: Uint8Array): void {
    const parsed = parseTopic(this.#options.topicRoot, topic);
    if (parsed?.type === "Trust") return this.#options.trust.receive(payload);
    if (topic !== this.#address.topic) return;
    // The newest message is the retained truth; an older one that waits for the disk is history.
    this.#forgetRetry();
    this.#backoff = undefined;
    this.#refusedMessage = undefined;
    this.#take(payload);
  }

  /** Trust was reset: a document of any version follows. Throws what the checkpoint throws. */
  forgetVersion(): void {
    if (this.#stored === undefined) return;
    this.#options.documents.forgetVersion(SOURCE);
    this.#stored = { ...this.#stored, versionForgotten: true };
  }

  /** Other keys are in force: what was refused is judged again, for the broker does not send it twice. */
  judgeAgain(): void {
    const message = this.#refusedMessage;
    if (message === undefined) return;
    this.#forgetRetry();
    this.#take(message);
  }

  /** The document of this generation has converged: remembered for the acknowledgement after a restart. */
  observed(source: SourceName, generation: number): void {
    const stored = this.#stored;
    if (stored === undefined || source !== SOURCE || stored.generation !== generation) return;
    if (stored.observedGeneration === generation) return;
    try {
      this.#options.documents.setObserved(SOURCE, generation);
    } catch (thrown) {
      // It has converged whether it is written down or not; after a restart it converges again.
      this.#options.log.warn("cannot write down that the document has converged", {
        source: SOURCE,
        generation,
        error: messageOf(thrown),
      });
    }
    this.#stored = { ...stored, observedGeneration: generation };
    this.#tell();
  }

  states(): readonly DocumentState[] {
    return [
      {
        source: SOURCE,
        document: this.#document,
        observedGeneration: this.#stored?.observedGeneration ?? 0,
        acceptedAt: this.#stored?.acceptedAt ?? 0,
        lastRejected: this.#refusals.last(),
      },
    ];
  }

  [Symbol.dispose](): void {
    this.#forgetRetry();
  }

  #take(payload: Uint8Array): void {
    const verdict = this.#judge(payload);
    this.#refusedMessage = verdict.type === "Refused" ? payload : undefined;
    switch (verdict.type) {
      case "Accepted":
        return this.#accept(verdict, payload);
      case "Unchanged":
        return this.#setRefused([]);
      case "Refused":
        return this.#refuse(verdict);
    }
  }

  #judge(payload: Uint8Array): Verdict {
    const { clock, clockTrusted, facts, fleet, sha256, trust, podRules } = this.#options;
    const keyring = trust.look();
    const stored = this.#stored;
    return judgeDocument({
      address: this.#address,
      payload,
      stored,
      current: this.#document?.objects ?? [],
      context: {
        facts,
        ...(fleet === undefined ? {} : { fleet }),
        now: clock.now(),
        clockTrusted: clockTrusted(),
        accepted: stored === undefined ? {} : { [documentName(SOURCE)]: stored.generation },
        trust: { keyring, verify: trust.verify },
        podRules,
        sha256,
      },
    });
  }

  #accept(verdict: Extract<Verdict, { type: "Accepted" }>, payload: Uint8Array): void {
    const { accepted, document, notices } = verdict;
    const { digest, generation } = accepted;
    try {
      this.#options.documents.accept(accepted);
    } catch (thrown) {
      this.#retryLater(payload);
      this.#refuse({ ...storageRefusal(thrown), digest, generation });
      return;
    }
    this.#stored = accepted;
    this.#document = document;
    this.#ready = true;
    this.#notices = notices;
    this.#refused = [];
    this.#backoff = undefined;
    this.#refusals.forget();
    this.#options.log.info("accepted a desired document", {
      source: SOURCE,
      epoch: accepted.epoch,
      generation,
      signed: document.signed === true,
      pods: document.pods.length,
      objects: document.objects.length,
    });
    this.#emit();
    this.#tell();
  }

  #refuse(refused: Refusal & { readonly digest: string; readonly generation?: number }): void {
    const { code, digest, generation, message, rejections } = refused;
    const facts = { source: SOURCE, code, digest, generation, reason: message };
    this.#refusalLog.warn("refused a desired document", facts);
    const isNews = this.#refusals.note({
      code,
      digest,
      message,
      ...(generation === undefined ? {} : { generation }),
    });
    this.#setRefused(rejections);
    if (isNews) this.#tell();
  }

  #setRefused(rejections: readonly Rejection[]): void {
    if (JSON.stringify(rejections) === JSON.stringify(this.#refused)) return;
    this.#refused = rejections;
    this.#emit();
  }

  #retryLater(payload: Uint8Array): void {
    const { clock } = this.#options;
    this.#backoff = nextBackoff(this.#backoff, clock.monotonic(), STORE_RETRY);
    this.#forgetRetry();
    this.#retry = clock.after(this.#backoff.delay, () => {
      this.#retry = undefined;
      this.#take(payload);
    });
  }

  #forgetRetry(): void {
    this.#retry?.[Symbol.dispose]();
    this.#retry = undefined;
  }

  #emit(): void {
    const document = this.#document;
    this.#options.emit({
      source: SOURCE,
      ready: this.#ready,
      pods: document?.pods ?? [],
      objects: document?.objects ?? [],
      rejected: [...this.#notices, ...this.#refused],
      ...(this.#ready && document !== undefined ? { document } : {}),
    });
  }

  #tell(): void {
    this.#options.onState(this.states());
  }
}
