// Performs: writes bytes to a file, which appears whole or not at all, or to standard output.

import { open, rename, rm } from "node:fs/promises";
import { syncDirectoryOf } from "../../lib/files/system-durable-file.ts";

export interface BinaryOutput extends AsyncDisposable {
  /** `data` may be used again when this resolves. */
  write(data: Uint8Array): Promise<void>;
  /** Everything was written. Without it a file is removed. */
  keep(): Promise<void>;
}

const MODE = 0o644;

/** "-" = standard output. */
export async function openOutput(path: string): Promise<BinaryOutput> {
  if (path === "-") return standardOutput();
  const temporary = `${path}.part`;
  // Never through a link that another user has made, and never with the mode of an older file.
  await rm(temporary, { force: true });
  const file = await open(temporary, "wx", MODE);
  let isKept = false;
  return {
    async write(data) {
      for (let offset = 0; offset < data.length;)
        offset += (await file.write(data, offset, data.length - offset)).bytesWritten;
    },
    async keep() {
      await file.sync();
      await rename(temporary, path);
      syncDirectoryOf(path);
      isKept = true;
    },
    async [Symbol.asyncDispose]() {
      await file.close();
      if (!isKept) await rm(temporary, { force: true });
    },
  };
}

function standardOutput(): BinaryOutput {
  return {
    write: (data) =>
      new Promise<void>((resolve, reject) => {
        process.stdout.write(data, (error) => {
          if (error === null || error === undefined) resolve();
          else reject(error);
        });
      }),
    keep: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
