// Performs: the volumes of pods on this node: each shows what the source of its pod may use.

import type { AgentConfig } from "../config/config.ts";
import {
  containerResource,
  podField,
  type DownwardFacts,
  type NodeAllocatable,
} from "../api/pod/downward.ts";
import type { LocalObjects } from "../api/v1/object/local-object.ts";
import type { Pod, PodUID } from "../api/v1/pod.ts";
import type { DownwardAPIFile } from "../api/v1/projections.ts";
import { Volumes, type VolumesOptions } from "./mount-volumes.ts";
import { SubPaths, type SubPathRequest } from "./sub-path.ts";
import type { HostPathHost } from "./host-path.ts";
import { isReadOnlyVolume } from "./volume-kinds.ts";
import type { Edges } from "../edges.ts";
import type { Container } from "../api/v1/container.ts";

interface PodVolumesOptions {
  readonly edges: Pick<Edges, "files" | "mounts">;
  readonly config: Pick<AgentConfig, "stateDir" | "claimRoot" | "claimRootMustBeMount">;
  readonly nodeName: string;
  readonly allocatable: NodeAllocatable;
  readonly objects: (pod: Pod) => LocalObjects;
  /** Judges what hostPaths of the pod lead to; undefined = they are taken as written. */
  readonly hostPathError: (pod: Pod) => HostPathHost["hostPathError"];
}

export class PodVolumes {
  readonly #options: PodVolumesOptions;
  readonly #subPaths: SubPaths;

  constructor(options: PodVolumesOptions) {
    const { edges, config } = options;
    this.#options = options;
    this.#subPaths = new SubPaths({ ...edges, stateDir: config.stateDir });
  }

  /** Volume name → path on the host. Throws AgentError with Kubernetes' reason. */
  setUp(pod: Pod): ReadonlyMap<string, string> {
    return this.#volumesOf(pod).setUp(pod);
  }

  /** Throws what `setUp` would, as far as it can be checked without creating anything. */
  check(pod: Pod): void {
    this.#volumesOf(pod).check(pod);
  }

  /** A pull may have taken long since `setUp`. Throws AgentError with Kubernetes' reason. */
  checkPaths(pod: Pod, paths: ReadonlyMap<string, string>): void {
    this.#volumesOf(pod).checkPaths(pod, paths);
  }

  /** The slow part of `setUp`, in steps. */
  shareLargeClaims(pod: Pod): Iterable<void> {
    return this.#volumesOf(pod).shareLargeClaims(pod);
  }

  /** The slow part of `tearDown`, in steps. */
  emptyLargeVolumes(uid: PodUID): Iterable<void> {
    return this.#volumes().emptyLargeVolumes(uid);
  }

  /** Returns the problems. */
  refresh(pod: Pod, starting?: Container): readonly string[] {
    return this.#volumesOf(pod).refresh(pod, starting).problems;
  }

  tearDown(uid: PodUID): void {
    this.#volumes().tearDown(uid);
  }

  /** Throws AgentError `CreateContainerConfigError`, or what `checkPaths` throws. */
  prepareSubPath(pod: Pod, part: Omit<SubPathRequest, "readOnly">): string {
    this.checkPaths(pod, new Map([[part.volumeName, part.volumePath]]));
    const volume = pod.spec.volumes.find(({ name }) => name === part.volumeName);
    const readOnly = volume !== undefined && isReadOnlyVolume(volume);
    return this.#subPaths.prepare({ ...part, readOnly });
  }

  #volumesOf(pod: Pod): Volumes {
    const judge = this.#options.hostPathError(pod);
    const judged = judge === undefined ? {} : { hostPathError: judge };
    return this.#volumes({ objects: this.#options.objects(pod), ...judged });
  }

  #volumes(more: Pick<VolumesOptions, "objects" | "hostPathError"> = {}): Volumes {
    const { edges, config, allocatable } = this.#options;
    const { files, mounts } = edges;
    const { memoryBytes } = allocatable;
    const renderDownward = (pod: Pod, file: DownwardAPIFile): string | undefined =>
      this.#downward(pod, file);
    return new Volumes({ ...config, files, mounts, memoryBytes, renderDownward, ...more });
  }

  #downward(pod: Pod, { fieldRef, resourceFieldRef }: DownwardAPIFile): string | undefined {
    const { nodeName, allocatable } = this.#options;
    // Volumes cannot refer to addresses.
    const facts: DownwardFacts = { nodeName, podIPs: [], hostIPs: [] };
    if (fieldRef !== undefined) return podField(pod, fieldRef.fieldPath, facts);
    if (resourceFieldRef === undefined) return undefined;
    const { containerName } = resourceFieldRef;
    return containerResource(pod, resourceFieldRef, {
      container: containerName,
      node: allocatable,
    });
  }
}
