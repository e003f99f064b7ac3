// Performs: a tar archive of a file or directory of this machine, as a stream.

import { createReadStream } from "node:fs";
import { lstat, readdir, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { endOfArchive, padding } from "../../image/archive/tar-writer.ts";
import { CliError } from "../exit-codes.ts";
import { entryHeader } from "./tar-entries.ts";

/** Rejects with CliError if there is nothing at the path. */
export async function mustExist(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new CliError(`${path} doesn't exist in local filesystem`);
}

/** `name`: of the root in the archive. Files that are neither regular, nor directories, nor links are left out. */
export async function* archiveOf(
  path: string,
  name: string,
  warn: (line: string) => void,
): AsyncGenerator<Uint8Array> {
  // A link that a person names is followed; links below it are copied as links.
  yield* entriesOf(path, name, { warn, facts: await stat(path) });
  yield endOfArchive();
}

interface EntryOptions {
  readonly warn: (line: string) => void;
  readonly facts: Awaited<ReturnType<typeof lstat>>;
}

async function* entriesOf(
  path: string,
  name: string,
  { warn, facts }: EntryOptions,
): AsyncGenerator<Uint8Array> {
  const common = {
    path: name,
    mode: Number(facts.mode),
    modified: Number(facts.mtimeMs) / 1000,
    size: 0,
    link: "",
  };
  if (facts.isDirectory()) {
    yield entryHeader({ ...common, type: "Directory" });
    for (const child of (await readdir(path)).toSorted()) {
      const below = join(path, child);
      yield* entriesOf(below, `${name}/${child}`, { warn, facts: await lstat(below) });
    }
  } else if (facts.isSymbolicLink()) {
    yield entryHeader({ ...common, type: "SymLink", link: await readlink(path) });
  } else if (facts.isFile()) {
    const size = Number(facts.size);
    yield entryHeader({ ...common, type: "File", size });
    yield* contentOf(path, size);
    yield padding(size);
  } else warn(`warning: skipping ${path}: it is a device, a pipe or a socket`);
}

/** Exactly `size` bytes: a file that grows is cut, and one that shrinks is an error, because its header is sent. */
async function* contentOf(path: string, size: number): AsyncGenerator<Uint8Array> {
  let sent = 0;
  if (size > 0)
    for await (const data of createReadStream(path, { end: size - 1 })) {
      if (!(data instanceof Uint8Array)) continue;
      sent += data.length;
      yield data;
    }
  if (sent !== size) throw new CliError(`${path} became shorter while it was copied`);
}
