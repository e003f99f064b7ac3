// Performs: which update of the agent the documents ask for, and when it may begin: not at once on every node of a fleet, and
// later and later while it fails.

import type { Edges } from "../edges.ts";
import type { Failure } from "../host/versions/versions.ts";
import { nextBackoff, retryAt, type BackoffEntry, type BackoffPolicy } from "../lib/backoff.ts";
import type { Monotonic } from "../lib/clock.ts";
import type { Platform } from "../protocol/agent-release.ts";
import type { DocumentState } from "../protocol/desired-document.ts";
import {
  judgeOrder,
  orderOfDocument,
  updateOfDocuments,
  type UpdateOrder,
} from "./update-order.ts";

/** A fleet does not download at once. */
const SPREAD_MS = 30_000;
const RETRY: BackoffPolicy = { initial: 60_000, max: 3_600_000, resetAfter: 86_400_000 };

interface DocumentOrdersOptions {
  readonly edges: Pick<Edges, "clock" | "random">;
  readonly documents: () => readonly DocumentState[];
  readonly platform: Platform | undefined;
  /** That runs. */
  readonly version: string;
  readonly failures: () => readonly Failure[];
}

export interface DueOrder {
  readonly order: UpdateOrder;
  readonly due: Monotonic;
}

export class DocumentOrders {
  readonly #options: DocumentOrdersOptions;
  /** Digest of the newest binary that was asked for. */
  #sha256: string | undefined;
  #since: Monotonic = 0;
  #backoff: BackoffEntry | undefined;

  constructor(options: DocumentOrdersOptions) {
    this.#options = options;
  }

  /** undefined = none asks for another version that has not failed. */
  next(): DueOrder | undefined {
    const { documents, platform, version, failures, edges } = this.#options;
    const update = updateOfDocuments(documents());
    if (update === undefined || platform === undefined) return undefined;
    const order = orderOfDocument(update, platform);
    if (order === undefined) return undefined;
    // Asked after each change on the node: the disk is read only where the version that runs is not the wanted one.
    const node = {
      version,
      get failures() {
        return failures();
      },
    };
    if (judgeOrder(order, node).type !== "Go") return undefined;
    if (this.#sha256 !== order.sha256) {
      this.#sha256 = order.sha256;
      this.#since = edges.clock.monotonic() + SPREAD_MS * edges.random.next();
      this.#backoff = undefined;
    }
    return { order, due: Math.max(this.#since, retryAt(this.#backoff)) };
  }

  failed({ sha256 }: Pick<UpdateOrder, "sha256">): void {
    if (sha256 !== this.#sha256) return;
    this.#backoff = nextBackoff(this.#backoff, this.#options.edges.clock.monotonic(), RETRY);
  }
}
