// Judges what containers read of ConfigMaps and Secrets: only what somebody wrote, whole, and nobody is restarted for
// nothing, too often, or beside another of his pod that has not come back.

import type { CreateContainerArgs } from "../../src/cri/cri-client.ts";
import { ANNOTATION } from "../../src/api/pod/labels.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import { policyOf, runsAgain } from "./sim-kubernetes.ts";
import { uidOf, type Ledger } from "./sim-ledger.ts";
import type { SimMounts } from "./sim-mounts.ts";
import type { Knock } from "./sim-network.ts";
import type { ObjectName } from "./sim-objects.ts";
import {
  filesOf,
  filesWith,
  given,
  readWith,
  refsOf,
  sameFiles,
  type Given,
} from "./sim-rendering.ts";
import type { SimContainer, SimName, SimSpec } from "./sim-specs.ts";
import type { ObjectTruth, Reader } from "./sim-truth.ts";
import { filesInForce, volumeAt, type VolumePlace } from "./sim-volumes.ts";

export interface ConfigJudgeOptions {
  readonly ledger: Ledger;
  readonly specs: ReadonlyMap<string, SimSpec>;
  readonly truth: ObjectTruth;
  readonly mounts: SimMounts;
  /** Whether a pod of a document by this name may read again what was good before. */
  readonly goesBack: (name: SimName) => boolean;
  /** The newest document has not reached the agent: its pods read what an older one has. */
  readonly isBehind: () => boolean;
}

const UNCLEAR = "unclear";
const READERS: readonly Reader[] = ["file", "mqtt"];

export class ConfigJudge {
  readonly #options: ConfigJudgeOptions;
  /** `reader uid/name` → what a container of this name would have read, one after the other. */
  readonly #histories = new Map<string, string[]>();
  /** UID → the sources that have asked for it. */
  readonly #readers = new Map<string, Set<Reader>>();
  /** `sandbox/name/attempt` → what it has read. */
  readonly #read = new Map<string, string>();
  /** `uid/name` → instances that were ended because what they had read had changed. */
  readonly #ended = new Map<string, Set<string>>();
  /** UID → name of the container that was ended so last, and has not come back. */
  readonly #away = new Map<string, { readonly name: string; readonly id: string }>();
  /** Those that were ended so, one after the other. */
  readonly #order: FakeContainer[] = [];
  /** `container/kind` of probes that have been content once. */
  readonly #content = new Set<string>();

  constructor(options: ConfigJudgeOptions) {
    this.#options = options;
    this.onTruth();
  }

  get ended(): readonly FakeContainer[] {
    return this.#order;
  }

  onWanted(uid: string, reader: Reader): void {
    this.#readers.set(uid, (this.#readers.get(uid) ?? new Set()).add(reader));
  }

