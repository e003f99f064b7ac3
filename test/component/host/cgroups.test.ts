// Version 2 and what is missing on trees of plain files; version 1 also on the kernel's own, where it is mounted.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { readCgroupFacts, realCgroups, type CgroupValue } from "../../../src/host/cgroups.ts";
import { temporaryDirectories, writeTree } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const TREE = "sys/fs/cgroup";

const aRoot = (content: Readonly<Record<string, string>>): string =>
  writeTree(newDirectory(), content);

const pids: CgroupValue = { controller: "pids", file: "pids.max", value: "5", isLimit: true };
const shares: CgroupValue = {
  controller: "cpu",
  file: "cpu.shares",
  value: "512",
  isLimit: false,
};

describe("version 2", () => {
  const unified = { [`${TREE}/cgroup.controllers`]: "cpu memory pids\n" };

  test("every cgroup above hands its controllers down", () => {
    const pod = `${TREE}/kubepods/podx/pids.max`;
    const root = aRoot({ ...unified, [pod]: "" });
    expect(realCgroups(root).write("kubepods/podx", [pids], { make: true })).toEqual([]);
    expect(readFileSync(join(root, pod), "utf8")).toBe("5");
    for (const above of ["", "kubepods/"])
      expect(readFileSync(join(root, TREE, above, "cgroup.subtree_control"), "utf8")).toBe("+pids");
    expect(existsSync(join(root, TREE, "kubepods/podx/cgroup.subtree_control"))).toBe(false);
  });

  test("a file that the kernel does not have is never made", () => {
    const root = aRoot(unified);
    const [failure] = realCgroups(root).write("kubepods/podx", [pids], { make: true });
    expect(failure?.value).toBe(pids);
    expect(failure?.message).toContain("kubepods/podx/pids.max");
    expect(existsSync(join(root, TREE, "kubepods/podx"))).toBe(true);
    expect(existsSync(join(root, TREE, "kubepods/podx/pids.max"))).toBe(false);
  });

  test("a cgroup that somebody else has to make is not made", () => {
    const root = aRoot(unified);
    expect(realCgroups(root).write("kubepods.slice", [pids], { make: false })).toHaveLength(1);
    expect(existsSync(join(root, TREE, "kubepods.slice"))).toBe(false);
  });

  test("a controller that is switched off is named, the rest is written", () => {
    const root = aRoot({
      [`${TREE}/cgroup.controllers`]: "pids\n",
      [`${TREE}/kubepods/pids.max`]: "",
    });
    expect(realCgroups(root).write("kubepods", [shares, pids], { make: true })).toEqual([
      { path: "kubepods", value: shares, message: "the kernel has no cpu cgroup" },
    ]);
    expect(readFileSync(join(root, TREE, "kubepods/pids.max"), "utf8")).toBe("5");
  });
});

describe("kills for want of memory are counted", () => {
  test.each([
    [
      "version 2",
      { "cgroup.controllers": "memory\n", "pod/a/memory.events": "oom 3\noom_kill 2\n" },
    ],
    ["version 1", { "memory/pod/a/memory.oom_control": "under_oom 0\noom_kill 2\n" }],
  ])("in %s", (_version, tree) => {
    const content = Object.entries(tree).map(([path, text]) => [`${TREE}/${path}`, text] as const);
    const cgroups = realCgroups(aRoot(Object.fromEntries(content)));
    expect(cgroups.oomKills("pod/a")).toBe(2);
    expect(cgroups.oomKills("pod/b")).toBeUndefined();
  });

  test("but not by an old kernel", () => {
    const path = `${TREE}/memory/pod/a/memory.oom_control`;
    const root = aRoot({ [path]: "oom_kill_disable 0\nunder_oom 0\n" });
    expect(realCgroups(root).oomKills("pod/a")).toBeUndefined();
  });
});

describe("whether swap can be limited", () => {
  const unified = { [`${TREE}/cgroup.controllers`]: "memory\n" };
  const cases: Readonly<Record<string, readonly [Readonly<Record<string, string>>, boolean]>> = {
    "version 1 with the file": [
      { [`${TREE}/memory/memory.memsw.limit_in_bytes`]: "0", "proc/cgroups": "" },
      true,
    ],
    "version 1 without": [{ [`${TREE}/memory/memory.limit_in_bytes`]: "0" }, false],
    "version 2 tells in our own cgroup": [
      {
        ...unified,
        "proc/self/cgroup": "0::/system.slice/agent.service\n",
        [`${TREE}/system.slice/agent.service/memory.swap.max`]: "max",
      },
      true,
    ],
    "version 2 tells in systemd's while we are in the root": [
      { ...unified, "proc/self/cgroup": "0::/\n", [`${TREE}/init.scope/memory.swap.max`]: "max" },
      true,
    ],
    "version 2 without": [{ ...unified, "proc/self/cgroup": "0::/x\n" }, false],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [content, expected]) => {
    expect(readCgroupFacts(aRoot(content)).hasSwap).toBe(expected);
  });
});

const { version, controllers, mountPoint } = readCgroupFacts();
const canLimit = version === 1 && controllers.includes("pids") && process.getuid?.() === 0;

describe.skipIf(!canLimit)("version 1 of this kernel", () => {
  test("makes the cgroup with its limits in each tree", () => {
    const cgroups = realCgroups();
    const path = `agent-test-${process.pid}/pod`;
    try {
      expect(cgroups.write(path, [shares, pids], { make: true })).toEqual([]);
      const limit = readFileSync(join(mountPoint, "pids", path, "pids.max"), "utf8");
      const weight = readFileSync(join(mountPoint, "cpu", path, "cpu.shares"), "utf8");
      expect([limit.trim(), weight.trim()]).toEqual(["5", "512"]);
    } finally {
      for (const controller of ["pids", "cpu"])
        for (const directory of [path, dirname(path)])
          rmdirSync(join(mountPoint, controller, directory));
    }
  });
});
