import { describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pauseProgram } from "../../../src/containerd/pause-image.ts";
import { until } from "../../fakes/fake-cri-clock.ts";

const BUILD = join(import.meta.dir, "../../../src/containerd/pause/build.sh");
const MACHINES = { amd64: 62, arm64: 183 } as const;
const TOOLS = { amd64: "x86_64-linux-gnu-as", arm64: "aarch64-linux-gnu-as" } as const;
/** As build.sh and the platform name it. */
const NAMES = { amd64: "x64", arm64: "arm64" } as const;

function inDirectory<T>(run: (directory: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), "pause-"));
  const clean = (): void => rmSync(directory, { recursive: true, force: true });
  const result = run(directory);
  if (result instanceof Promise) void result.finally(clean);
  else clean();
  return result;
}

describe.each(["amd64", "arm64"] as const)("the embedded %s program", (architecture) => {
  test("is a small static executable for its machine without an executable stack", () => {
    const bytes = pauseProgram(architecture);
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    expect(bytes.length).toBeLessThan(2000);
    expect([...bytes.subarray(0, 6)]).toEqual([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
    expect([view.getUint16(16, true), view.getUint16(18, true)]).toEqual([
      2,
      MACHINES[architecture],
    ]);
    // PT_LOAD read + execute of the whole file, then PT_GNU_STACK read + write.
    expect([view.getUint32(64, true), view.getUint32(68, true)]).toEqual([1, 5]);
    expect(view.getBigUint64(96, true)).toBe(BigInt(bytes.length));
    expect([view.getUint32(120, true), view.getUint32(124, true)]).toEqual([0x6474e551, 6]);
  });

  const native = process.arch === NAMES[architecture] && Bun.which("as") !== null;
  if (native || Bun.which(TOOLS[architecture]) !== null)
    test("is what build.sh makes of its source, byte for byte", () => {
      inDirectory((directory) => {
        const output = join(directory, "pause");
        const built = spawnSync(BUILD, [NAMES[architecture], output]);
        expect(built.stderr.toString()).toBe("");
        expect(Buffer.compare(readFileSync(output), pauseProgram(architecture))).toBe(0);
      });
    });
});

describe.each(["SIGTERM", "SIGINT"] as const)("told to end by %s", (signal) => {
  test("it exits with 0, and until then it waits", async () => {
    const architecture = process.arch === "arm64" ? "arm64" : "amd64";
    await inDirectory(async (directory) => {
      const file = join(directory, "pause");
      writeFileSync(file, pauseProgram(architecture));
      chmodSync(file, 0o755);
      const child = spawn(file, { stdio: "ignore" });
      try {
        const exit = once(child, "exit");
        // The only sleep in it is the wait for a signal.
        await until(() => /^Name:\s*pause\nUmask.*\nState:\s*S/.test(statusOf(child.pid)));
        child.kill(signal);
        expect(await exit).toEqual([0, null]);
      } finally {
        child.kill("SIGKILL");
      }
    });
  });
});

function statusOf(pid: number | undefined): string {
  return readFileSync(`/proc/${pid}/status`, "utf8");
}
