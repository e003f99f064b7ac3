// Performs: volumes of persistentVolumeClaims: a directory that outlives its pods; its group is that of each pod that
// writes to it.

import type { Pod } from "../api/v1/pod.ts";
import type { ClaimVolume } from "../api/v1/volumes.ts";
import type { ShareOptions } from "../host/tree/fs-group.ts";
import { configError } from "../lib/errors.ts";
import type { ClaimName, ClaimUse, ClaimUser, Claims } from "./claim-directory.ts";
import { notFound, type ProjectionFacts } from "./projection.ts";
import { makePodDirectory, type VolumeHost, sharedMarkPath } from "./volume-paths.ts";

interface ClaimHost extends VolumeHost, Pick<ProjectionFacts, "objects"> {
  /** Whose pod it is. */
  readonly claimUser: (pod: Pod) => ClaimUser;
  readonly unsignedUsers: UnsignedUsers;
}

/** `namespace/name` of the pods of unsigned documents, other than this one, that may write to the claim now. */
export type UnsignedUsers = (claim: ClaimName, pod: Pod) => readonly string[];

export class ClaimVolumes {
  readonly #host: ClaimHost;
  readonly #claims: Claims;

  constructor(host: ClaimHost, claims: Claims) {
    this.#host = host;
    this.#claims = claims;
  }

  /** Returns its path, accessible to the pod's group. Throws AgentError. */
  setUp(volume: ClaimVolume, pod: Pod): string {
    const path = this.#directory(volume, pod);
    const share = this.#sharing(volume, pod);
    if (share === undefined) return path;
    this.#host.files.shareTree(path, share);
    this.#markShared(volume, pod);
    return path;
  }

  /** Throws what `setUp` would, as far as it can be checked without creating anything. */
  check(volume: ClaimVolume, pod: Pod): void {
    this.#claims.check(this.#declared(volume, pod));
  }

  /** Throws AgentError `CreateContainerConfigError` unless the claim is declared; looks at no directory. */
  checkDeclared(volume: ClaimVolume, pod: Pod): void {
    this.#declared(volume, pod);
  }

  /** Its directory, whether it exists or not. */
  pathOf(volume: ClaimVolume, pod: Pod): string {
    return this.#claims.pathOf(this.#useOf(volume, pod));
  }

  /** Throws AgentError unless the directory still exists. */
  checkThere(volume: ClaimVolume, pod: Pod): void {
    this.#claims.checkThere(this.#useOf(volume, pod));
  }

  /** The slow part of `setUp`, in steps. */
  *shareLarge(volume: ClaimVolume, pod: Pod): Generator<void, void> {
    const share = this.#sharing(volume, pod);
    const path = share === undefined ? undefined : this.#directoryThere(volume, pod);
    if (share === undefined || path === undefined) return;
    if (yield* this.#host.files.shareLargeTree(path, share)) this.#markShared(volume, pod);
  }

  /** `namespace/name` of the pods of unsigned documents that may write to data that this pod would take over. */
  unsignedUsers(volume: ClaimVolume, pod: Pod): readonly string[] {
    const claim = this.#useOf(volume, pod);
    return claim.by === "SignedDocument" ? this.#host.unsignedUsers(claim, pod) : [];
  }

  #directory(volume: ClaimVolume, pod: Pod): string {
    return this.#claims.setUp(this.#declared(volume, pod), () => this.unsignedUsers(volume, pod));
  }

  #declared(volume: ClaimVolume, pod: Pod): ClaimUse {
    const claim = this.#useOf(volume, pod);
    const { namespace, name } = claim;
    if (this.#host.objects(pod).claim(namespace, name) !== undefined) return claim;
    throw configError(notFound("persistentvolumeclaim", name, namespace));
  }

  /** undefined = it cannot be set up now. */
  #directoryThere(volume: ClaimVolume, pod: Pod): string | undefined {
    try {
      return this.#directory(volume, pod);
    } catch {
      // `setUp` throws the same.
      return undefined;
    }
  }

  /**
   * Once per pod: later changes of modes by the pod stay. A read-only volume keeps the group of its writers.
   * undefined = nothing to do.
   */
  #sharing(volume: ClaimVolume, pod: Pod): ShareOptions | undefined {
    const { files, stateDir } = this.#host;
    const { fsGroup: group, fsGroupChangePolicy } = pod.spec.securityContext;
    if (volume.persistentVolumeClaim.readOnly) return undefined;
    const mark = sharedMarkPath(stateDir, pod.metadata.uid, volume.name);
    if (group === undefined || files.info(mark) !== undefined) return undefined;
    return { group, readOnly: false, unlessRootFits: fsGroupChangePolicy === "OnRootMismatch" };
  }

  #markShared(volume: ClaimVolume, { metadata: { uid } }: Pod): void {
    const { files, stateDir } = this.#host;
    const mark = sharedMarkPath(stateDir, uid, volume.name);
    makePodDirectory(this.#host, uid, mark.slice(0, mark.lastIndexOf("/")));
    files.writeLazily(mark, "", 0o640);
  }

  #useOf({ persistentVolumeClaim: { claimName } }: ClaimVolume, pod: Pod): ClaimUse {
    return { namespace: pod.metadata.namespace, name: claimName, by: this.#host.claimUser(pod) };
  }
}
