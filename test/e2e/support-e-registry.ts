// A registry of images that asks everybody for a password.

import { blob, manifestOf, MANIFEST, partsOf, type Blob } from "../harness/image-blobs.ts";
import { dockerArchive, type ImageSpec } from "../harness/images.ts";

export interface RegistryUser {
  readonly username: string;
  readonly password: string;
}

export class Registry implements Disposable {
  readonly port: number;
  /** Of everybody who asked for a manifest; undefined = nobody said who he is. */
  readonly callers: (string | undefined)[] = [];
  readonly #server: ReturnType<typeof Bun.serve>;
  readonly #blobs: ReadonlyMap<string, Blob>;
  readonly #manifest: Blob;
  readonly #basic: string;

  /** Any name is the name of this one image. */
  constructor(spec: ImageSpec, { username, password }: RegistryUser) {
    const [config, layer] = partsOf(dockerArchive(spec));
    this.#manifest = blob(Buffer.from(JSON.stringify(manifestOf(config, layer))));
    this.#blobs = new Map([config, layer].map((one) => [one.digest, one]));
    this.#basic = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request) => this.#answer(request),
    });
    this.port = this.#server.port ?? 0;
  }

  [Symbol.dispose](): void {
    void this.#server.stop(true);
  }

  #answer(request: Request): Response {
    const { pathname } = new URL(request.url);
    const said = request.headers.get("authorization");
    const [, kind, digest = ""] = /^\/v2\/.+\/(manifests|blobs)\/([^/]+)$/.exec(pathname) ?? [];
    if (kind === "manifests") this.callers.push(said === null ? undefined : userOf(said));
    if (said !== this.#basic) {
      const headers = { "www-authenticate": 'Basic realm="e2e"' };
      return Response.json({ errors: [{ code: "UNAUTHORIZED" }] }, { status: 401, headers });
    }
    const found = kind === "blobs" ? this.#blobs.get(digest) : this.#manifest;
    if (kind === undefined || found === undefined) return new Response(null, { status: 404 });
    const type = kind === "manifests" ? MANIFEST : "application/octet-stream";
    return new Response(request.method === "HEAD" ? null : found.bytes, {
      headers: {
        "content-type": type,
        "content-length": String(found.bytes.length),
        "docker-content-digest": found.digest,
      },
    });
  }
}

function userOf(header: string): string {
  const text = Buffer.from(header.replace("Basic ", ""), "base64").toString();
  return text.slice(0, text.indexOf(":"));
}
