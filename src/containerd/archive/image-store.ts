// Performs: what importing and exporting images needs of containerd, as an interface. Types only.

export interface TargetDescriptor {
  readonly mediaType: string;
  /** `sha256:<hex>` */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
}

export type CommitOutcome =
  | { readonly type: "Stored"; /** `sha256:<hex>` */ readonly digest: string }
  | { readonly type: "Differs" };

/** One blob that is being stored. Every method throws CriError. */
export interface BlobWriter {
  /** `data` may be used again when this resolves. */
  write(data: Uint8Array): Promise<void>;
  /** Verifies the content against the declared digest, if any. Nothing is stored of content that differs. */
  commit(): Promise<CommitOutcome>;
}

export interface NewBlob {
  /** `sha256:<hex>`; undefined = found by the content. */
  readonly digest: string | undefined;
  /** Bytes. */
  readonly size: number;
}

/** Blobs and images that come together. Until `keep` nothing of them outlives the session. Every method throws CriError. */
export interface ImageSession extends AsyncDisposable {
  /** `Present` = containerd has this digest, and it is part of the session now. */
  begin(blob: NewBlob): Promise<BlobWriter | "Present">;
  /** undefined = there is no such blob. */
  sizeOf(digest: string): Promise<number | undefined>;
  read(blob: Pick<TargetDescriptor, "digest" | "size">): Promise<Uint8Array>;
  /** The blob keeps these other blobs, by the names of their relation. */
  refer(digest: string, references: Readonly<Record<string, string>>): Promise<void>;
  /** An existing name refers to this image afterwards. Its target and all that this keeps outlive the session. */
  name(name: string, target: TargetDescriptor): Promise<void>;
}

/** Every method throws CriError. */
export interface ImageStore {
  /** Takes back what interrupted sessions have left. */
  sweep(signal: AbortSignal): Promise<void>;
  /** Sweeps, then begins a session. */
  open(signal: AbortSignal): Promise<ImageSession>;
  /** Left for images; undefined = unknown. */
  freeBytes(signal: AbortSignal): Promise<number | undefined>;
  /** undefined = no image has this full name. */
  target(name: string, signal: AbortSignal): Promise<TargetDescriptor | undefined>;
  /** The content of a blob, in order. */
  content(
    blob: Pick<TargetDescriptor, "digest" | "size">,
    signal: AbortSignal,
  ): AsyncIterable<Uint8Array>;
}

/** The bytes of an archive, uncompressed, in parts. Rejects with AgentError `DamagedArchive`, or with the file's error. */
export type ReadArchive = (path: string, signal: AbortSignal) => AsyncIterable<Uint8Array>;

/** What importing needs from outside the process. */
export interface ArchiveEdge {
  readonly store: ImageStore;
  readonly read: ReadArchive;
}
