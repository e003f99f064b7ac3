// Judges whether somebody's turn has come: init containers in order, nobody after the pod's end, nobody before those it depends on.

import type { Monotonic } from "../../src/lib/clock.ts";
import type { CallName } from "../fakes/fake-cri-faults.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import { isThrough, neverBegins, runsAgain, type Codes } from "./sim-kubernetes.ts";
import { podNameOf, uidOf, type Ledger } from "./sim-ledger.ts";
import type { ProbeBook } from "./sim-judge-probes.ts";
import type { SimContainer, SimSpec } from "./sim-specs.ts";
import type { PodFailure } from "../../src/api/v1/pod-status.ts";

export class TurnJudge {
  readonly #ledger: Ledger;
  readonly #probes: ProbeBook;
  /** `sandbox/name` of every container that has started in it. */
  readonly #started = new Set<string>();
  /** `sandbox/name` of every one that has ended well by itself. */
  readonly #done = new Set<string>();
  /** Those that the agent told to stop: how they ended says nothing. */
  readonly #told = new Set<string>();
  /** Names of pods of which an app container has run in this boot. */
  readonly #ran = new Set<string>();
  /** UIDs that have a sandbox of this boot. */
  readonly #begun = new Set<string>();
  /** UID → since when it may be active at the earliest. */
  readonly #since = new Map<string, Monotonic>();
  #met = new Set<string>();
  /** UIDs that have failed as a whole in their present life. */
  readonly #failed = new Set<string>();
  #lastFailure: { readonly uid: string; readonly at: Monotonic } | undefined;

  constructor(ledger: Ledger, probes: ProbeBook) {
    this.#ledger = ledger;
    this.#probes = probes;
  }

  onReboot(): void {
    this.#ran.clear();
    this.#begun.clear();
    this.#met = new Set();
  }

