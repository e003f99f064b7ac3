// Performs: lets an update of the agent be downloaded, and switched to, when it may: not while the node shuts down, and by
// order of a document only inside the maintenance windows of that document or the node.

import { changesAt, judgeWindows, type WindowVerdict } from "../api/window/judge-windows.ts";
import type {
  MaintenanceWindow,
  UpdateStep as WindowStep,
} from "../api/window/maintenance-window.ts";
import type { Instant } from "../api/workload/wall-time.ts";
import type { Edges } from "../edges.ts";
import { AgentError } from "../lib/errors.ts";
import { TrustedTime } from "../api/window/trusted-time.ts";
import type { DocumentState } from "../protocol/desired-document.ts";
import {
  judgeOrder,
  mayUpdateNow,
  windowsOfUpdate,
  type NodeVersion,
  type UpdateOrder,
  type UpdateStep,
} from "./update-order.ts";

export interface UpdateGateOptions {
  readonly edges: Pick<Edges, "clock" | "clockSynchronised" | "clockFloor">;
  readonly documents: () => readonly DocumentState[];
  /** Of the node. */
  readonly maintenanceWindows: readonly MaintenanceWindow[];
  readonly isShuttingDown: () => boolean;
}

/** The wall clock may jump meanwhile. */
const LOOK_AGAIN_MS = 30_000;
const STEPS: Readonly<Record<UpdateStep, WindowStep>> = { Download: "download", Switch: "update" };
const WINDOW_ENDED = "WindowEnded";

/** Reason of what `requireGo` throws where there is nothing to do. */
export const ALREADY = "AlreadyRunning";

/** Throws what keeps the node from this update. */
export function requireGo(order: UpdateOrder, node: NodeVersion): void {
  const verdict = judgeOrder(order, node);
  switch (verdict.type) {
    case "Go":
      return;
    case "Running":
      throw new AgentError({ reason: ALREADY, message: verdict.message });
    case "Failed": {
      const { name, reason } = verdict.failure;
      const message = `version ${name} has failed on this node before: ${reason}; agent self-update --retry tries it again`;
      throw new AgentError({ reason: "KnownBad", message });
    }
  }
}

/** Of one binary: when each step was last let go on by an open window. */
interface Allowed {
  readonly sha256: string | undefined;
  readonly at: Partial<Record<UpdateStep, Instant>>;
}

export class UpdateGate {
  readonly #options: UpdateGateOptions;
  readonly #time: TrustedTime;
  #allowed: Allowed = { sha256: undefined, at: {} };

  constructor(options: UpdateGateOptions) {
    this.#options = options;
    this.#time = new TrustedTime(options.edges);
  }

  /** Why the step must wait; undefined = it may be taken. */
  waits(step: UpdateStep, order: UpdateOrder): string | undefined {
    const { isShuttingDown } = this.#options;
    // Also the other one: what a window has let begin has its grace.
    const verdicts = {
      Download: this.#judge("Download", order),
      Switch: this.#judge("Switch", order),
    };
    return mayUpdateNow(step, {
      isShuttingDown: isShuttingDown(),
      origin: order.origin,
      window: verdicts[step],
    });
  }

  /** Rejects with what `isOver` recognises when the step may not go on. */
  async within<T>(
    step: UpdateStep,
    order: UpdateOrder,
    { run, signal }: { run: (signal: AbortSignal) => Promise<T>; signal: AbortSignal },
  ): Promise<T> {
    const { clock } = this.#options.edges;
    const over = new AbortController();
    const both = AbortSignal.any([signal, over.signal]);
    let timer: Disposable | undefined;
    const look = (): void => {
      const message = this.waits(step, order);
      if (message !== undefined) over.abort(new AgentError({ reason: WINDOW_ENDED, message }));
      else timer = clock.after(this.#lookAgainMs(step, order), look);
    };
    timer = clock.after(this.#lookAgainMs(step, order), look);
    try {
      return await run(both);
    } catch (error) {
      if (over.signal.aborted && !signal.aborted) throw over.signal.reason;
      throw error;
    } finally {
      timer[Symbol.dispose]();
    }
  }

  isOver(error: unknown): boolean {
    return error instanceof AgentError && error.reason === WINDOW_ENDED;
  }

  #lookAgainMs(step: UpdateStep, order: UpdateOrder): number {
    const [at, now] = [changesAt(this.#judge(step, order)), this.#time.now()];
    if (at === undefined || now === undefined) return LOOK_AGAIN_MS;
    return Math.max(1000, Math.min(LOOK_AGAIN_MS, at - now));
  }

  #judge(step: UpdateStep, { sha256 }: UpdateOrder): WindowVerdict {
    const { documents, maintenanceWindows } = this.#options;
    const now = this.#time.now();
    const before = this.#allowed.sha256 === sha256 ? this.#allowed.at : {};
    const windows = windowsOfUpdate(documents()) ?? maintenanceWindows;
    const verdict = judgeWindows(windows, STEPS[step], { now, allowedAt: before[step] });
    if (verdict.type === "Open" && now !== undefined)
      this.#allowed = { sha256, at: { ...before, [step]: now } };
    return verdict;
  }
}
