// Deliberate bugs in what the agent does with ConfigMaps, Secrets, claims and volumes.

import type { Mutation } from "./mutations.ts";

export const CONFIG_MUTATIONS: readonly Mutation[] = [
  {
    name: "a config restart waits for nobody",
    file: "src/runtime/decide/running-restart.ts",
    search: "if (waits && container.name !== context.configRestarting) continue;",
    replacement: "",
  },
  {
    name: "config restarts in any order",
    file: "src/runtime/decide/running-restart.ts",
    search: "for (const container of readers(pod)) {",
    replacement: "for (const container of readers(pod).toReversed()) {",
  },
  {
    name: "a config restart keeps the number",
    file: "src/runtime/decide/running-restart.ts",
    search: 'return [killOf(running, "ConfigChanged"), startAction(container, observed)];',
    replacement:
      'return [killOf(running, "ConfigChanged"), { ...startAction(container, observed), attempt: running.attempt }];',
  },
  {
    name: "digests of two keys are compared",
    file: "src/runtime/decide/running-restart.ts",
    search: "return maker !== undefined && maker === makerOf(current);",
    replacement: "return maker !== undefined;",
  },
  {
    name: "who may run once restarts for his config",
    file: "src/runtime/decide/running-restart.ts",
    search: 'restartPolicyOf(pod.spec, container) !== "Never"',
    replacement: "restartPolicyOf(pod.spec, container) !== undefined",
  },
  {
    name: "nobody may keep his config",
    file: "src/runtime/decide/running-restart.ts",
    search: "if (!restartsOnConfigChange(pod)) return [];",
    replacement: "",
  },
  {
    name: "what goes restarts its readers",
    file: "src/runtime/decide/config-changes.ts",
    search: `  if (missing.some(({ optional }) => !optional || !facts.isSettled)) return {};
  return Object.fromEntries(
    allContainers(pod.spec).flatMap((container) => {
      const text = configText(pod, container, objects);
      if (text === undefined || !couldStart(pod, container, objects)) return [];
`,
    replacement: `  void [missing, couldStart];
  return Object.fromEntries(
    allContainers(pod.spec).flatMap((container) => {
      const text = configText(pod, container, objects);
      if (text === undefined) return [];
`,
  },
  {
    name: "what is late is taken for missing",
    file: "src/runtime/decide/config-changes.ts",
    search: "if (missing.some(({ optional }) => !optional || !facts.isSettled)) return {};",
    replacement: "if (missing.some(({ optional }) => !optional)) return {};",
  },
  {
    name: "files wait for documents that never come",
    file: "src/podworkers/refresh-config.ts",
    search: "isSettled: written.isSettledFor(",
    replacement: "isSettled: written.isSettled(",
  },
  {
    name: "an empty part of a volume is not a missing one",
    file: "src/api/pod/object-references.ts",
    search: "    const files = filesOf(lookUp(kind, projection.name) ?? {}, projection.items);\n",
    replacement: `    const content = lookUp(kind, projection.name);
    if (content === null) return { gone: "" };
    const files = filesOf(content, projection.items);
`,
  },
  {
    name: "an edit is told to nobody",
    file: "src/agent/build-desired-state.ts",
    search:
      "for (const uid of readersOf(pods.workers.desiredPods(), changed)) loop.podChanged(uid);",
    replacement: "void [changed, readersOf];",
  },
  {
    name: "a missing object is an empty one",
    file: "src/runtime/cri-config/environment.ts",
    search: "if (data !== undefined || optional) return data;",
    replacement: "if (data !== undefined || optional || name !== namespace) return data;",
  },
  {
    name: "a volume does without what is missing",
    file: "src/volume/projection.ts",
    search:
      "if (!optional) this.#missing.push(notFound(kind, name, this.#pod.metadata.namespace));",
    replacement: "void [optional, notFound];",
  },
  {
    name: "volumes change in place",
    file: "src/volume/atomic-directory.ts",
    search: 'const version = `..${Number(VERSION.exec(current ?? "")?.[1] ?? 0) + 1}`;',
    replacement: 'const version = current ?? "..1";',
  },
  {
    name: "volumes stay as they were",
    file: "src/volume/content-volume.ts",
    search: "  return shown.write(this.#contentOf(volume, files));\n",
    replacement: "  return files === undefined;\n",
  },
  {
    name: "Secrets lie on the disk",
    file: "src/volume/content-volume.ts",
    search: "if (!this.#isSetUp()) this.#mount();",
    replacement: "void this.#mount;",
  },
  {
    name: "Secrets of documents lie open",
    file: "src/store/document/documents.ts",
    search: "if (!holdsSecrets && !isSealed(payload)) return document;",
    replacement: "if (!isSealed(payload) || holdsSecrets) return document;",
  },
  {
    name: "Secrets of files lie open",
    file: "src/store/last-good-manifests.ts",
    search: 'kind === "Secret" ? this.#secrets.seal(plain, labelOf(row)) : plain',
    replacement: "plain",
  },
  {
    name: "what is good goes with an invalid edit",
    file: "src/source/file/manifest-last-good.ts",
    search: "return lastGood.filter((entry) => errors.some((error) => mayMean(error, entry)));",
    replacement:
      'return lastGood.filter((entry) => entry.type === "Pod" && errors.some((error) => mayMean(error, entry)));',
  },
  {
    name: "immutable objects change in their files",
    file: "src/source/file/manifest-last-good.ts",
    search: "return earlier === undefined || errors.length === 0 ? entry : earlier;",
    replacement: "return entry;",
  },
  {
    name: "a document that cannot be opened is known already",
    file: "src/source/document/version.ts",
    search: 'if (isSame && stored.lost !== undefined) return "Newer";',
    replacement: 'if (isSame && stored.lost !== undefined) return "Same";',
  },
  {
    name: "documents read the Secrets of files",
    file: "src/source/object-access.ts",
    search: 'object.kind === "ConfigMap" || ',
    replacement: 'object.kind !== "PersistentVolumeClaim" || ',
  },
  {
    name: "mounts stay",
    file: "src/volume/volume-directory.ts",
    search: "for (const path of mounted) mounts.unmount(path);",
    replacement: "",
  },
  {
    name: "volumes are removed through their mounts",
    file: "src/volume/volume-manager.ts",
    search: `    unmountAll(this.#options, directory);
    const [left] = mounts.mountsUnder(directory);
    if (left !== undefined) {
      const message = \`cannot clear \${directory}: \${left} is still mounted\`;
      throw new AgentError({ reason: "FailedUnmount", message });
    }
    files.removeTree(directory);
  }

  /** The slow part of \`tearDown\`, in steps: a large emptyDir. \`tearDown\` reports problems. */
  *emptyLargeVolumes(uid: PodUID): Iterable<void> {
    const { files, mounts, stateDir } = this.#options;
    const directory = podDirectory(stateDir, uid);
    if (files.info(directory) === undefined) return;
    unmountAll(this.#options, directory);
    if (mounts.mountsUnder(directory).length === 0) yield* files.emptyLargeTree(directory);
`,
    replacement: `    void [mounts, AgentError];
    files.removeTree(directory);
  }

  /** The slow part of \`tearDown\`, in steps: a large emptyDir. \`tearDown\` reports problems. */
  *emptyLargeVolumes(uid: PodUID): Iterable<void> {
    const { files, mounts, stateDir } = this.#options;
    const directory = podDirectory(stateDir, uid);
    if (files.info(directory) === undefined) return;
    void mounts;
    yield* files.emptyLargeTree(directory);
`,
  },
  {
    name: "a missing disk of claims is a directory",
    file: "src/volume/claims.ts",
    search: "if (!claimRootMustBeMount || mounts.isMountPoint(this.#root)) return path;",
    replacement:
      "if (!claimRootMustBeMount || !mounts.isMountPoint(`${this.#root}/.`)) return path;",
  },
  {
    name: "each pod gets its claim anew",
    file: "src/volume/claims.ts",
    search: "if (!this.#isDirectory(path)) this.#finish(parent, path);",
    replacement: "this.#options.files.removeTree(path);\n    this.#finish(parent, path);",
  },
];
