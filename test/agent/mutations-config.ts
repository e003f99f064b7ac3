// Deliberate bugs in what the agent does with ConfigMaps, Secrets, claims and volumes.

import type { Mutation } from "./mutations.ts";

export const CONFIG_MUTATIONS: readonly Mutation[] = [
  {
    name: "config restarts do not wait for each other",
    file: "src/runtime/decide/restart-on-config-change.ts",
    search: "if (waits && container.name !== context.configRestarting) continue;",
    replacement: "",
  },
  {
    name: "config restarts run in reverse order",
    file: "src/runtime/decide/restart-on-config-change.ts",
    search: "for (const container of readers(pod)) {",
    replacement: "for (const container of readers(pod).toReversed()) {",
  },
  {
    name: "a config restart reuses the attempt number",
    file: "src/runtime/decide/restart-on-config-change.ts",
    search: 'return [killOf(running, "ConfigChanged"), startAction(container, observed)];',
    replacement:
      'return [killOf(running, "ConfigChanged"), { ...startAction(container, observed), attempt: running.attempt }];',
  },
  {
    name: "config digests of different keys are compared",
    file: "src/runtime/decide/restart-on-config-change.ts",
    search: "return maker !== undefined && maker === makerOf(current);",
    replacement: "return maker !== undefined;",
  },
  {
    name: "a config change restarts containers with restartPolicy Never",
    file: "src/runtime/decide/restart-on-config-change.ts",
    search: 'restartPolicyOf(pod.spec, container) !== "Never"',
    replacement: "restartPolicyOf(pod.spec, container) !== undefined",
  },
  {
    name: "the annotation that disables config restarts is ignored",
    file: "src/runtime/decide/restart-on-config-change.ts",
    search: "if (!restartsOnConfigChange(pod)) return [];",
    replacement: "",
  },
  {
    name: "deleting an object restarts its readers",
    file: "src/runtime/decide/config-digest.ts",
    search: `  if (isMissing || !facts.isSettled) return {};
  let room = MAX_TEXTS;
  return Object.fromEntries(
    allContainers(pod.spec).flatMap((container) => {
      const text = room < 0 ? undefined : textIfReadable(pod, container, objects);
      room -= text?.length ?? 0;
      if (text === undefined || room < 0 || !couldStart(pod, container, objects)) return [];
`,
    replacement: `  void [isMissing, couldStart, MAX_TEXTS];
  return Object.fromEntries(
    allContainers(pod.spec).flatMap((container) => {
      const text = textIfReadable(pod, container, objects);
      if (text === undefined) return [];
`,
  },
  {
    name: "an optional object that is not loaded yet counts as missing",
    file: "src/runtime/decide/config-digest.ts",
    search: "if (isMissing || !facts.isSettled) return {};",
    replacement: "if (isMissing) return {};",
  },
  {
    name: "pods from files wait for documents",
    file: "src/source/source-snapshots.ts",
    search: "this.snapshots().filter(({ source }) => listensTo(reader.source, source));",
    replacement: "this.snapshots();",
  },
  {
    name: "an empty object and a missing object have different digests",
    file: "src/api/pod/config-inputs.ts",
    search: "    const files = filesOf(lookUp(KINDS[type], name) ?? {}, items);\n",
    replacement: `    const content = lookUp(KINDS[type], name);
    if (content === null) return { gone: "" };
    const files = filesOf(content, items);
`,
  },
  {
    name: "readers are not notified of edits",
    file: "src/agent/build-desired-state.ts",
    search:
      "for (const uid of readersOf(pods.workers.desiredPods(), changed)) loop.podChanged(uid);",
    replacement: "void [changed, readersOf];",
  },
  {
    name: "a missing object counts as empty",
    file: "src/runtime/cri-config/environment.ts",
    search: "if (data !== undefined || optional) return data;",
    replacement: "if (data !== undefined || optional || name !== namespace) return data;",
  },
  {
    name: "a volume omits missing objects",
    file: "src/volume/projection.ts",
    search:
      "if (!optional) this.#missing.push(notFound(kind, name, this.#pod.metadata.namespace));",
    replacement: "void [optional, notFound];",
  },
  {
    name: "volume content is changed in place",
    file: "src/volume/atomic-directory.ts",
    search: 'const version = `..${Number(VERSION.exec(current ?? "")?.[1] ?? 0) + 1}`;',
    replacement: 'const version = current ?? "..1";',
  },
  {
    name: "volume content is never updated",
    file: "src/volume/content-volume.ts",
    search: "  return shown.write(this.#contentOf(volume, files));\n",
    replacement: "  return files === undefined;\n",
  },
  {
    name: "Secret volumes are on the disk",
    file: "src/volume/content-volume.ts",
    search: "if (!this.#isSetUp()) this.#mount();",
    replacement: "void this.#mount;",
  },
  {
    name: "Secrets of documents are stored unencrypted",
    file: "src/store/document/documents.ts",
    search: "if (!holdsSecrets && !isSealed(payload)) return document;",
    replacement: "if (!isSealed(payload) || holdsSecrets) return document;",
  },
  {
    name: "Secrets of files are stored unencrypted",
    file: "src/store/last-good-manifests.ts",
    search: 'kind === "Secret" ? this.#secrets.seal(plain, lastGoodLabel(row)) : plain',
    replacement: "plain",
  },
  {
    name: "an invalid edit discards the last good object",
    file: "src/source/file/manifest-last-good.ts",
    search: "return lastGood.filter((entry) => errors.some((error) => mayMean(error, entry)));",
    replacement:
      'return lastGood.filter((entry) => entry.type === "Pod" && errors.some((error) => mayMean(error, entry)));',
  },
  {
    name: "immutable objects can be edited in files",
    file: "src/source/file/manifest-last-good.ts",
    search: "return earlier === undefined || errors.length === 0 ? entry : earlier;",
    replacement: "return entry;",
  },
  {
    name: "a document that cannot be decrypted counts as unchanged",
    file: "src/source/document/epoch-and-generation.ts",
    search: 'if (isSame && stored.lost !== undefined) return "Newer";',
    replacement: 'if (isSame && stored.lost !== undefined) return "Same";',
  },
  {
    name: "pods of documents can read Secrets of files",
    file: "src/source/object-access.ts",
    search: 'object.kind === "ConfigMap" || ',
    replacement: 'object.kind !== "PersistentVolumeClaim" || ',
  },
  {
    name: "volumes are not unmounted",
    file: "src/volume/tear-down.ts",
    search: "for (const path of mounted) mounts.unmount(path);",
    replacement: "",
  },
  {
    name: "mounted volumes are removed with their content",
    file: "src/volume/tear-down.ts",
    search: `  unmountAll(host, directory);
  const [left] = mounts.mountsUnder(directory);
  if (left !== undefined) {
    const message = \`cannot clear \${directory}: \${left} is still mounted\`;
    throw new AgentError({ reason: "FailedUnmount", message });
  }
  files.removeTree(directory);
}

/** The slow part of \`tearDown\`, in steps: a large emptyDir. \`tearDown\` reports problems. */
export function* emptyLargeVolumes(host: VolumeHost, uid: PodUID): Iterable<void> {
  const { files, mounts, stateDir } = host;
  const directory = podDirectory(stateDir, uid);
  if (files.info(directory) === undefined) return;
  unmountAll(host, directory);
  if (mounts.mountsUnder(directory).length === 0) yield* files.emptyLargeTree(directory);
`,
    replacement: `  void [mounts, AgentError];
  files.removeTree(directory);
}

/** The slow part of \`tearDown\`, in steps: a large emptyDir. \`tearDown\` reports problems. */
export function* emptyLargeVolumes(host: VolumeHost, uid: PodUID): Iterable<void> {
  const { files, mounts, stateDir } = host;
  const directory = podDirectory(stateDir, uid);
  if (files.info(directory) === undefined) return;
  void mounts;
  yield* files.emptyLargeTree(directory);
`,
  },
  {
    name: "claims are created although their disk is not mounted",
    file: "src/volume/claim-directory.ts",
    search: "if (claimRootMustBeMount && !mounts.isMountPoint(this.#root))",
    replacement: "if (claimRootMustBeMount && mounts.isMountPoint(`${this.#root}/.`))",
  },
  {
    name: "a claim is recreated for each pod",
    file: "src/volume/claim-directory.ts",
    search:
      "if (!this.#isDirectory(path) && !this.#adopt(claim, path, unsignedUsers))\n      this.#finish(parent, path);",
    replacement: "this.#options.files.removeTree(path);\n    this.#finish(parent, path);",
  },
  {
    name: "an object of a document is certain before the files have synced",
    file: "src/source/source-snapshots.ts",
    search: "found === undefined || isStaticBefore(source, found.source)",
    replacement: "found === undefined",
  },
];
