// Judges places on the node: what does not fit together never runs together, and only a file's pod that waits for the
// place of a document's pod ends it.

import type { DesiredState } from "../../src/api/pod/desired-pod.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import { uidOf, type Ledger } from "./sim-ledger.ts";
import { fitTogether } from "./sim-room.ts";
import type { SimSpec } from "./sim-specs.ts";

export class RoomJudge {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** `view`: what the agent wants to run. */
  onPreempted(uid: string, view: Pick<DesiredState, "pods">): void {
    const ledger = this.#ledger;
    const spec = ledger.spec(uid);
    if (spec === undefined) return;
    const files = view.pods.filter(({ source }) => source === "file");
    const waits = (one: SimSpec): boolean =>
      !ledger.containersOf(one.uid).some((container) => ledger.isAlive(container));
    const cause = files
      .flatMap((file) => ledger.spec(file.uid) ?? [])
      .find((one) => !fitTogether(one, spec) && waits(one));
    if (cause === undefined) ledger.accuse(`${spec.key} makes room, and no pod of a file needs it`);
    if (ledger.ownSources(uid).every((source) => source === "file"))
      ledger.accuse(`${spec.key} of a file makes room`);
  }

  onStarted(container: FakeContainer): void {
    const ledger = this.#ledger;
    const spec = ledger.spec(uidOf(container));
    if (spec === undefined || ledger.startedBy.get(container.id) !== ledger.process) return;
    // What an earlier process left without its spec holds a place that this one cannot know.
    const preempted = ledger.agent?.store.removals.all().filter(({ why }) => why === "Preempted");
    const pods = ledger.agent?.pods().map(({ desired }) => desired.uid) ?? [];
    const known = new Set([...pods, ...(preempted ?? []).map(({ uid }) => uid)]);
    const beside = ledger.runtime
      .running()
      .filter((one) => ledger.isAlive(one) && !ledger.isForeign(one))
      .filter((one) => known.has(uidOf(one) ?? ""))
      .flatMap((one) => ledger.spec(uidOf(one)) ?? [])
      .find((other) => !fitTogether(spec, other));
    if (beside !== undefined)
      ledger.accuse(`${ledger.nameOf(container)} starts beside ${beside.key}, and both do not fit`);
  }
}
