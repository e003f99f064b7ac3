// How updates stand in a simulated world, as the agent has written it down; and whether that may be.

import type { RolloutState } from "../../src/api/pod/rollout.ts";
import type { UpdatePolicy } from "../../src/api/pod/update-policy.ts";
import type { Ack } from "../../src/protocol/reported-state.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import type { SimAgent } from "./sim-agent.ts";
import { runsAgain } from "./sim-kubernetes.ts";
import { NAMES, type SimName, type SimSpec } from "./sim-specs.ts";

export type SimPolicy = Pick<
  UpdatePolicy,
  "minReadySeconds" | "progressDeadlineSeconds" | "onFailure" | "atomic" | "strategy"
>;

export interface SimRolloutsOptions {
  readonly specs: ReadonlyMap<string, SimSpec>;
  readonly policy: () => SimPolicy;
  readonly agent: () => SimAgent | undefined;
  /** As the newest good document has it. */
  readonly wanted: (name: SimName) => SimSpec | undefined;
}

/** What a document says of its updates: dice of its own, so that nothing else of the seed changes. */
export function throwPolicy(seed: number): SimPolicy {
  const dice = new Mulberry32(seed + 7_777_777);
  return {
    minReadySeconds: dice.pick([0, 1, 10]),
    progressDeadlineSeconds: dice.pick([20, 60, 200]),
    onFailure: dice.weighted([
      ["rollback", 6],
      ["keep", 4],
    ]),
    atomic: dice.chance(0.2),
    strategy: dice.chance(0.15) ? "stop-then-pull" : "pull-then-replace",
  };
}

export class SimRollouts {
  readonly #options: SimRolloutsOptions;
  /** What was published under a name, ever. */
  readonly #published = new Map<SimName, Set<string>>();

  constructor(options: SimRolloutsOptions) {
    this.#options = options;
  }

  onPublished(specs: Iterable<SimSpec>): void {
    for (const { name, uid } of specs)
      this.#published.set(name, (this.#published.get(name) ?? new Set()).add(uid));
  }

  /** What runs of the document under this name: as it wants it, what was good before, or what lingers. */
  effective(name: SimName): SimSpec | undefined {
    const wanted = this.#options.wanted(name);
    const { specs, agent } = this.#options;
    const { pods = [], notAdmitted = [] } = agent()?.desired ?? {};
    // What was taken back may have no room.
    const told = [...pods, ...notAdmitted.map(({ desired }) => desired)].find(
      ({ pod, source }) => source === "mqtt:node" && pod.metadata.name === name,
    );
    const spec = told === undefined ? undefined : specs.get(told.uid);
    if (spec === undefined && this.#wasGoodOnce(name)) return undefined;
    if (spec === undefined || spec === wanted) return wanted;
    return this.#published.get(name)?.has(spec.uid) === true && this.isOpen(name) ? spec : wanted;
  }

  /** What it read failed, or another pod of an atomic document, or it lingers: it reads again what was good. */
  goesBack(name: SimName): boolean {
    const failed = this.#options.policy().atomic ? NAMES : [name];
    return failed.some((one) => this.#hasFailed(one)) || this.lingers(name);
  }

  /** Nothing is wrong with it, but another pod of its atomic document has failed: it stays with what was good. */
  staysForOthers(name: SimName): boolean {
    const { good, trial, bad = [] } = this.state(name) ?? {};
    const isWell = good !== undefined && trial === undefined && bad.length === 0;
    return isWell && this.goesBack(name) && !this.lingers(name);
  }

  #hasFailed(name: SimName): boolean {
    const { bad = [], trial } = this.state(name) ?? {};
    return bad.length > 0 || trial?.failed !== undefined;
  }

  /** The document does not list it any more. */
  lingers(name: SimName): boolean {
    return this.state(name)?.good !== undefined && this.#options.wanted(name) === undefined;
  }

  /** It lingers, and what the document lists has not come yet: what it has left may be there, also where it has no room. */
  mayLinger(name: SimName): boolean {
    return this.lingers(name) && !this.#haveAllCome();
  }

  #haveAllCome(): boolean {
    const listed = NAMES.filter((name) => this.#options.wanted(name) !== undefined);
    return listed.every((name) => {
      const { trial, good, bad = [] } = this.state(name) ?? {};
      return good !== undefined && trial === undefined && bad.length === 0;
    });
  }

  /** What failed was taken back to a pod that has ended well, and does not run twice. */
  #wasGoodOnce(name: SimName): boolean {
    const { good, bad = [] } = this.state(name) ?? {};
    if (good === undefined || bad.length === 0) return false;
    const { specs, wanted } = this.#options;
    const before = [...(this.#published.get(name) ?? [])].flatMap((uid) => specs.get(uid) ?? []);
    const others = before.filter((spec) => spec !== wanted(name));
    return others.some((spec) =>
      spec.containers.every((own) => own.role !== "app" || !runsAgain(spec, own, 0)),
    );
  }

  /** An update of it, or of its atomic document, is under way or has failed; or nobody asks for it any more and it lingers. */
  isOpen(name: SimName): boolean {
    const state = this.state(name);
    if (state?.good === undefined) return false;
    return state.trial !== undefined || this.goesBack(name);
  }

  state(name: SimName): RolloutState | undefined {
    const agent = this.#options.agent();
    return agent?.store.rollouts.of("mqtt:node").get(`default/${name}`);
  }

  /** What has failed and could be taken back was; nothing lingers when all the others have come. */
  wrong({ onFailure }: SimPolicy): string | undefined {
    for (const name of NAMES) {
      const { trial, good } = this.state(name) ?? {};
      if (onFailure !== "rollback" || good === undefined) continue;
      if (trial?.failed !== undefined && this.#isReadable(name))
        return `${name} has failed and was not taken back`;
    }
    if (!this.#haveAllCome()) return undefined;
    const left = NAMES.find(
      (name) => this.#options.wanted(name) === undefined && this.effective(name) !== undefined,
    );
    return left === undefined ? undefined : `${left} lingers although all the others have come`;
  }

  /** A copy that nobody can read any more, such as after the loss of its key, is no way back. */
  #isReadable(name: SimName): boolean {
    const copy = this.#options.agent()?.store.rollouts.copy({
      source: "mqtt:node",
      name: `default/${name}`,
    });
    return copy?.type !== "Lost";
  }

  /** An acknowledgement that something was taken back. */
  wrongRollback(ack: Ack, names: readonly SimName[]): string | undefined {
    const back = names.filter((name) => this.effective(name) !== this.#options.wanted(name));
    // For the failure of one, pods of an atomic document keep the content that they have read.
    const failed = names.filter((name) => this.#hasFailed(name));
    if (back.length === 0 && failed.length === 0) return "nothing was taken back, and 424 is said";
    if (ack.lastGood === undefined) return "what was taken back names no generation";
    return undefined;
  }
}
