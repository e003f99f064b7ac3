// Performs: reads how the images of this node came, without changing the database.

import { existsSync } from "node:fs";
import Sqlite from "better-sqlite3";
import { ARCHIVE_PREFIX, decodeArchiveRecord } from "../archive-records.ts";
import { parseJson } from "../../lib/json.ts";
import type { SourceName } from "../../api/pod/labels.ts";
import { documentLabel } from "../document/documents.ts";
import { isSealed, type SecretBox } from "../seal-secrets.ts";
import type { ImageOrigin } from "../brought-images.ts";

export interface StoredImages {
  /** By the id of an image that this agent has brought. */
  readonly origins: ReadonlyMap<string, ImageOrigin>;
  /** By the full name of an image: the file of the archive directory that has it. */
  readonly archives: ReadonlyMap<string, string>;
  /** Images that stored documents name, whatever field names them so. */
  readonly named: readonly { readonly reference: string; readonly source: string }[];
}

export interface StoredImagesOptions {
  readonly path: string;
  readonly nativeBinding: string;
  /** undefined = documents with Secrets are left out. */
  readonly secrets: Pick<SecretBox, "open"> | undefined;
}

const BUSY_MS = 5_000;
const NOTHING: StoredImages = { origins: new Map(), archives: new Map(), named: [] };

/** Empty where the database cannot tell. */
export function storedImages(options: StoredImagesOptions): StoredImages {
  const { path, nativeBinding, secrets } = options;
  if (!existsSync(path)) return NOTHING;
  let sqlite: Sqlite.Database | undefined;
  try {
    sqlite = new Sqlite(path, { nativeBinding, readonly: true, timeout: BUSY_MS });
    const images = sqlite
      .prepare<[], { readonly id: string; readonly origin: ImageOrigin }>(
        "SELECT id, origin FROM image",
      )
      .all();
    const records = sqlite
      .prepare<[string], { readonly key: string; readonly value: string }>(
        "SELECT key, value FROM meta WHERE key GLOB ? || '*'",
      )
      .all(ARCHIVE_PREFIX);
    const named = records.flatMap(({ key, value }) => {
      const file = key.slice(ARCHIVE_PREFIX.length);
      return (decodeArchiveRecord(value)?.names ?? []).map((name) => [name, file] as const);
    });
    const documents = sqlite.prepare<[], DocumentLike>("SELECT * FROM document").all();
    return {
      named: documents.flatMap((row) =>
        imagesIn(payloadOf(row, secrets)).map((reference) => ({ reference, source: row.source })),
      ),
      origins: new Map(images.map(({ id, origin }) => [id, origin])),
      archives: new Map(named),
    };
  } catch {
    // The check of the database reports it.
    return NOTHING;
  } finally {
    sqlite?.close();
  }
}

interface DocumentLike {
  readonly source: SourceName;
  readonly epoch: string;
  readonly generation: number;
  readonly digest: string;
  readonly payload: Uint8Array;
}

function payloadOf(row: DocumentLike, secrets: StoredImagesOptions["secrets"]): unknown {
  const payload = new Uint8Array(row.payload);
  if (!isSealed(payload)) return parseJson(payload);
  const opened = secrets?.open(payload, documentLabel(row));
  return opened?.ok === true ? parseJson(opened.plain) : undefined;
}

/** Every text under the name `image`. */
function imagesIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]: readonly [string, unknown]) =>
    name === "image" && typeof member === "string" ? [member] : imagesIn(member),
  );
}
