// Judges places on the node: what does not fit together never runs together, and only a pod that comes first and waits for
// the place of another ends it.

import type { DesiredState } from "../../src/api/pod/desired-pod.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import { uidOf, type Ledger } from "./sim-ledger.ts";
import { comesFirst, fitTogether } from "./sim-room.ts";
import type { SimSpec } from "./sim-specs.ts";

export class RoomJudge {
  readonly #ledger: Ledger;
  /** UIDs of pods that were there when the database was lost: they hold their places, and nobody knows which. */
  readonly #unknown = new Set<string>();
  /** UID → the process that refused the pod while it ran. No process stops it, and the next one does not know of it. */
  readonly #refused = new Map<string, number>();
  /** UID → sandboxes whose pods had no spec when a sandbox of it was asked for. */
  readonly #besideUnknown = new Map<string, Set<string>>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** `view`: what the agent wants to run. */
  onPreempted(uid: string, view: Pick<DesiredState, "pods" | "notAdmitted">): void {
    const ledger = this.#ledger;
    const spec = ledger.spec(uid);
    // One of which nothing is there yet costs nobody anything: it begins when there is room.
    if (spec === undefined || ledger.sandboxesOf(uid).length === 0) return;
    // What no file declares any more runs only until a document's pod of its name is ready, and is in no file's way.
    const refused = view.notAdmitted.map(({ desired }) => desired);
    const isLeft = [...view.pods, ...refused].some(
      (pod) => pod.source !== "file" && ledger.spec(pod.uid)?.name === spec.name,
    );
    const isOfFile = !isLeft && ledger.ownSources(uid).every((source) => source === "file");
    const waits = (one: SimSpec): boolean =>
      !ledger.containersOf(one.uid).some((container) => ledger.isAlive(container));
    const lingers = view.pods.some((pod) => pod.uid === uid && pod.lingers === true);
    const cause = view.pods
      .flatMap((pod) => {
        const one = ledger.spec(pod.uid);
        const isOther = one !== undefined && pod.lingers !== true;
        return isOther ? [{ spec: one, isOfFile: pod.source === "file", lingers: false }] : [];
      })
      .filter((one) => comesFirst(one, { spec, isOfFile, lingers }))
      .find((one) => !fitTogether(one.spec, spec) && waits(one.spec));
    if (cause === undefined) ledger.accuse(`${spec.key} makes room, and no pod before it needs it`);
  }

  look(): void {
    const ledger = this.#ledger;
    for (const { desired } of ledger.agent?.desired.notAdmitted ?? []) {
      const runs = ledger.containersOf(desired.uid).some((one) => ledger.isAlive(one));
      if (runs) this.#refused.set(desired.uid, ledger.process);
    }
  }

  onSettle(uid: string): void {
    this.#refused.delete(uid);
    this.#besideUnknown.delete(uid);
  }

  onAskSandbox(uid: string): void {
    const known = this.#known();
    const unknown = this.#besideUnknown.get(uid) ?? new Set();
    for (const sandbox of this.#ledger.runtime.sandboxes.values())
      if (!known.has(uidOf(sandbox) ?? "")) unknown.add(sandbox.id);
    this.#besideUnknown.set(uid, unknown);
  }

  onLostDatabase(): void {
    for (const sandbox of this.#ledger.runtime.sandboxes.values()) {
      const uid = uidOf(sandbox);
      if (uid !== undefined) this.#unknown.add(uid);
    }
  }

  onStarted(container: FakeContainer): void {
    const ledger = this.#ledger;
    const spec = ledger.spec(uidOf(container));
    if (spec === undefined || ledger.startedBy.get(container.id) !== ledger.process) return;
    if (this.#unknown.has(spec.uid) || this.#wentOn(spec.uid)) return;
    const known = this.#known();
    const beside = ledger.runtime
      .running()
      .filter((one) => ledger.isAlive(one) && !ledger.isForeign(one))
      .filter((one) => known.has(uidOf(one) ?? "") && !this.#wentOn(uidOf(one) ?? ""))
      .filter((one) => !this.#beganUnknown(one, container) && !this.#beganUnknown(container, one))
      .flatMap((one) => ledger.spec(uidOf(one)) ?? [])
      .find((other) => !fitTogether(spec, other));
    if (beside !== undefined)
      ledger.accuse(`${ledger.nameOf(container)} starts beside ${beside.key}, and both do not fit`);
  }

  /** What an earlier process left without its spec holds a place that the present one cannot know. */
  #known(): ReadonlySet<string> {
    const { agent } = this.#ledger;
    const preempted = agent?.store.removals.all().filter(({ why }) => why === "Preempted") ?? [];
    const pods = agent?.pods().map(({ desired }) => desired.uid) ?? [];
    return new Set([...pods, ...preempted.map(({ uid }) => uid)]);
  }

  /** It began when nothing was known of the other but that it was there: what has begun goes on. */
  #beganUnknown(container: FakeContainer, other: FakeContainer): boolean {
    const unknown = this.#besideUnknown.get(uidOf(container) ?? "");
    return this.#ledger.sandboxesOf(uidOf(other) ?? "").some(({ id }) => unknown?.has(id) === true);
  }

  /** An earlier process refused it and let it run, while what it gave the room to began. */
  #wentOn(uid: string): boolean {
    const process = this.#refused.get(uid);
    return process !== undefined && process < this.#ledger.process;
  }
}
