// Performs: reports to the service manager: ready once local facts are reconciled, alive as long as the loops turn, and one
// line about what the agent waits for or runs. Neither the network nor the runtime holds up the boot of a device.

import type { Edges } from "../edges.ts";
import type { ServiceManager } from "../host/service-manager.ts";
import type { Clock } from "../lib/clock.ts";

/** The agent as its service manager sees it. */
export interface ServiceFacts {
  /** Files and checkpoints are read, the runtime is listed, and every pod has its worker. */
  isReconciled(): boolean;
  /** Which loop does not turn; undefined = all do. That the runtime does not answer is no reason. */
  stuck(): string | undefined;
  /** One line. */
  summary(): string;
}

interface ServiceRooms {
  readonly edges: Pick<Edges, "clock" | "serviceManager">;
  readonly loop: { readonly hasApplied: boolean; unhealthy(): string | undefined };
  readonly lifecycle: { stuck(): string | undefined };
  readonly runtime: { unhealthy(): string | undefined };
  readonly pods: { readonly workers: { entries(): readonly unknown[] } };
}

/** One of the agent's loops: it ends with them, also when the agent ends to be started again. */
export class ServiceReports {
  readonly #rooms: ServiceRooms;

  constructor(rooms: ServiceRooms) {
    this.#rooms = rooms;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, serviceManager } = this.#rooms.edges;
    if (serviceManager === undefined) return;
    await reportToManager(serviceManager, { facts: serviceFacts(this.#rooms), clock }, signal);
  }
}

function serviceFacts({ loop, lifecycle, runtime, pods }: ServiceRooms): ServiceFacts {
  return {
    isReconciled: () => loop.hasApplied,
    stuck: () => loop.unhealthy() ?? lifecycle.stuck(),
    summary: () => {
      const count = pods.workers.entries().length;
      const some = `${count} ${count === 1 ? "pod" : "pods"}`;
      const trouble = loop.hasApplied ? runtime.unhealthy() : "waits for the container runtime";
      return trouble === undefined ? some : `${some}; ${trouble}`;
    },
  };
}

const LOOK_MS = 1_000;
/** Without a runtime the agent is no use yet, but what waits for its unit at boot goes on. */
const LONGEST_WAIT_MS = 60_000;
/** systemd: half of WatchdogSec is recommended. */
const BEATS_A_WATCHDOG = 3;
const STATUS_EACH_MS = 60_000;

export async function reportToManager(
  manager: ServiceManager,
  { facts, clock }: { readonly facts: ServiceFacts; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const begun = clock.monotonic();
  manager.status("waits for the container runtime and the local manifests");
  while (!facts.isReconciled() && clock.monotonic() - begun < LONGEST_WAIT_MS) {
    await clock.sleep(LOOK_MS, signal);
    if (signal.aborted) return manager.stopping();
    beat(manager, facts);
  }
  manager.ready();
  const pause = Math.min(STATUS_EACH_MS, (manager.watchdogMs ?? Infinity) / BEATS_A_WATCHDOG);
  let shown: string | undefined;
  while (!signal.aborted) {
    beat(manager, facts);
    const text = facts.stuck() ?? facts.summary();
    if (text !== shown) manager.status(text);
    shown = text;
    await clock.sleep(pause, signal);
  }
  manager.stopping();
}

function beat(manager: ServiceManager, facts: ServiceFacts): void {
  if (manager.watchdogMs !== undefined && facts.stuck() === undefined) manager.alive();
}
