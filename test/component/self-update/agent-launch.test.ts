// The launcher with each shell it must run on: small scripts stand for the versions of the binary, so that each kind of bad
// version, and a power cut at each step, can be shown.

import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";

import { makeTempDirectory } from "../../harness/temp-directory.ts";

const temp = makeTempDirectory();
afterAll(() => temp.remove());

const SOURCE = readFileSync(
  resolve(import.meta.dir, "../../../src/self-update/agent-launch.sh"),
  "utf8",
);
const BUSYBOX = [
  Bun.which("busybox"),
  resolve(import.meta.dir, "../../../.tools/busybox-static/busybox"),
].find((path) => path !== null && existsSync(path));
const SHELLS: readonly (readonly [name: string, command: readonly string[]])[] = [
  ["dash", ["/bin/dash"]],
  ...(typeof BUSYBOX === "string" ? [["busybox", [BUSYBOX, "sh"]] as const] : []),
];

/** All have the same first bytes, as binaries of one machine have. */
const HEAD = "#!/bin/sh\n# a binary of the tests\n";
/** What a version does after `run`; each can tell its version. */
const BEHAVIOURS = {
  /** Proves itself if it is on trial, and runs on: here it ends with 0. */
  good: `if [ -n "$AGENT_LAUNCH_TRIAL" ]; then ln -s "versions/$AGENT_LAUNCH_TRIAL" "$AGENT_LAUNCH_DIR/current.new"; mv -T "$AGENT_LAUNCH_DIR/current.new" "$AGENT_LAUNCH_DIR/current"; rm -f "$AGENT_LAUNCH_DIR/trial"; fi; exit 0`,
  /** Runs, but never proves itself. */
  unproven: "exit 0",
  crashes: "exit 1",
  hangs: "exec sleep 60",
} as const;

interface Node {
  readonly place: string;
  readonly installed: string;
  readonly ran: () => readonly string[];
  readonly failed: () => string;
  readonly version: (name: string, behaviour: keyof typeof BEHAVIOURS) => string;
  readonly trial: (name: string) => void;
  readonly launch: (options?: Options) => Promise<Ended>;
  /** Starts it again until it ends with 0, as a service manager does. */
  readonly supervise: (options?: Options) => Promise<void>;
}

interface Options {
  readonly env?: Readonly<Record<string, string>>;
}

interface Ended {
  readonly code: number;
  readonly stderr: string;
}

let nodes = 0;

function makeNode(shell: readonly string[]): Node {
  nodes += 1;
  const root = temp.directory(`node-${nodes}`);
  const state = join(root, "state");
  const place = join(state, "self-update");
  const installed = join(root, "agent");
  const log = join(root, "ran");
  const launcher = join(root, "agent-launch");
  const write = (path: string, name: string, body: string): void => {
    const text = `${HEAD}if [ "$1" = version ]; then echo ${name}; exit 0; fi\necho ${name} >>${log}\n${body}\n`;
    writeFileSync(path, text, { mode: 0o755 });
  };
  mkdirSync(join(place, "versions"), { recursive: true });
  writeFileSync(launcher, SOURCE.replaceAll("@BINARY@", installed).replaceAll("@STATE@", state), {
    mode: 0o755,
  });
  write(installed, "installed", "exit 0");
  utimesSync(installed, 1_000_000, 1_000_000);
  const launch = async ({ env = {} }: Options = {}): Promise<Ended> => {
    const child = Bun.spawn([...shell, launcher, "run"], {
      env: { PATH: process.env["PATH"] ?? "", ...env },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    const [stderr, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    return { code, stderr };
  };
  return {
    place,
    installed,
    ran: () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []),
    failed: () => {
      const path = join(place, "failed");
      return existsSync(path) ? readFileSync(path, "utf8") : "";
    },
    version: (name, behaviour) => {
      const directory = join(place, "versions", name);
      mkdirSync(directory, { recursive: true });
      write(join(directory, "agent"), name, BEHAVIOURS[behaviour]);
      const size = Bun.file(installed).size;
      writeFileSync(join(directory, "beside"), `${size}-1000000\n`);
      return join(directory, "agent");
    },
    trial: (name) => writeFileSync(join(place, "trial"), `name=${name}\nsha256=00ff\n`),
    launch,
    supervise: async (options) => {
      for (let starts = 0; starts < 10; starts += 1) {
        const { code } = await launch(options);
        if (code === 0) return;
      }
      throw new Error("the service manager has given up");
    },
  };
}

/** Version 2 was started on trial in this boot, a second more than five minutes ago. */
function startedLongAgo(node: Node): void {
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const uptime = Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]);
  writeFileSync(join(node.place, "starts"), `2 ${boot} ${Math.floor(uptime) - 301}\n`);
}

