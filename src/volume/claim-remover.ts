// Performs: removes the data of persistentVolumeClaims: it is taken away at once, and its space is freed in steps, between
// which pods are synced. What a crash interrupts is finished after the next start.

import type { Edges } from "../edges.ts";
import { Alarm } from "../lib/alarm.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import { LatestBox } from "../lib/mailbox.ts";
import type { Hand } from "../store/start-guard/hand.ts";
import type { WorkGuard } from "../store/start-guard/start-guard.ts";
import type { ClaimName, Claims } from "./claim-directory.ts";
import { usersOf, type ClaimUsers } from "./claim-users.ts";

interface ClaimRemoverOptions extends Pick<Edges, "files" | "clock" | "log"> {
  readonly claims: Pick<Claims, "has" | "removeData" | "removed">;
  readonly guard: WorkGuard;
}

/** The result of removing a claim's data. */
export type ClaimOutcome =
  | { readonly type: "Removed" }
  /** Pods (`namespace/name`) that mount it and are desired or not gone yet. */
  | { readonly type: "InUse"; readonly pods: readonly string[] }
  /** There is no directory of this name. */
  | { readonly type: "NotFound" }
  | { readonly type: "Failed"; readonly message: string };

const UNKNOWN = "the pods of this node are not known yet; try again in a moment";
/** Until space that could not be freed is tried again. */
const AGAIN_MS = 600_000;

export class ClaimRemover {
  readonly #options: ClaimRemoverOptions;
  readonly #begun = new LatestBox<true>();

  constructor(options: ClaimRemoverOptions) {
    this.#options = options;
  }

  /** Removes the data of a claim, unless a pod may still use it. */
  remove(claim: ClaimName, users: ClaimUsers): ClaimOutcome {
    const { claims, log } = this.#options;
    if (!users.areKnown) return { type: "Failed", message: UNKNOWN };
    const pods = usersOf(claim, users);
    if (pods.length > 0) return { type: "InUse", pods };
    const name = `${claim.namespace}/${claim.name}`;
    try {
      if (!claims.has(claim)) return { type: "NotFound" };
      claims.removeData(claim);
    } catch (error) {
      // Of a client that may send any name.
      if (reasonOf(error, "") === "InvalidName") return { type: "NotFound" };
      log.error("cannot remove the data of a claim", { claim: name, error: messageOf(error) });
      return { type: "Failed", message: messageOf(error) };
    }
    log.info("RemoveClaimData", { claim: name });
    this.#begun.put(true);
    return { type: "Removed" };
  }

  /** Frees the space until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    using again = new Alarm(this.#options.clock, () => this.#begun.put(true));
    this.#begun.put(true);
    while ((await this.#begun.take(signal)) !== undefined)
      if (!(await this.#freeAll(signal))) again.after(AGAIN_MS);
  }

  /** Resolves false when some of it is left. */
  async #freeAll(signal: AbortSignal): Promise<boolean> {
    const { claims } = this.#options;
    return this.#attempt(async () => {
      let isFree = true;
      // One that is stuck keeps no other waiting.
      for (const path of claims.removed())
        isFree = (await this.#attempt(() => this.#free(path, signal))) && isFree;
      return isFree;
    });
  }

  async #attempt(free: () => Promise<boolean>): Promise<boolean> {
    try {
      return await free();
    } catch (error) {
      const facts = { error: messageOf(error) };
      this.#options.log.warn("cannot free the space of a claim's data", facts);
      return false;
    }
  }

  async #free(path: string, signal: AbortSignal): Promise<boolean> {
    const { files, clock, guard } = this.#options;
    const hand: Hand = { kind: "Removal", id: path, name: path };
    if (!(await guard.free(hand, signal))) return false;
    using held = guard.hold(hand);
    for (const _ of files.emptyLargeTree(path)) {
      await clock.sleep(0, signal);
      if (signal.aborted) return false;
    }
    files.removeTree(path);
    held.settle();
    return true;
  }
}