  onWanted(uid: string): void {
    if (!this.#since.has(uid)) this.#since.set(uid, this.#ledger.now);
  }

  onLostDatabase(): void {
    this.#failed.clear();
  }

  /** It may fail again. */
  onForget(uid: string): void {
    this.#failed.delete(uid);
  }

  onSettle(uid: string): void {
    this.#begun.delete(uid);
    this.#failed.delete(uid);
    this.#since.set(uid, this.#ledger.now);
  }

  onTold(id: string): void {
    this.#told.add(id);
  }

  onCreatedSandbox(id: string): void {
    const uid = this.#ledger.uidOfSandbox(id);
    if (uid !== undefined) this.#begun.add(uid);
  }

  onStarted(container: FakeContainer): void {
    this.#started.add(placeOf(container));
    if (this.#ledger.own(container)?.role === "app") this.#ran.add(podNameOf(container));
  }

  onExited(container: FakeContainer): void {
    const end = this.#ledger.ends.get(container.id);
    if (end?.cause === "self" && end.code === 0) this.#done.add(placeOf(container));
  }

  /** After everything that happens: what is met at some time may be acted on a little later. */
  look(): void {
    for (const uid of this.#ledger.dependents)
      if (!this.#met.has(uid) && this.#isMet(uid)) this.#met.add(uid);
  }

  onAskSandbox(uid: string): void {
    const ledger = this.#ledger;
    const spec = this.#forbidsAny("runPodSandbox", uid);
    if (spec === undefined) return;
    const codes = this.#codes(uid);
    const through = isThrough(spec, codes) || neverBegins(spec, codes);
    if (through && !this.#wasTold(uid))
      ledger.accuse(`a sandbox for ${spec.key}, which is finished`);
    if (this.#begun.has(uid) || this.#met.has(uid) || this.#isMet(uid)) return;
    // It ran, and is found to have failed in this same moment.
    if (this.#failsNow(spec.dependsOn?.name)) return;
    ledger.accuse(`${spec.key} begins before ${spec.dependsOn?.name}`);
  }

  onCreate(uid: string, sandboxId: string, name: string): void {
    const spec = this.#forbidsAny("createContainer", uid);
    const own = spec?.containers.find((one) => one.name === name);
    if (spec === undefined) return;
    if (own === undefined) return this.#ledger.accuse(`${spec.key} has no container ${name}`);
    this.#mustBeItsTurn(spec, own, sandboxId);
    this.#mustNotBeDone(spec, own, sandboxId);
  }

  onStart(container: FakeContainer): void {
    const spec = this.#forbidsAny("startContainer", uidOf(container) ?? "");
    const own = this.#ledger.own(container);
    if (spec !== undefined && own !== undefined)
      this.#mustBeItsTurn(spec, own, container.sandboxId);
  }

  onFailure(uid: string, { reason }: PodFailure): void {
    const { now, bootedAt } = this.#ledger;
    const spec = this.#ledger.spec(uid);
    const since = Math.max(bootedAt, this.#since.get(uid) ?? 0);
    this.#ledger.say(`  ${spec?.key} has failed: ${reason}`);
    if (this.#failed.has(uid)) this.#ledger.accuse(`${spec?.key} fails a second time in one life`);
    this.#failed.add(uid);
    this.#lastFailure = { uid, at: now };
    this.onEnd(uid);
    if (reason !== "DeadlineExceeded") return;
    const seconds = spec?.activeDeadlineSeconds ?? Number.POSITIVE_INFINITY;
    if (now - since < seconds * 1_000)
      this.#ledger.accuse(`${spec?.key} is over its deadline after ${now - since} ms`);
  }

  /**
   * What runs when it fails, or makes room, was Running until then: a pod that waited for it begins a little later, after
   * its predecessor's end.
   */
  onEnd(uid: string): void {
    const ledger = this.#ledger;
    const runs = ledger
      .containersOf(uid)
      .some((one) => ledger.own(one)?.role === "app" && ledger.isAlive(one));
    if (!runs) return;
    for (const dependent of ledger.dependents) {
      const { name, state } = ledger.spec(dependent)?.dependsOn ?? {};
      if (name === ledger.spec(uid)?.name && state === "Running") this.#met.add(dependent);
    }
  }

  /** Its spec; undefined = it has been accused. */
  #forbidsAny(call: CallName, uid: string): SimSpec | undefined {
    const ledger = this.#ledger;
    const spec = ledger.spec(uid);
    ledger.say(`  ${call} ${ledger.key(uid)}`);
    if (spec === undefined) ledger.accuse(`${call} for a pod that no source declares: ${uid}`);
    if (ledger.isLeaving(uid)) ledger.accuse(`${call} for ${spec?.key}, whose removal was ordered`);
    if (ledger.hasFailed(uid)) ledger.accuse(`${call} for ${spec?.key}, which has failed`);
    return spec;
  }

  #mustBeItsTurn(spec: SimSpec, own: SimContainer, sandboxId: string): void {
    const { accuse, key } = this.#bound(spec);
    const has = (one: SimContainer): boolean => this.#started.has(`${sandboxId}/${one.name}`);
    const before = spec.containers.slice(0, spec.containers.indexOf(own));
    for (const one of before) {
      if (one.role === "init" && !this.#done.has(`${sandboxId}/${one.name}`))
        accuse(`${key}/${own.name} comes before ${one.name} is done`);
      if (one.role === "sidecar" && !this.#isUp(one, sandboxId))
        accuse(`${key}/${own.name} comes before ${one.name} has started`);
    }
    const apps = spec.containers.filter(({ role }) => role === "app");
    if (own.role === "init" && apps.some(has)) accuse(`${key}/${own.name} comes after the others`);
  }

  /** A container that has ended for good is not made again: in its sandbox, or anywhere if it is one of the pod's own. */
  #mustNotBeDone(spec: SimSpec, own: SimContainer, sandboxId: string): void {
    const { accuse, key } = this.#bound(spec);
    const newest = this.#ledger.newest(spec.uid, own.name);
    if (newest === undefined || this.#told.has(newest.id)) return;
    // A process may die between this row and the stop; what the container exits with then says nothing either.
    if (this.#ledger.agent?.store.killed.get(spec.uid).get(own.name)?.id === newest.id) return;
    if (own.role !== "app" && newest.sandboxId !== sandboxId) return;
    const code = this.#ledger.exitCode(newest);
    if (code !== undefined && !runsAgain(spec, own, code))
      accuse(`${key}/${own.name} is made again although it has ended with ${code}`);
  }

  #isUp(own: SimContainer, sandboxId: string): boolean {
    if (!this.#started.has(`${sandboxId}/${own.name}`)) return false;
    if (!own.probes.some(({ type }) => type === "startup")) return true;
    return this.#probes.hasStarted(sandboxId, own.name);
  }

  /** What it depends on has come so far, in truth and in the agent's own words. */
  #failsNow(name: string | undefined): boolean {
    const ledger = this.#ledger;
    const { uid, at } = this.#lastFailure ?? {};
    return at === ledger.now && ledger.spec(uid)?.name === name && this.#ran.has(`default/${name}`);
  }

  #isMet(uid: string): boolean {
    const { dependsOn } = this.#ledger.spec(uid) ?? {};
    if (dependsOn === undefined) return true;
    const { name, state } = dependsOn;
    const shown = (this.#ledger.agent?.pods() ?? [])
      .filter(({ desired }) => desired.pod.metadata.name === name)
      .flatMap(({ status }) => status ?? []);
    const isSaid = shown.some(({ phase, conditions }) =>
      state === "Running"
        ? phase === "Running" || phase === "Succeeded"
        : conditions.some(({ type, status }) => type === "Ready" && status === "True"),
    );
    const hasEnded = shown.some(({ phase }) => phase === "Succeeded");
    return isSaid && (this.#ran.has(`default/${name}`) || hasEnded);
  }

  #codes(uid: string): Codes {
    return ({ name }) => {
      const newest = this.#ledger.newest(uid, name);
      return newest === undefined ? undefined : this.#ledger.exitCode(newest);
    };
  }

  #wasTold(uid: string): boolean {
    return this.#ledger.containersOf(uid).some(({ id }) => this.#told.has(id));
  }

  #bound({ key }: SimSpec) {
    return { key, accuse: (text: string): void => this.#ledger.accuse(text) };
  }
}

function placeOf({ sandboxId, config }: FakeContainer): string {
  return `${sandboxId}/${config.metadata?.name}`;
}
