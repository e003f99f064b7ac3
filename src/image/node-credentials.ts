// Performs: the node's own credentials for registries: those of `registryAuthFile`, of Docker's credential helpers and of the
// kubelet's credential provider plugins. Files are read again when they have changed.

import { readValue } from "../api/schema/read-value.ts";
import { readDocuments } from "../api/yaml/yaml-documents.ts";
import type { Edges } from "../edges.ts";
import type { Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import {
  cacheKeysOf,
  fits,
  pluginRequest,
  PROVIDER_CONFIG,
  readPluginAnswer,
  type CredentialPlugin,
} from "./credential-plugins.ts";
import {
  helperFor,
  NO_DOCKER_CONFIG,
  readDockerConfig,
  readHelperAnswer,
  type HelperCall,
} from "./docker-config.ts";
import type { ImageReference } from "./image-reference.ts";
import { credentialsFor, type PullCredentials, type RegistryAuth } from "./keyring.ts";
import { WatchedFile } from "./watched-file.ts";

/** Contains credentials: it must never be logged or stored. */
export interface NodeAccess {
  /** Without the answers of programs, which may differ each time. "" = no credentials. */
  readonly key: string;
  /** To be tried in turn; programs are asked only when their turn has come. */
  list(signal: AbortSignal): AsyncGenerator<PullCredentials, void>;
  /** The registry has refused all of them: answers of plugins that were kept count no longer. */
  refused(): void;
}

export interface NodeCredentialsOptions extends Pick<
  Edges,
  "files" | "clock" | "log" | "runProgram"
> {
  readonly config: {
    readonly registryAuthFile: string;
    readonly imageCredentialProviderConfigFile?: string;
    readonly imageCredentialProviderBinDir?: string;
  };
}

/** Far more than the credentials of all registries of a node. */
const AUTH_FILE_BYTES = 1024 * 1024;
const ANSWER_BYTES = 256 * 1024;
/** kubelet: the plugin's own time limit. */
const PROGRAM_MS = 60_000;
const HELPER_DIRECTORIES = ["/usr/local/bin", "/usr/bin", "/bin"];
const ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/root",
};
/** Answers of plugins that are kept. */
const KEPT = 100;

interface Kept {
  readonly auths: readonly RegistryAuth[];
  readonly until: Monotonic;
}

export class NodeCredentials {
  readonly #options: NodeCredentialsOptions;
  readonly #authFile: WatchedFile<typeof NO_DOCKER_CONFIG>;
  readonly #plugins: WatchedFile<readonly CredentialPlugin[]> | undefined;
  readonly #kept = new Map<string, Kept>();

