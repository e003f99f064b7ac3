// Performs: gives each file of an archive to containerd while it arrives, and keeps the few documents.

import type { BlobWriter, ImageSession } from "../../containerd/archive/image-store.ts";
import type { ArchiveContent, StoredBlob } from "./archive-content.ts";
import { MAX_DOCUMENT } from "./archive-documents.ts";
import { invalidArchive } from "./archive-error.ts";
import { entryPath, linkTarget } from "./archive-paths.ts";
import { shown } from "./tar-header.ts";
import type { TarEntry, TarEvent } from "./tar-parser.ts";

const DOCUMENTS: readonly string[] = ["index.json", "manifest.json", "oci-layout"];
/** Files of old archives that no image needs. */
const UNUSED = /(?:^|\/)(?:VERSION|json|repositories)$/;
const BLOB = /^blobs\/sha256\/([0-9a-f]{64})$/;
const HEAD = 4;

/** The file that arrives. */
interface Receiver {
  take(data: Uint8Array): void | Promise<void>;
  end(): void | Promise<void>;
}

export class ArchiveReceiver {
  readonly #session: ImageSession;
  readonly #documents = new Map<string, Uint8Array>();
  readonly #blobs = new Map<string, StoredBlob>();
  readonly #links = new Map<string, string>();
  #receiver: Receiver = IGNORE;

  constructor(session: ImageSession) {
    this.#session = session;
  }

  get content(): ArchiveContent {
    return { documents: this.#documents, blobs: this.#blobs, links: this.#links };
  }

  /** Rejects with AgentError `InvalidImageArchive`, or with CriError. */
  async take(event: TarEvent): Promise<void> {
    switch (event.type) {
      case "Entry":
        this.#receiver = await this.#begin(event.entry);
        return;
      case "Data":
        return this.#receiver.take(event.data);
      case "End":
        return this.#receiver.end();
    }
  }

  async #begin(entry: TarEntry): Promise<Receiver> {
    const path = entryPath(entry.path);
    switch (entry.type) {
      case "Directory":
      case "Special":
        return IGNORE;
      case "HardLink":
      case "SymLink":
        this.#requireNew(path);
        this.#links.set(path, linkTarget({ type: entry.type, path }, entry.link));
        return IGNORE;
      case "File":
        return this.#file(path, entry.size);
    }
  }

  async #file(path: string, size: number): Promise<Receiver> {
    if (DOCUMENTS.includes(path)) {
      this.#requireNew(path);
      return this.#document(path, size);
    }
    if (UNUSED.test(path) || size === 0) return IGNORE;
    const digest = BLOB.exec(path)?.[1];
    // One content has one digest: it may be there twice.
    if (digest === undefined) this.#requireNew(path);
    return this.#blob({
      path,
      size,
      digest: digest === undefined ? undefined : `sha256:${digest}`,
    });
  }

  #document(path: string, size: number): Receiver {
    if (size > MAX_DOCUMENT) throw invalidArchive(`${path} has more than ${MAX_DOCUMENT} bytes`);
    const document = new Uint8Array(size);
    let offset = 0;
    return {
      take: (data) => {
        document.set(data, offset);
        offset += data.length;
      },
      end: () => void this.#documents.set(path, document),
    };
  }

  async #blob(blob: {
    readonly path: string;
    readonly size: number;
    readonly digest: string | undefined;
  }): Promise<Receiver> {
    const { path, size, digest } = blob;
    const writer = await this.#session.begin(blob);
    if (writer === "Present" && (await this.#session.sizeOf(digest ?? "")) !== size)
      throw invalidArchive(`${shown(path)} does not have the content that its name declares`);
    const head: number[] = [];
    const keep = (found: string): void =>
      void this.#blobs.set(path, { digest: found, size, head: Uint8Array.from(head) });
    return {
      take: (data) => {
        if (head.length < HEAD) head.push(...data.subarray(0, HEAD - head.length));
        return writer === "Present" ? undefined : writer.write(data);
      },
      end: async () => keep(writer === "Present" ? (digest ?? "") : await commit(writer, path)),
    };
  }

  /** Two contents under one name: programs would not agree which of them counts. */
  #requireNew(path: string): void {
    if (this.#documents.has(path) || this.#blobs.has(path) || this.#links.has(path))
      throw invalidArchive(`it has two entries ${shown(path)}`);
  }
}

const IGNORE: Receiver = { take: () => undefined, end: () => undefined };

async function commit(writer: BlobWriter, path: string): Promise<string> {
  const outcome = await writer.commit();
  if (outcome.type === "Stored") return outcome.digest;
  throw invalidArchive(`${shown(path)} does not have the content that its name declares`);
}
