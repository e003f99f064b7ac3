// Performs: writes the hosts files of pods, and keeps the names in them in line with the pods of the node while they run.
// kubelet: ensureHostsFile

import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import { POD_DIRECTORY_MODE } from "../../api/pod/pod-directory.ts";
import type { DesiredService } from "../../api/v1/object/service.ts";
import type { PodUID } from "../../api/v1/pod.ts";
import type { Edges } from "../../edges.ts";
import { Alarm } from "../../lib/alarm.ts";
import { isSameList } from "../../lib/compare.ts";
import { messageOf } from "../../lib/errors.ts";
import {
  hostNetworkHostsFile,
  namesInHosts,
  podHostname,
  podHostsFile,
} from "../cri-config/pod-hosts.ts";
import { namesWorld, ownerOf, type AddressedPod, type NodeNames } from "./named-pods.ts";
import { namesFor, namesLines, type HostsLine, type NamesWorld } from "./pod-names.ts";

export interface HostsFilesOptions extends Pick<Edges, "files" | "clock" | "log"> {
  /** Host path of the file that is /etc/hosts in every container of the pod. */
  readonly path: (desired: DesiredPod) => string;
  readonly helper: { readonly clusterDomain: string; nodeHosts(): string };
  /** Every pod of the node; undefined = not all are known yet. */
  readonly pods: () => readonly AddressedPod[] | undefined;
  /** In order of precedence; absent = there are none. */
  readonly services?: () => readonly DesiredService[];
}

const HOSTS_MODE = 0o644;
/** A larger hosts file was not written by the agent. */
const HOSTS_BYTES = 1024 * 1024;
/** Changes within this time are written together, ms. */
const GATHER_MS = 250;
/** Until a file that could not be written is tried again, ms. */
const RETRY_MS = 30_000;

type Names = ReadonlyMap<string, readonly string[]>;

export class HostsFiles implements Disposable {
  readonly #options: HostsFilesOptions;
  readonly #alarm: Alarm;
  /** Addresses with which containers start; the runtime's list of pods shows them later. */
  readonly #settled = new Map<PodUID, readonly string[]>();
  #world: NamesWorld = { clusterDomain: "", pods: [], services: [] };
  #isCurrent = false;
  /** By namespace and owner of the readers. */
  readonly #names = new Map<string, Names>();
  /** The world that all files show. */
  #shown = "";

  constructor(options: HostsFilesOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, () => this.#refresh());
  }

