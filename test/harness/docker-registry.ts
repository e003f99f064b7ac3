// Debian's docker-registry on a free port of loopback, with or without a password.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { dockerArchive, type ImageSpec } from "./images.ts";
import { logTail, spawnDaemon } from "./daemon.ts";
import { eventually, Hopeless } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { manifestOf, MANIFEST, partsOf, blob, type Blob } from "./image-blobs.ts";
import type { TempDirectory } from "./temp-directory.ts";

export interface RegistryUser {
  readonly username: string;
  readonly password: string;
}

export interface DockerRegistryOptions {
  /** Name of its directory. */
  readonly name: string;
  /** Everything needs it; absent = open to all. */
  readonly user?: RegistryUser;
}

export class DockerRegistry {
  readonly port = freePort();
  readonly #temp: TempDirectory;
  readonly #directory: string;
  readonly #headers: Readonly<Record<string, string>>;
  #child: Bun.Subprocess | undefined;

  private constructor(temp: TempDirectory, { name, user }: DockerRegistryOptions) {
    this.#temp = temp;
    this.#directory = temp.directory(name);
    const word = user === undefined ? "" : btoa(`${user.username}:${user.password}`);
    this.#headers = user === undefined ? {} : { authorization: `Basic ${word}` };
  }

  static async start(temp: TempDirectory, options: DockerRegistryOptions): Promise<DockerRegistry> {
    const registry = new DockerRegistry(temp, options);
    await registry.#configure(options.user);
    await registry.start();
    return registry;
  }

  async #configure(user: RegistryUser | undefined): Promise<void> {
    const lines = [
      "version: 0.1",
      "log: {level: warn, accesslog: {disabled: false}}",
      `storage: {filesystem: {rootdirectory: ${this.#directory}/data}}`,
      `http: {addr: "127.0.0.1:${this.port}"}`,
    ];
    if (user !== undefined) {
      const hash = await Bun.password.hash(user.password, { algorithm: "bcrypt", cost: 4 });
      const path = join(this.#directory, "htpasswd");
      // The registry knows only the older prefix of the same algorithm.
      writeFileSync(path, `${user.username}:${hash.replace("$2b$", "$2y$")}\n`);
      lines.push(`auth: {htpasswd: {realm: e2e, path: ${path}}}`);
    }
    writeFileSync(join(this.#directory, "config.yml"), `${lines.join("\n")}\n`);
  }

  async start(): Promise<void> {
    const command = ["docker-registry", "serve", join(this.#directory, "config.yml")];
    const logFile = join(this.#directory, "registry.log");
    const child = spawnDaemon(command, { temp: this.#temp, logFile });
    this.#child = child;
    await eventually(
      "the private registry answers",
      async () => {
        if (child.exitCode !== null) throw new Hopeless(logTail("the registry", logFile, 20));
        return (await fetch(`http://127.0.0.1:${this.port}/v2/`)).status > 0;
      },
      { interval: 20, explain: () => logTail("the registry", logFile, 20) },
    );
  }

  /** Its content stays. */
  async stop(): Promise<void> {
    this.#child?.kill("SIGTERM");
    await this.#child?.exited;
  }

  /** Returns the digest. */
  async push(image: string, spec: Omit<ImageSpec, "name">): Promise<string> {
    const [name = "", tag = "latest"] = image.split(":");
    const [config, layer] = partsOf(dockerArchive({ name: image, ...spec }));
    const manifest = blob(Buffer.from(JSON.stringify(manifestOf(config, layer))));
    for (const part of [config, layer]) await this.#upload(name, part);
    const headers = { ...this.#headers, "content-type": MANIFEST };
    await this.#ask(`/v2/${name}/manifests/${tag}`, {
      method: "PUT",
      headers,
      body: manifest.bytes,
    });
    return manifest.digest;
  }

  async #upload(name: string, { digest, bytes }: Blob): Promise<void> {
    const { headers } = await this.#ask(`/v2/${name}/blobs/uploads/`, { method: "POST" });
    const place = new URL(headers.get("location") ?? "", `http://127.0.0.1:${this.port}`);
    place.searchParams.set("digest", digest);
    await this.#ask(`${place.pathname}${place.search}`, { method: "PUT", body: bytes });
  }

  async #ask(path: string, init: RequestInit): Promise<Response> {
    const headers = init.headers ?? this.#headers;
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, { ...init, headers });
    if (!response.ok)
      throw new Error(`the registry answers ${response.status}: ${await response.text()}`);
    return response;
  }
}