  constructor(options: NodeCredentialsOptions) {
    this.#options = options;
    const { registryAuthFile, imageCredentialProviderConfigFile: plugins } = options.config;
    const common = { ...options, maxBytes: AUTH_FILE_BYTES };
    this.#authFile = new WatchedFile({
      ...common,
      path: registryAuthFile,
      absent: NO_DOCKER_CONFIG,
      read: readDockerConfig,
      warnings: (config) => config.warnings,
    });
    this.#plugins =
      plugins === undefined
        ? undefined
        : new WatchedFile({
            ...common,
            path: plugins,
            isRequired: true,
            absent: [],
            read: readPlugins,
          });
  }

  of(reference: ImageReference): NodeAccess {
    const docker = this.#authFile.current();
    const written = credentialsFor(reference, docker.auths);
    const helper = helperFor(docker, reference.domain);
    const plugins = (this.#plugins?.current() ?? []).filter((plugin) => fits(plugin, reference));
    const isNone = written.length === 0 && helper === undefined && plugins.length === 0;
    const list = this.#list.bind(this);
    const kept = this.#kept;
    return {
      key: isNone ? "" : JSON.stringify([written, helper, plugins]),
      list: (signal) => list({ reference, written, helper, plugins }, signal),
      refused: () => {
        for (const { name } of plugins)
          for (const key of cacheKeysOf(reference)) kept.delete(`${name} ${key}`);
      },
    };
  }

  async *#list(
    { reference, written, helper, plugins }: Sources,
    signal: AbortSignal,
  ): AsyncGenerator<PullCredentials, void> {
    const helped = helper === undefined ? undefined : await this.#askHelper(helper, signal);
    if (helped !== undefined) yield helped;
    yield* written;
    for (const plugin of plugins)
      yield* credentialsFor(reference, await this.#askPlugin(plugin, reference, signal));
  }

  async #askHelper(
    { helper, serverURL }: HelperCall,
    signal: AbortSignal,
  ): Promise<PullCredentials | undefined> {
    const path = this.#helperPath(`docker-credential-${helper}`);
    const call = { path, args: ["get"], env: ENVIRONMENT, stdin: serverURL };
    const answer = await this.#run(call, signal);
    if (answer === undefined) return undefined;
    const read = readHelperAnswer(answer);
    if (read === undefined || !("wrong" in read)) return read;
    this.#failed(path, read.wrong);
    return undefined;
  }

  async #askPlugin(
    plugin: CredentialPlugin,
    reference: ImageReference,
    signal: AbortSignal,
  ): Promise<readonly RegistryAuth[]> {
    const { clock, config } = this.#options;
    const { name, args } = plugin;
    const now = clock.monotonic();
    for (const key of cacheKeysOf(reference)) {
      const kept = this.#kept.get(`${name} ${key}`);
      if (kept !== undefined && now < kept.until) return kept.auths;
    }
    const path = `${config.imageCredentialProviderBinDir ?? ""}/${name}`;
    const variables = plugin.env.map((one) => [one.name, one.value] as const);
    const env = { ...ENVIRONMENT, ...Object.fromEntries(variables) };
    const answer = await this.#run({ path, args, env, stdin: pluginRequest(reference) }, signal);
    if (answer === undefined) return [];
    const read =
      answer.exitCode === 0
        ? readPluginAnswer(answer.stdout, plugin, reference)
        : { wrong: `it ended with exit code ${answer.exitCode}` };
    if ("wrong" in read) {
      this.#failed(path, read.wrong);
      return [];
    }
    if (read.cacheMs > 0)
      this.#keep(`${name} ${read.cacheKey}`, { auths: read.auths, until: now + read.cacheMs });
    return read.auths;
  }

  #keep(key: string, kept: Kept): void {
    const now = this.#options.clock.monotonic();
    for (const [other, { until }] of this.#kept) if (until <= now) this.#kept.delete(other);
    this.#kept.delete(key);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= KEPT && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(key, kept);
  }

  async #run(call: Call, signal: AbortSignal) {
    try {
      const limits = { timeoutMs: PROGRAM_MS, maxBytes: ANSWER_BYTES };
      return await this.#options.runProgram({ ...call, ...limits }, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#failed(call.path, messageOf(error));
      return undefined;
    }
  }

  /** Without what it has written, which may be secret. The image is pulled without its credentials. */
  #failed(program: string, why: string): void {
    const facts = { program, error: why };
    this.#options.log.warn("no credentials from this program; run it by hand to see why", facts);
  }

  #helperPath(name: string): string {
    const { files, config } = this.#options;
    const own = config.imageCredentialProviderBinDir;
    const places = [...(own === undefined ? [] : [own]), ...HELPER_DIRECTORIES];
    const paths = places.map((directory) => `${directory}/${name}`);
    return paths.find((path) => files.target(path)?.kind === "file") ?? name;
  }
}

interface Sources {
  readonly reference: ImageReference;
  readonly written: readonly PullCredentials[];
  readonly helper: HelperCall | undefined;
  readonly plugins: readonly CredentialPlugin[];
}

interface Call {
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
}

function readPlugins(text: Uint8Array): readonly CredentialPlugin[] | { readonly wrong: string } {
  const { documents, errors } = readDocuments(text);
  const [document, second] = documents;
  const [error] = errors;
  if (error !== undefined) return { wrong: error.message };
  if (second !== undefined) return { wrong: "has more than one document" };
  const read = readValue(PROVIDER_CONFIG, document?.value, { locate: document?.locate });
  if (read.ok) return read.value.providers;
  return { wrong: read.errors.map(({ path, message }) => `${path}: ${message}`).join("; ") };
}