  /** For a container that starts. Throws AgentError `FileError`. */
  write(desired: DesiredPod, ips: readonly string[]): void {
    const { uid, pod } = desired;
    if (ips.length > 0 && !pod.spec.hostNetwork && !isSameList(this.#settled.get(uid) ?? [], ips)) {
      this.#settled.set(uid, ips);
      this.changed();
    }
    this.#write(desired, ips, () => this.#options.helper.nodeHosts());
  }

  /** The runtime would create a directory in place of a missing file. */
  exists(desired: DesiredPod): boolean {
    const { path, files } = this.#options;
    return files.info(path(desired))?.kind === "file";
  }

  /** A pod may have got or lost a name or an address. */
  changed(): void {
    this.#isCurrent = false;
    this.#alarm.by(this.#options.clock.monotonic() + GATHER_MS);
  }

  [Symbol.dispose](): void {
    this.#alarm[Symbol.dispose]();
  }

  /** Brings the files of all pods up to date; writes nothing if no name has changed. */
  #refresh(): void {
    const { pods, log, clock, helper } = this.#options;
    const readers = pods();
    if (readers === undefined) return;
    const shown = JSON.stringify(this.#current(readers));
    if (shown === this.#shown) return;
    this.#shown = shown;
    const nodeHosts = readOnce(() => helper.nodeHosts());
    for (const { desired, ips } of readers) {
      try {
        const own = this.#addresses(desired.uid, ips);
        if (own.length > 0 && this.exists(desired)) this.#write(desired, own, nodeHosts);
      } catch (error) {
        const { namespace, name } = desired.pod.metadata;
        const pod = `${namespace}/${name}`;
        log.warn("cannot update the hosts file of a pod", { pod, error: messageOf(error) });
        this.#shown = "";
        this.#alarm.by(clock.monotonic() + RETRY_MS);
      }
    }
  }

  #current(pods: readonly AddressedPod[]): NamesWorld {
    if (this.#isCurrent) return this.#world;
    const known = new Map(pods.map(({ desired, ips }) => [desired.uid, ips]));
    for (const [uid, ips] of this.#settled)
      if (isSameList(known.get(uid) ?? ips, ips)) this.#settled.delete(uid);
    const { helper, services = () => [] } = this.#options;
    const node: NodeNames = {
      clusterDomain: helper.clusterDomain,
      services: services(),
      pods: pods.map((one) => ({ ...one, ips: this.#addresses(one.desired.uid, one.ips) })),
    };
    this.#world = namesWorld(node);
    this.#names.clear();
    this.#isCurrent = true;
    return this.#world;
  }

  #addresses(uid: PodUID, known: readonly string[]): readonly string[] {
    return this.#settled.get(uid) ?? known;
  }

  #namesFor({ pod, source, signed }: DesiredPod): Names {
    const pods = this.#options.pods();
    if (pods === undefined) return new Map();
    const world = this.#current(pods);
    const { namespace } = pod.metadata;
    const owner = ownerOf(source, signed);
    return this.#names.getOrInsertComputed(`${owner} ${namespace}`, () =>
      namesFor({ namespace, owner }, world),
    );
  }

  #text(desired: DesiredPod, ips: readonly string[], nodeHosts: () => string): string {
    const { helper } = this.#options;
    const { hostAliases: aliases, hostNetwork } = desired.pod.spec;
    const others = (taken: readonly string[]): readonly HostsLine[] => {
      const aliased = aliases.flatMap(({ hostnames }) => hostnames);
      return namesLines(this.#namesFor(desired), new Set([...taken, ...aliased]));
    };
    if (hostNetwork) {
      const node = nodeHosts();
      return hostNetworkHostsFile(node, { aliases, others: others(namesInHosts(node)) });
    }
    const own = podHostname(desired.pod, helper.clusterDomain);
    const { hostname, domain } = own;
    const taken = [hostname, ...(domain === "" ? [] : [`${hostname}.${domain}`])];
    return podHostsFile({ ips, aliases, others: others(taken), ...own });
  }

  /**
   * Running containers have the file mounted and would not see a new one: it is written over, in one write, and keeps its
   * length, so that a reader never meets half a line behind the end.
   */
  #write(desired: DesiredPod, ips: readonly string[], nodeHosts: () => string): void {
    const { files } = this.#options;
    const path = this.#options.path(desired);
    const data = new TextEncoder().encode(this.#text(desired, ips, nodeHosts));
    const there = files.info(path);
    if (there?.kind === "file" && there.size <= HOSTS_BYTES) {
      const old = files.read(path, HOSTS_BYTES);
      if (isSameText(data, old)) return;
      files.writeInPlace(path, padded(data, old.length), HOSTS_MODE);
      return;
    }
    files.makeDirectory(path.slice(0, path.lastIndexOf("/")), POD_DIRECTORY_MODE);
    // The path must exist at every moment: a runtime would create a directory in its place.
    const next = `${path}.new`;
    files.writeLazily(next, data, HOSTS_MODE);
    files.rename(next, path);
  }
}

const LINE_END = 10;

/** The node's own file once for the files of all pods. */
function readOnce(read: () => string): () => string {
  let text: string | undefined;
  return () => (text ??= read());
}

function padded(data: Uint8Array, length: number): Uint8Array {
  if (data.length >= length) return data;
  const all = new Uint8Array(length).fill(LINE_END);
  all.set(data);
  return all;
}

/** Empty lines at the end do not count. */
function isSameText(data: Uint8Array, old: Uint8Array): boolean {
  return (
    old.length >= data.length &&
    old.every((byte, index) => byte === (index < data.length ? data[index] : LINE_END))
  );
}
