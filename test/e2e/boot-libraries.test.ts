// What a system without what the binary needs says at the start: each time one sentence that names it and what helps. The real
// binary, under roots that have only some of the libraries of this machine.

import { afterAll, describe, expect } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

import { agentBinary } from "../harness/agent-process.ts";
import { output, run, runSync, type CommandResult } from "../harness/run-command.ts";
import { testWhenAvailable } from "../harness/skip-reasons.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";

const temp = makeTempDirectory();
const BUSYBOX = resolve(import.meta.dir, "../../.tools/busybox-static/busybox");
const APPLETS = ["cat", "cut", "head", "od", "sh", "stat", "sync", "timeout", "tr", "uname"];

const MAY_MOUNT = runSync(["unshare", "--mount", "true"]).code === 0;
const test = testWhenAvailable(
  MAY_MOUNT ? {} : { unavailable: "this machine lets no test mount anything" },
);

afterAll(() => temp.remove());

interface Root {
  readonly path: string;
  /** As the service manager does. */
  readonly launch: () => Promise<CommandResult>;
  readonly removeLibrary: (name: string) => void;
  /** One of this machine that the binary is not linked to. */
  readonly addLibrary: (name: string) => void;
}

/** Paths of what the binary is linked to, with the loader. */
async function libraries(): Promise<readonly string[]> {
  const lines = (await output(["ldd", agentBinary()])).split("\n");
  return lines.flatMap((line) => /(\/\S+) \(0x/.exec(line)?.[1] ?? []);
}

async function makeRoot(name: string): Promise<Root> {
  const path = temp.directory(name);
  for (const directory of ["bin", "dev", "proc", "state", "tmp"]) mkdirSync(join(path, directory));
  writeFileSync(join(path, "dev/null"), "");
  const put = (from: string, to: string): void => {
    mkdirSync(dirname(join(path, to)), { recursive: true });
    copyFileSync(from, join(path, to));
  };
  const all = await libraries();
  for (const library of all) put(library, library);
  put(busybox(), "bin/busybox");
  put(agentBinary(), "bin/agent");
  chmodSync(join(path, "bin/agent"), 0o755);
  for (const applet of APPLETS) symlinkSync("busybox", join(path, "bin", applet));
  writeFileSync(join(path, "agent.yaml"), "stateDir: /state\nsocket: /state/agent.sock\n");
  const source = resolve(import.meta.dir, "../../src/self-update/agent-launch.sh");
  const launcher = readFileSync(source, "utf8")
    .replaceAll("@BINARY@", "/bin/agent")
    .replaceAll("@STATE@", "/state");
  writeFileSync(join(path, "bin/agent-launch"), launcher, { mode: 0o755 });
  for (const mount of [
    ["-t", "proc", "proc", join(path, "proc")],
    ["--bind", "/dev/null", join(path, "dev/null")],
  ])
    expect(runSync(["mount", ...mount]).code).toBe(0);
  const words = ["chroot", path, "/bin/agent-launch", "run", "--config", "/agent.yaml"];
  return {
    path,
    launch: () => run(words, { timeout: 60_000, env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" } }),
    removeLibrary: (library) => {
      const found = all.find((one) => basename(one).startsWith(library));
      if (found === undefined) throw new Error(`${agentBinary()} is not linked to ${library}`);
      rmSync(join(path, found));
    },
    addLibrary: (library) => {
      const [libc = ""] = all.filter((one) => basename(one).startsWith("libc.so"));
      put(join(dirname(libc), library), join(dirname(libc), library));
    },
  };
}

function busybox(): string {
  return existsSync(BUSYBOX) ? BUSYBOX : (Bun.which("busybox") ?? BUSYBOX);
}

describe("a system without", () => {
  test("libstdc++ is told to install it", async () => {
    const root = await makeRoot("no-libstdcxx");
    const { code, stderr } = await root.launch();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /"reason":"SqliteAddonUnusable".*libstdc\+\+\.so\.6 is missing, install it \(Debian: apt-get install libstdc\+\+6\)/,
    );
    // The binary itself runs, and the launcher has nothing to say.
    expect(stderr).not.toContain("agent-launch:");
  }, 60_000);

  test("a library of the C library is told which package has it", async () => {
    const root = await makeRoot("no-libm");
    root.removeLibrary("libm.so");
    const { code, stderr } = await root.launch();
    expect(code).not.toBe(0);
    expect(stderr).toMatch(
      /^agent-launch: \/bin\/agent needs the library libm\.so\.6, which is missing here; install it \(Debian: apt-get install libc6\)$/m,
    );
  }, 60_000);

  test("a glibc that the binary can use is told which one it takes", async () => {
    const root = await makeRoot("old-glibc");
    patch(join(root.path, "bin/agent"), "GLIBC_2.17", "GLIBC_9.17");
    const { code, stderr } = await root.launch();
    expect(code).not.toBe(0);
    expect(stderr).toMatch(
      /^agent-launch: the C library of this system is too old for \/bin\/agent: it needs glibc 2\.34 or later, and this is \S+; use a distribution with it, such as Debian 12 or Ubuntu 22\.04$/m,
    );
  }, 60_000);

  test("a glibc that the database's addon can use is told the same", async () => {
    const root = await makeRoot("middle-glibc");
    for (const name of ["libstdc++.so.6", "libgcc_s.so.1"]) root.addLibrary(name);
    patch(join(root.path, "bin/agent"), "GLIBC_2.34", "GLIBC_9.34");
    const { code, stderr } = await root.launch();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /"reason":"SqliteAddonUnusable".*this system's C library is too old, the agent needs glibc 2\.34 or later \(Debian 12, Ubuntu 22\.04\)/,
    );
  }, 60_000);

  test("glibc at all, such as Alpine, is told so", async () => {
    const root = await makeRoot("no-glibc");
    root.removeLibrary("ld-linux");
    const { code, stderr } = await root.launch();
    expect(code).not.toBe(0);
    expect(stderr).toMatch(
      /^agent-launch: \/bin\/agent is there, but what loads it is not: it needs a 64-bit system with glibc 2\.34 or later, such as Debian 12, and no musl, such as Alpine's$/m,
    );
  }, 60_000);
});

/**
 * The first of the names in the table of strings, the binary's own before that of the addon in it: now it asks for a version
 * that no glibc has, as today's does on a system of yesterday.
 */
function patch(path: string, from: string, to: string): void {
  const bytes = readFileSync(path);
  const at = bytes.indexOf(`${from}\0`);
  if (at < 0) throw new Error(`${path} does not ask for ${from}`);
  bytes.write(to, at, "latin1");
  writeFileSync(path, bytes);
}
