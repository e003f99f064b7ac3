// Performs: reports what the OOM killer ends because the whole node has run out of memory: those victims may be in no
// container. kubelet: oomwatcher

import type { RecordEvent } from "../api/v1/events.ts";
import type { Edges } from "../edges.ts";
import { jitter } from "../lib/random.ts";

interface SystemOomOptions {
  readonly edges: Pick<Edges, "clock" | "random" | "kernelLog">;
  readonly nodeName: string;
  readonly record: RecordEvent;
}

const LOOK_MS = 60_000;
/** Events of one look. */
const SHOWN_AT_ONCE = 20;

interface Victim {
  readonly process: string;
  readonly pid: string;
}

/** Of the whole node; a container that exceeds its own limit is reported as its pod's event. */
export function systemVictims(messages: readonly string[]): readonly Victim[] {
  return messages.flatMap((message) => {
    const [, pid, process] =
      /^Out of memory: Killed process (\d+) \((.*?)\)(?:,| total-vm)/.exec(message) ?? [];
    return pid === undefined || process === undefined ? [] : [{ process, pid }];
  });
}

export class SystemOom {
  readonly #options: SystemOomOptions;

  constructor(options: SystemOomOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, kernelLog } = this.#options.edges;
    while (!signal.aborted) {
      this.#look();
      await clock.sleep(jitter(random, LOOK_MS, 0.1), signal);
    }
    kernelLog[Symbol.dispose]();
  }

  #look(): void {
    const { edges, nodeName, record } = this.#options;
    const victims = systemVictims(edges.kernelLog.read());
    for (const { process, pid } of victims.slice(0, SHOWN_AT_ONCE))
      record({
        type: "Warning",
        reason: "SystemOOM",
        object: { kind: "Node", name: nodeName },
        message: `System OOM encountered, victim process: ${process}, pid: ${pid}`,
      });
  }
}