function current(node: Node, name: string): void {
  symlinkSync(`versions/${name}`, join(node.place, "current"));
}

describe.each(SHELLS)("%s", (_, shell) => {
  test("starts the installed binary where there is nothing else, also without a directory", async () => {
    const node = makeNode(shell);
    await node.launch();
    rmSync(node.place, { recursive: true });
    const { code, stderr } = await node.launch();
    expect([code, stderr, node.ran()]).toEqual([0, "", ["installed", "installed"]]);
  });

  test("says what helps when the installed binary cannot run, and lets it fail all the same", async () => {
    const cases: readonly (readonly [script: string, says: RegExp])[] = [
      [
        `echo "$0: /lib/libc.so.6: version GLIBC_2.34 not found (required by $0)" >&2; exit 1`,
        /C library of this system is too old for \S+: it needs glibc 2\.34 or later, and this is /,
      ],
      [
        `echo "$0: error while loading shared libraries: libstdc++.so.6: cannot open shared object file" >&2; exit 127`,
        /needs the library libstdc\+\+\.so\.6, .*apt-get install libstdc\+\+6\)/,
      ],
      [
        `echo "$0: error while loading shared libraries: libm.so.6: cannot open shared object file" >&2; exit 127`,
        /needs the library libm\.so\.6, .*apt-get install libc6\)/,
      ],
      ["kill -ILL $$", /uses instructions that this processor has not; build one without AVX2/],
      ["echo damaged >&2; exit 5", /cannot tell its version \(exit code 5\): damaged/],
    ];
    for (const [script, says] of cases) {
      const node = makeNode(shell);
      writeFileSync(node.installed, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      const { code, stderr } = await node.launch();
      expect(stderr).toMatch(/^agent-launch: /m);
      expect(stderr).toMatch(says);
      expect(code).not.toBe(0);
    }
    const node = makeNode(shell);
    writeFileSync(node.installed, "#!/no/such/loader\n", { mode: 0o755 });
    expect((await node.launch()).stderr).toMatch(
      /is there, but what loads it is not: .*glibc 2\.34/,
    );
    // A program of a processor that no machine of the tests has.
    const foreign = Buffer.from(readFileSync("/bin/sh"));
    foreign.writeUInt16LE(0xfeed, 18);
    writeFileSync(node.installed, foreign, { mode: 0o755 });
    expect((await node.launch()).stderr).toMatch(
      /is a program for another processor than this one/,
    );
  });

  test("starts the current version", async () => {
    const node = makeNode(shell);
    node.version("2", "good");
    current(node, "2");
    await node.launch();
    expect(node.ran()).toEqual(["2"]);
  });

  test("starts a version on trial, which proves itself", async () => {
    const node = makeNode(shell);
    node.version("1", "good");
    current(node, "1");
    node.version("2", "good");
    node.trial("2");
    await node.supervise();
    await node.supervise();
    expect(node.ran()).toEqual(["2", "2"]);
    expect(readlinkSync(join(node.place, "current"))).toBe("versions/2");
  });

  test("goes back after three crashes, and remembers the failure", async () => {
    const node = makeNode(shell);
    node.version("1", "good");
    current(node, "1");
    node.version("2", "crashes");
    node.trial("2");
    await node.supervise();
    expect(node.ran()).toEqual(["2", "2", "2", "1"]);
    expect(node.failed()).toBe("00ff 2 it was started 3 times and never proved itself\n");
    expect(existsSync(join(node.place, "trial"))).toBe(false);
  });

  test("ends a version that hangs, and goes back", async () => {
    const node = makeNode(shell);
    node.version("2", "hangs");
    node.trial("2");
    await node.supervise({ env: { AGENT_TRIAL_SECONDS: "2" } });
    expect(node.ran()).toEqual(["2", "installed"]);
    expect(node.failed()).toBe("00ff 2 it did not prove itself within 2 s\n");
  });

  test("counts the time since the first start in this boot only", async () => {
    const node = makeNode(shell);
    node.version("2", "unproven");
    node.trial("2");
    writeFileSync(join(node.place, "starts"), "2 another-boot 1\n1 x 5\n");
    await node.launch();
    expect(node.ran()).toEqual(["2"]);
    startedLongAgo(node);
    await node.launch();
    expect(node.ran()).toEqual(["2", "installed"]);
    expect(node.failed()).toContain("within 300 s");
  });

  test("no environment makes the trial longer", async () => {
    const node = makeNode(shell);
    node.version("2", "unproven");
    node.trial("2");
    startedLongAgo(node);
    await node.launch({ env: { AGENT_TRIAL_SECONDS: "4000" } });
    expect(node.ran()).toEqual(["installed"]);
  });

  for (const [what, spoil] of [
    ["is not executable", (path: string) => chmodSync(path, 0o644)],
    ["is missing", (path: string) => rmSync(path)],
    [
      "is for another processor",
      (path: string) => writeFileSync(path, "\x7fELF\x02\x01\x01\0 another processor"),
    ],
    ["is empty", (path: string) => writeFileSync(path, "")],
    ["is a directory", (path: string) => (rmSync(path), mkdirSync(path))],
    ["cannot even tell its version", (path: string) => writeFileSync(path, `${HEAD}exit 1`)],
  ] as const) {
    test(`does not start a version on trial that ${what}`, async () => {
      const node = makeNode(shell);
      node.version("1", "good");
      current(node, "1");
      spoil(node.version("2", "good"));
      node.trial("2");
      const { code } = await node.launch();
      expect([code, node.ran()]).toEqual([0, ["1"]]);
      expect(node.failed()).toBe("00ff 2 it cannot be executed on this machine\n");
    });

    test(`starts the installed binary if the current version ${what}`, async () => {
      const node = makeNode(shell);
      spoil(node.version("1", "good"));
      current(node, "1");
      const { code, stderr } = await node.launch();
      expect([code, node.ran()]).toEqual([0, ["installed"]]);
      expect(stderr).toContain("cannot be executed");
    });
  }

  test("a package that replaces the installed binary wins, over a trial as well", async () => {
    const node = makeNode(shell);
    node.version("1", "good");
    current(node, "1");
    node.version("2", "good");
    node.trial("2");
    utimesSync(node.installed, 2_000_000, 2_000_000);
    const { stderr } = await node.launch();
    await node.launch();
    expect(node.ran()).toEqual(["installed", "installed"]);
    expect(node.failed()).toBe("");
    expect(stderr).toContain("was replaced");
  });

  test("starts any version that is left when the installed binary is missing", async () => {
    const node = makeNode(shell);
    node.version("1", "good");
    rmSync(node.installed);
    expect((await node.launch()).code).toBe(0);
    expect(node.ran()).toEqual(["1"]);
    rmSync(join(node.place, "versions"), { recursive: true });
    const { code, stderr } = await node.launch();
    expect(code).toBe(127);
    expect(stderr).toContain("install one");
  });

  test.each(["", "name=../../etc\n", "name=\n", "\0\xff\n", "sha256=1\n"])(
    "a trial that cannot be read (%j) is removed",
    async (text) => {
      const node = makeNode(shell);
      writeFileSync(join(node.place, "trial"), text);
      expect((await node.launch()).code).toBe(0);
      expect(node.ran()).toEqual(["installed"]);
      expect(existsSync(join(node.place, "trial"))).toBe(false);
    },
  );

  test("a version that has proved itself just before a power cut stays", async () => {
    const node = makeNode(shell);
    node.version("2", "good");
    current(node, "2");
    node.trial("2");
    await node.launch();
    expect([node.ran(), node.failed()]).toEqual([["2"], ""]);
    expect(existsSync(join(node.place, "trial"))).toBe(false);
  });

  test("keeps the newest failures only", async () => {
    const node = makeNode(shell);
    const lines = Array.from({ length: 30 }, (_line, index) => `${index} old reason\n`);
    writeFileSync(join(node.place, "failed"), lines.join(""));
    chmodSync(node.version("2", "good"), 0o644);
    node.trial("2");
    await node.launch();
    const kept = node.failed().trim().split("\n");
    expect([kept.length, kept.at(0), kept.at(-1)]).toEqual([
      20,
      "11 old reason",
      "00ff 2 it cannot be executed on this machine",
    ]);
  });

  test("the watcher of a version that has proved itself ends", async () => {
    const node = makeNode(shell);
    node.version("2", "good");
    node.trial("2");
    await node.launch();
    await Bun.sleep(1_500);
    const left = Bun.spawnSync([
      "pgrep",
      "-f",
      `${node.place.replace("/state/self-update", "")}/agent-launch`,
    ]);
    expect(left.stdout.toString()).toBe("");
  });
});

