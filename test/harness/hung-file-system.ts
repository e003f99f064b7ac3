// A file system that never answers, as one of a server that is gone: a FUSE mount whose daemon reads no request.

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

/** Why there can be none on this machine; undefined = there can. */
export function whyNoFuse(): string | undefined {
  return existsSync("/dev/fuse") ? undefined : "needs /dev/fuse";
}

export class HungFileSystem implements Disposable {
  readonly path: string;
  readonly #daemon: Bun.Subprocess;

  private constructor(path: string, daemon: Bun.Subprocess) {
    this.path = path;
    this.#daemon = daemon;
  }

  /** Mounts it on a new directory. */
  static async mount(path: string): Promise<HungFileSystem> {
    mkdirSync(path, { recursive: true });
    const daemon = Bun.spawn(
      [process.execPath, join(import.meta.dir, "hangs-until-killed.ts"), path],
      {
        stdout: "pipe",
        stderr: "inherit",
      },
    );
    const { value } = await daemon.stdout.getReader().read();
    if (value === undefined) throw new Error(`no FUSE file system could be mounted on ${path}`);
    return new HungFileSystem(path, daemon);
  }

  /** Everything that waits for it gets an error. */
  [Symbol.dispose](): void {
    this.#daemon.kill("SIGKILL");
    Bun.spawnSync(["umount", "-l", this.path]);
  }
}
