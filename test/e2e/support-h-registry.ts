// A registry whose tags move, which can be away, and which knows who asked for what and when.

import type { KeyPair } from "../harness/certificates.ts";
import { dockerArchive, type ImageSpec } from "../harness/images.ts";
import { uptime } from "./support-h-ticks.ts";
import { blob, manifestOf, MANIFEST, partsOf, type Blob } from "../harness/image-blobs.ts";

export interface Asked {
  /** `name:tag`, or `name@digest`. */
  readonly image: string;
  /** Seconds since boot. */
  readonly at: number;
}

export interface RegistryTLS extends KeyPair {
  /** Only clients with a certificate of this authority are served: path of its own certificate. */
  readonly clientCA?: string;
}

export class MovingRegistry implements Disposable {
  readonly port: number;
  /** Every request for a manifest. */
  readonly asked: Asked[] = [];
  readonly #tags = new Map<string, Blob>();
  readonly #blobs = new Map<string, Blob>();
  readonly #built = new Map<string, Blob>();
  readonly #tls: RegistryTLS | undefined;
  #server: ReturnType<typeof Bun.serve> | undefined;

  /** `tls` absent = plain HTTP. */
  constructor(tls?: RegistryTLS) {
    this.#tls = tls;
    this.#server = this.#serve(0);
    this.port = this.#server.port ?? 0;
  }

  /** As a pod names it. */
  reference(image: string): string {
    return `127.0.0.1:${this.port}/${image}`;
  }

  /** `name:tag` is from now on the image with this text in /etc/image-version; gives its digest. */
  move(image: string, version: string): string {
    const manifest = this.#built.get(version) ?? this.#build({ name: image, version });
    this.#built.set(version, manifest);
    this.#tags.set(image, manifest);
    return manifest.digest;
  }

  timesAsked(image: string): number {
    return this.asked.filter((one) => one.image === image).length;
  }

  /** Nobody answers on its port. */
  async goAway(): Promise<void> {
    await this.#server?.stop(true);
    this.#server = undefined;
  }

  comeBack(): void {
    this.#server ??= this.#serve(this.port);
  }

  [Symbol.dispose](): void {
    void this.#server?.stop(true);
  }

  #serve(port: number): ReturnType<typeof Bun.serve> {
    return Bun.serve({
      hostname: "127.0.0.1",
      port,
      ...(this.#tls === undefined ? {} : { tls: tlsOf(this.#tls) }),
      fetch: (request) => this.#answer(request),
    });
  }

  #build(spec: ImageSpec): Blob {
    const [config, layer] = partsOf(dockerArchive(spec));
    const manifest = blob(Buffer.from(JSON.stringify(manifestOf(config, layer))));
    for (const part of [config, layer, manifest]) this.#blobs.set(part.digest, part);
    return manifest;
  }

  #answer(request: Request): Response {
    const { pathname } = new URL(request.url);
    const [, name = "", kind, reference = ""] =
      /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(pathname) ?? [];
    if (kind === undefined) return new Response("{}", { status: pathname === "/v2/" ? 200 : 404 });
    const isDigest = reference.startsWith("sha256:");
    if (kind === "manifests") {
      const image = `${name}${isDigest ? "@" : ":"}${reference}`;
      this.asked.push({ image, at: uptime() });
    }
    const found = isDigest ? this.#blobs.get(reference) : this.#tags.get(`${name}:${reference}`);
    if (found === undefined)
      return Response.json({ errors: [{ code: "MANIFEST_UNKNOWN" }] }, { status: 404 });
    return new Response(request.method === "HEAD" ? null : found.bytes, {
      headers: {
        "content-type": kind === "manifests" ? MANIFEST : "application/octet-stream",
        "content-length": String(found.bytes.length),
        "docker-content-digest": found.digest,
      },
    });
  }
}

function tlsOf({ cert, key, clientCA }: RegistryTLS): Bun.TLSOptions {
  const own = { cert: Bun.file(cert), key: Bun.file(key) };
  if (clientCA === undefined) return own;
  return { ...own, ca: Bun.file(clientCA), requestCert: true, rejectUnauthorized: true };
}
