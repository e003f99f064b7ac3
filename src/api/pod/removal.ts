// A removal under way: written before the first stop, settled before the UID or the name may start again (law 16).

import type { PodUID } from "../v1/pod.ts";

export interface Removal {
  readonly uid: PodUID;
  readonly namespace: string;
  readonly name: string;
  /** `Deleted`: its source dropped it, everything goes; `Replaced`: logs and last status stay for diagnosis. */
  readonly why: "Deleted" | "Replaced";
}
