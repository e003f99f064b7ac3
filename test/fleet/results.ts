// The figures of a fleet of one size; docs/fleet-scale.json holds the published ones.

import type { PageFigures, Program } from "./operators.ts";
import type { DocumentTimes, Idle, Storm } from "./scenes.ts";

export interface FleetFigures {
  readonly nodes: number;
  readonly on: Storm;
  readonly idle: Idle;
  readonly document: DocumentTimes;
  readonly status: Program;
  readonly exporter: Program;
  readonly page: PageFigures;
  /** `away`: s without a broker. */
  readonly restart: Storm & { readonly away: number };
  /** Resident, in the end. */
  readonly brokerMegabytes: number;
}

export interface FleetResults {
  readonly machine: string;
  readonly figures: readonly FleetFigures[];
}