describe("a power cut at each step", () => {
  const TOOLS = ["sync", "mv", "rm", "tail", "timeout", "head", "od", "stat", "readlink", "sleep"];

  /** Programs that end the launcher with SIGKILL instead of doing the nth of all calls, or right after it. */
  function cuttingTools(node: Node): string {
    const directory = join(node.place, "../tools");
    mkdirSync(directory, { recursive: true });
    for (const tool of TOOLS) {
      const real = Bun.which(tool) ?? tool;
      const text = `#!/bin/sh
if [ -n "\${CUT_AT:-}" ]; then
  echo x >>${directory}/calls
  if [ "$(wc -l <${directory}/calls)" = "$CUT_AT" ]; then
    [ "$CUT_WHEN" = before ] || ${real} "$@"
    kill -KILL $LAUNCHER
    exit 1
  fi
fi
exec ${real} "$@"
`;
      writeFileSync(join(directory, tool), text, { mode: 0o755 });
    }
    // The launcher's own process id, known before it begins.
    writeFileSync(
      join(directory, "cut"),
      `#!/bin/sh\nLAUNCHER=$$ PATH=${directory}:$PATH\nexport LAUNCHER PATH\nexec "$@"\n`,
      { mode: 0o755 },
    );
    return directory;
  }

  for (const behaviour of ["good", "crashes"] as const)
    for (const when of ["before", "after"] as const)
      test(`${behaviour}, ${when}: a version runs in the end, the bad one never stays`, async () => {
        for (let cut = 1; cut <= 22; cut += 1) {
          const node = makeNode(["/bin/dash"]);
          node.version("1", "good");
          current(node, "1");
          node.version("2", behaviour);
          node.trial("2");
          // Its third crash: the way back is the longest.
          if (behaviour === "crashes")
            writeFileSync(join(node.place, "starts"), "2 a 1\n2 b 1\n2 c 1\n");
          const directory = cuttingTools(node);
          const cutting = join(node.place, "../../agent-launch");
          const child = Bun.spawn([join(directory, "cut"), "/bin/dash", cutting, "run"], {
            env: { PATH: process.env["PATH"] ?? "", CUT_AT: String(cut), CUT_WHEN: when },
            stdin: "ignore",
            stdout: "ignore",
            stderr: "ignore",
          });
          await child.exited;
          await node.supervise();
          await node.supervise();
          expect([cut, node.ran().at(-1)]).toEqual([cut, behaviour === "good" ? "2" : "1"]);
          if (behaviour === "crashes") expect(node.failed()).toContain("00ff 2 ");
        }
      }, 60_000);
});
