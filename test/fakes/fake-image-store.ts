// containerd's images and content in memory: what no name and no open session keeps is collected at once.

import type {
  ArchiveEdge,
  ImageSession,
  ImageStore,
  TargetDescriptor,
} from "../../src/containerd/archive/image-store.ts";
import { sha256 } from "../../src/lib/system-sha256.ts";

interface FakeBlob {
  readonly data: Uint8Array;
  readonly references: Set<string>;
}

export class FakeImageStore implements ImageStore {
  readonly blobs = new Map<string, FakeBlob>();
  readonly images = new Map<string, TargetDescriptor>();
  /** Digests that each open session keeps. */
  readonly sessions = new Set<Set<string>>();
  /** Writes that have begun and were neither finished nor given up. */
  writing = 0;
  free: number | undefined;
  /** An image got a name. */
  onName: (name: string) => void = () => undefined;
  /** Called before each call; throws what the call is to throw. */
  fault: (call: string) => void = () => undefined;

  async sweep(): Promise<void> {
    this.fault("sweep");
  }

  async freeBytes(): Promise<number | undefined> {
    return this.free;
  }

  async target(name: string): Promise<TargetDescriptor | undefined> {
    this.fault("target");
    return this.images.get(name);
  }

  async *content({ digest }: Pick<TargetDescriptor, "digest">): AsyncGenerator<Uint8Array, void> {
    this.fault("content");
    const blob = this.blobs.get(digest);
    if (blob === undefined) throw new Error(`no content ${digest}`);
    yield blob.data;
  }

  async open(): Promise<ImageSession> {
    this.fault("open");
    const kept = new Set<string>();
    const begun = this.writing;
    this.sessions.add(kept);
    return {
      begin: async ({ digest, size }) => {
        this.fault("begin");
        if (digest !== undefined && this.blobs.has(digest)) {
          kept.add(digest);
          return "Present";
        }
        const parts: Uint8Array[] = [];
        this.writing += 1;
        return {
          write: async (data) => {
            this.fault("write");
            parts.push(new Uint8Array(data));
          },
          commit: async () => {
            this.fault("commit");
            const data = Buffer.concat(parts);
            if (data.length !== size) throw new Error(`${data.length} bytes instead of ${size}`);
            const found = `sha256:${sha256(data)}`;
            if (digest !== undefined && digest !== found) return { type: "Differs" };
            this.writing -= 1;
            kept.add(found);
            if (!this.blobs.has(found)) this.blobs.set(found, { data, references: new Set() });
            return { type: "Stored", digest: found };
          },
        };
      },
      sizeOf: async (digest) => this.blobs.get(digest)?.data.length,
      read: async ({ digest }) => {
        this.fault("read");
        return this.blobs.get(digest)?.data ?? new Uint8Array();
      },
      refer: async (digest, references) => {
        this.fault("refer");
        for (const to of Object.values(references)) this.blobs.get(digest)?.references.add(to);
      },
      name: async (name, target) => {
        this.fault("name");
        this.images.set(name, target);
        this.onName(name);
      },
      [Symbol.asyncDispose]: async () => {
        this.sessions.delete(kept);
        this.writing = begun;
        this.collect();
      },
    };
  }

  remove(name: string): void {
    this.images.delete(name);
    this.collect();
  }

  /** Everything that neither a name nor a session keeps. */
  collect(): void {
    const live = new Set<string>();
    const visit = (digest: string): void => {
      if (live.has(digest)) return;
      live.add(digest);
      for (const to of this.blobs.get(digest)?.references ?? []) visit(to);
    };
    for (const { digest } of this.images.values()) visit(digest);
    for (const kept of this.sessions) for (const digest of kept) visit(digest);
    for (const digest of this.blobs.keys()) if (!live.has(digest)) this.blobs.delete(digest);
  }
}

/** For agents without archives. */
export function noArchives(): ArchiveEdge {
  return {
    store: new FakeImageStore(),
    read: () => {
      throw new Error("there are no archives");
    },
  };
}