  /** Objects may say something else now. */
  onTruth(): void {
    for (const spec of this.#options.specs.values())
      for (const own of spec.containers)
        for (const reader of READERS) {
          const text = this.wouldRead(spec, own, reader);
          const key = `${reader} ${spec.uid}/${own.name}`;
          const history = this.#histories.get(key) ?? [];
          if (text !== undefined && history.at(-1) !== text) history.push(text);
          this.#histories.set(key, history);
        }
  }

  /** What it would read if it started now; undefined = nothing, or it could not. */
  wouldRead(spec: SimSpec, own: SimContainer, reader: Reader): string | undefined {
    const { truth } = this.#options;
    const texts: string[] = [];
    for (const [object, refs] of refsOf(own.reads, spec.volumes)) {
      const word = truth.word(object, reader);
      if (word === "Unclear") return UNCLEAR;
      const text = readWith(refs, word === "Absent" ? undefined : word);
      if (text === undefined) return undefined;
      texts.push(`${object} ${text}`);
    }
    return texts.length === 0 ? undefined : texts.join("; ");
  }

  /** What it has read in truth. */
  hasRead({ sandboxId, config }: FakeContainer): string | undefined {
    const { name, attempt } = config.metadata ?? { name: "", attempt: 0 };
    return this.#read.get(`${sandboxId}/${name}/${attempt}`);
  }

  onCreate({ sandboxId, config, sandboxConfig }: CreateContainerArgs): void {
    const { ledger } = this.#options;
    const spec = ledger.spec(sandboxConfig.metadata?.uid);
    const { name = "", attempt = 0 } = config.metadata ?? {};
    const own = spec?.containers.find((one) => one.name === name);
    if (spec === undefined || own === undefined) return;
    const refs = refsOf(own.reads, spec.volumes);
    const hasDigest = config.annotations?.[ANNOTATION.configDigest] !== undefined;
    if (hasDigest !== refs.size > 0)
      ledger.accuse(`${spec.key}/${name} has a digest: ${hasDigest}`);
    const facts = this.#given(config);
    const texts = [...refs].map(([object, ofObject]) => {
      const text = given(ofObject, facts);
      if (!this.#isWritten(object, (content) => readWith(ofObject, content) === text))
        ledger.accuse(`${spec.key}/${name} reads of ${object} what nobody wrote: ${text}`);
      return `${object} ${text}`;
    });
    if (texts.length > 0) this.#read.set(`${sandboxId}/${name}/${attempt}`, texts.join("; "));
    for (const { hostPath = "" } of config.mounts ?? []) {
      const place = volumeAt(hostPath);
      if (place !== undefined && place.root === hostPath) this.#mustShow(place);
    }
  }

  /** Whatever a container finds there at any time is of one edit, and whole. */
  onVolume(place: VolumePlace): void {
    if (filesInForce(place.root) !== undefined) this.#mustShow(place);
  }

  /** Whether it may be stopped because what it has read has changed since. */
  mayRestart(container: FakeContainer): boolean {
    const { ledger } = this.#options;
    const spec = ledger.spec(uidOf(container));
    const own = ledger.own(container);
    const read = this.hasRead(container);
    if (spec === undefined || own === undefined || read === undefined) return false;
    if (!follows(spec, own)) return false;
    const histories = this.#historiesOf(spec.uid, own.name);
    const seen = histories.filter((history) => history.includes(read));
    if (this.#options.goesBack(spec.name)) return true;
    if (this.#options.isBehind() && this.#readers.get(spec.uid)?.has("mqtt") === true) return true;
    // Such as one object of today and another of yesterday: what came between them is somebody's edit.
    if (seen.length === 0) return true;
    if (histories.length > seen.length) return true;
    const hasChanged = seen.some((history) =>
      history.slice(history.indexOf(read)).some((later) => later !== read),
    );
    return hasChanged || this.#isStale(spec, own, read);
  }

  /** Whether an object says something else now, while another one of the container may be gone. */
  #isStale(spec: SimSpec, own: SimContainer, read: string): boolean {
    return READERS.some((reader) =>
      [...refsOf(own.reads, spec.volumes)].some(([object, refs]) => {
        const word = this.#options.truth.word(object, reader);
        if (word === "Unclear" || word === "Absent") return false;
        const text = readWith(refs, word);
        return text !== undefined && !read.includes(`${object} ${text}`);
      }),
    );
  }

  /** It is stopped for that reason, for the first time. */
  onStop(container: FakeContainer): void {
    const { ledger } = this.#options;
    const uid = uidOf(container) ?? "";
    const name = container.config.metadata?.name ?? "";
    const ended = (this.#ended.get(`${uid}/${name}`) ?? new Set()).add(container.id);
    this.#ended.set(`${uid}/${name}`, ended);
    this.#order.push(container);
    ledger.say(`  config of ${ledger.nameOf(container)} has changed`);
    const edits = this.#historiesOf(uid, name).reduce((sum, { length }) => sum + length, 0);
    // An edit that is tried and taken back is two.
    const podOf = ledger.spec(uid)?.name;
    const isTwo = podOf !== undefined && this.#options.goesBack(podOf);
    const changes = isTwo ? 2 * edits : edits;
    if (ended.size > changes)
      ledger.accuse(
        `${ledger.nameOf(container)} restarts ${ended.size} times for ${changes} edits`,
      );
    const away = this.#away.get(uid);
    if (away !== undefined && away.name !== name && this.#isStillAway(uid, away))
      ledger.accuse(`${ledger.nameOf(container)} restarts while ${away.name} has not come back`);
    this.#away.set(uid, { name, id: container.id });
  }

  onStarted(container: FakeContainer): void {
    const own = this.#options.ledger.own(container);
    const asked = own?.probes.some(({ type }) => type !== "liveness");
    if (asked !== true) this.#isBack(container);
  }

  onKnock({ containerId, door, good }: Knock): void {
    if (door.type === "Hook" || good !== true) return;
    const { ledger } = this.#options;
    const container = ledger.container(containerId);
    const own = ledger.own(container);
    this.#content.add(`${containerId}/${door.kind}`);
    if (container === undefined || own === undefined) return;
    const asked = own.probes.filter(({ type }) => type !== "liveness");
    if (asked.every(({ type }) => this.#content.has(`${containerId}/${type}`)))
      this.#isBack(container);
  }

  /** Nobody remembers whom he waits for. */
  onNewProcess(): void {
    this.#away.clear();
  }

  /** All in it start anew. */
  onCreatedSandbox(uid: string): void {
    this.#away.delete(uid);
  }

  #isBack(container: FakeContainer): void {
    const uid = uidOf(container) ?? "";
    const away = this.#away.get(uid);
    if (away?.name === container.config.metadata?.name && away?.id !== container.id)
      this.#away.delete(uid);
  }

  /** One that has ended for good does not come back. */
  #isStillAway(uid: string, { name, id }: { readonly name: string; readonly id: string }): boolean {
    const { ledger } = this.#options;
    const spec = ledger.spec(uid);
    const newest = ledger.newest(uid, name);
    const own = ledger.own(newest);
    if (newest === undefined || own === undefined || spec === undefined) return true;
    const code = ledger.exitCode(newest);
    return newest.id === id || code === undefined || runsAgain(spec, own, code);
  }

  #historiesOf(uid: string, name: string): readonly (readonly string[])[] {
    const readers = [...(this.#readers.get(uid) ?? [])];
    return readers.map((reader) => this.#histories.get(`${reader} ${uid}/${name}`) ?? []);
  }

  /** Some content that was written, or none at all, fits. */
  #isWritten(
    object: ObjectName,
    fits: (content: ReturnType<ObjectTruth["ever"]>[number] | undefined) => boolean,
  ): boolean {
    return fits(undefined) || this.#options.truth.ever(object).some(fits);
  }

  #mustShow({ root, uid, name }: VolumePlace): void {
    const { ledger } = this.#options;
    const spec = ledger.spec(uid);
    const volume = spec?.volumes.find((one) => one.name === name);
    if (spec === undefined || volume?.type !== "content") return;
    const files = filesInForce(root) ?? new Map<string, string>();
    for (const shown of volume.shows) {
      const own = filesOf(volume, shown, files);
      if (this.#isWritten(shown.object, (content) => sameFiles(own, filesWith(shown, content))))
        continue;
      const found = JSON.stringify([...own]);
      ledger.accuse(`volume ${name} of ${spec.key} shows of ${shown.object}: ${found}`);
    }
  }

  #given({ envs = [], mounts = [] }: CreateContainerArgs["config"]): Given {
    const decoder = new TextDecoder();
    const parts = mounts.flatMap(({ containerPath = "", hostPath = "" }) => {
      const text = this.#options.mounts.boundText(hostPath);
      return text === undefined ? [] : [[containerPath, text] as const];
    });
    const env = envs.map(({ key = "", value }) => [key, decoder.decode(value)] as const);
    return { env: new Map(env), parts: new Map(parts) };
  }
}

/** Whether it starts anew for what it has read. */
export function follows(spec: SimSpec, own: SimContainer): boolean {
  return spec.followsConfig && own.role !== "init" && policyOf(spec, own) !== "Never";
}
