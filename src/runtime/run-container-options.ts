// Performs: resolves what a container gets at its start in addition to images and whole volumes: environment, hosts file,
// parts of volumes, and the digest of what it reads. kubelet: GenerateRunContainerOptions, makeMounts

import type { EventContent } from "../api/v1/events.ts";
import type { Edges } from "../edges.ts";
import { AgentError, messageOf, reasonOf, configError, CONFIG_ERROR } from "../lib/errors.ts";
import type { ActionInput, ContainerFacts, SandboxRef } from "./decide/action-input.ts";
import type { RuntimeHelper } from "./runtime-helper.ts";
import type { PodConfigs } from "./pod-configs.ts";
import { configText } from "./decide/config-digest.ts";
import type { FileKeySelector } from "../api/v1/key-and-field-refs.ts";
import { EnvFiles, MAX_ENV_FILE } from "./cri-config/env-file.ts";
import { resolveEnvironment, type EnvEntry } from "./cri-config/environment.ts";
import { asWritten } from "./cri-config/expansion.ts";
import { subPathOf } from "./cri-config/container-sub-paths.ts";
import type { HostsFiles } from "./names/hosts-files.ts";
import type { Container } from "../api/v1/container.ts";
import type { Pod } from "../api/v1/pod.ts";
import type { VolumeMount, SubPath } from "../api/v1/volume-mounts.ts";

export interface RunOptionsGeneratorOptions extends Pick<Edges, "files"> {
  readonly helper: RuntimeHelper;
  readonly configs: Pick<PodConfigs, "etcHosts">;
  readonly hosts: Pick<HostsFiles, "exists" | "write">;
}

export type RunContainerFacts = Pick<
  ContainerFacts,
  "env" | "subPaths" | "etcHosts" | "configDigest"
>;

export interface RunContainerOptions {
  readonly facts: RunContainerFacts;
  readonly events: readonly EventContent[];
  /** The container may be created, but started only when `settle` has resolved. */
  readonly needsAddress: boolean;
}

interface Starting {
  readonly container: Container;
  readonly input: ActionInput;
}

export class RunOptionsGenerator {
  readonly #options: RunOptionsGeneratorOptions;

  constructor(options: RunOptionsGeneratorOptions) {
    this.#options = options;
  }

  /** Throws AgentError `CreateContainerConfigError` for missing objects, keys and parts of volumes. */
  async generate(container: Container, input: ActionInput): Promise<RunContainerOptions> {
    const { helper } = this.#options;
    const starting = { container, input };
    const ips = await this.#addresses(starting);
    // No await from here on until the parts of volumes: the digest and the environment must come from the same objects.
    const objects = helper.objects(input.desired);
    const { pod } = input.desired;
    const { nodeName, allocatable: node } = helper;
    const downward = { nodeName, hostIPs: helper.hostIPs(), podIPs: ips ?? [] };
    const envFiles = new EnvFiles((selector) => this.#envFile(selector, input));
    const known = { objects, downward, node, files: envFiles };
    const { env, events } = resolveEnvironment(pod, container, known);
    const read = configText(pod, container, objects);
    this.#refreshVolumes(pod, container);
    const subPaths = this.#subPaths(starting, env);
    const facts = {
      env,
      subPaths: "then" in subPaths ? await subPaths : subPaths,
      ...this.#etcHosts(starting, ips),
      ...(read === undefined ? {} : { configDigest: helper.configDigest(read) }),
    };
    return { facts, events, needsAddress: ips === undefined };
  }

  /** Resolves when the hosts file contains the pod's address. Rejects with AgentError `CreateContainerConfigError`. */
  async settle(sandbox: SandboxRef, input: ActionInput): Promise<void> {
    this.#options.hosts.write(input.desired, await sandbox.ips());
  }

  /** A container wrote it: it is read without following a link out of the volume, and not beyond the limit. */
  #envFile({ volumeName, path }: FileKeySelector, input: ActionInput): Uint8Array | undefined {
    const root = input.volumes.get(volumeName);
    if (root === undefined) throw configError(`volume "${volumeName}" is not set up`);
    try {
      return this.#options.files.readBeneath(root, path, MAX_ENV_FILE);
    } catch (cause) {
      const why = messageOf(cause);
      throw configError(`couldn't read an env file of volume "${volumeName}": ${why}`, cause);
    }
  }

  /** undefined = not needed to create the container: reading the address from the runtime takes time. */
  async #addresses({ container, input }: Starting): Promise<readonly string[] | undefined> {
    if (input.desired.pod.spec.hostNetwork) return this.#options.helper.hostIPs();
    return readsAddress(container) ? input.sandbox?.ips() : undefined;
  }

  /** Fetching the image may have taken long: subPath mounts must show the content of the digest. */
  #refreshVolumes(pod: Pod, container: Container): void {
    const problems = this.#options.helper.refreshVolumes(pod, container);
    if (problems.length > 0) throw configError(problems.join("; "));
  }

  /** A promise only where a file system may hang. */
  #subPaths(
    { container, input }: Starting,
    env: readonly EnvEntry[],
  ): ReadonlyMap<number, string> | Promise<ReadonlyMap<number, string>> {
    const { uid, pod } = input.desired;
    const paths = new Map<number, string>();
    const waiting: Promise<unknown>[] = [];
    for (const [index, mount] of container.volumeMounts.entries()) {
      const subPath = subPathOf(mount, env);
      const volumePath = input.volumes.get(mount.name);
      // A volume that was not set up is reported by `containerMounts`.
      if (subPath === "" || volumePath === undefined) continue;
      const named = { uid, container: container.name, index, volumeName: mount.name };
      const part = { ...named, volumePath, subPath };
      const prepared = this.#prepare(pod, { part, mount }, input.signal);
      if (typeof prepared === "string") paths.set(index, prepared);
      else waiting.push(prepared.then((path) => paths.set(index, path)));
    }
    return waiting.length === 0 ? paths : Promise.all(waiting).then(() => paths);
  }

  #prepare(
    pod: Pod,
    { part, mount }: { readonly part: SubPath; readonly mount: VolumeMount },
    signal: AbortSignal,
  ): string | Promise<string> {
    const { subPathExpr: written = "" } = mount;
    const redacted = (cause: unknown): never => {
      if (written === "") throw cause;
      const message = asWritten(messageOf(cause), [{ written, expanded: part.subPath }]);
      const reason = reasonOf(cause, CONFIG_ERROR);
      throw new AgentError({ reason, message });
    };
    try {
      const prepared = this.#options.helper.prepareSubPath(pod, part, signal);
      return typeof prepared === "string" ? prepared : prepared.catch(redacted);
    } catch (cause) {
      return redacted(cause);
    }
  }

  #etcHosts(
    { input }: Starting,
    ips: readonly string[] | undefined,
  ): Required<Pick<ContainerFacts, "etcHosts">> {
    const { configs, hosts } = this.#options;
    const { desired } = input;
    // The runtime would create a directory in place of a missing file.
    const isEnough = ips === undefined && hosts.exists(desired);
    if (!isEnough) hosts.write(desired, ips ?? []);
    return { etcHosts: configs.etcHosts(desired) };
  }
}

/** One of its variables is the pod's address. */
export function readsAddress({ env }: Container): boolean {
  return env.some(
    (variable) =>
      "valueFrom" in variable &&
      variable.valueFrom.type === "fieldRef" &&
      variable.valueFrom.fieldPath.startsWith("status.podIP"),
  );
}
