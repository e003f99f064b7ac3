import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { realMounts } from "../../../src/host/mounts.ts";
import { STEP_ENTRIES } from "../../../src/host/tree/walk-tree.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { Claims } from "../../../src/volume/claim-directory.ts";
import { ClaimRemover } from "../../../src/volume/claim-remover.ts";
import { usersOf, type ClaimUsers } from "../../../src/volume/claim-users.ts";
import { aDesiredPod, aPod } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeGuard } from "../../fakes/fake-guard.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";

const newDirectory = temporaryDirectories();
const CLAIM = { namespace: "default", name: "data" };
const NO_USERS: ClaimUsers = { pods: [], strangers: [], areKnown: true };

function user(name: string, claimName = "data", namespace = "default"): DesiredPod {
  const persistentVolumeClaim = { claimName, readOnly: true };
  const volumes = [{ name: "v", persistentVolumeClaim }];
  return aDesiredPod(aPod({ volumes }, { name, namespace }));
}

/** A claim with `files` files in it, and what removes it, which runs. */
function aNode(files: number, claimRoot = newDirectory()) {
  const path = join(claimRoot, "default/data");
  if (files > 0) mkdirSync(path, { recursive: true });
  for (let index = 0; index < files; index += 1) writeFileSync(join(path, `${index}`), "");
  const clock = new VirtualClock();
  const guard = new FakeGuard();
  const edges = { files: realFiles(), mounts: realMounts() };
  const claims = new Claims({ ...edges, claimRoot, claimRootMustBeMount: false });
  const log = createLogger({ clock, level: "error", write: () => undefined });
  const remover = new ClaimRemover({ ...edges, clock, log, guard, claims });
  const stop = new AbortController();
  const running = remover.run(stop.signal);
  return {
    path,
    claimRoot,
    clock,
    guard,
    remover,
    /** Entries of the directories that are to be removed. */
    left: () => claims.removed().map((one) => readdirSync(one).length),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await clock.settle();
      await running;
    },
  };
}

describe("pods that use a claim", () => {
  test("pods of its namespace that mount it, each once", () => {
    const pods = [
      user("web"),
      user("web"),
      user("db"),
      user("c", "other"),
      user("d", "data", "shop"),
    ];
    expect(usersOf(CLAIM, { ...NO_USERS, pods })).toEqual(["default/db", "default/web"]);
  });

  test("every pod of its namespace that is known by name only may", () => {
    const strangers = [
      { namespace: "default", name: "old" },
      { namespace: "shop", name: "old" },
    ];
    expect(usersOf(CLAIM, { ...NO_USERS, strangers })).toEqual(["default/old"]);
  });
});

describe("the data of a claim", () => {
  test("is removed when no pod uses it", async () => {
    await using node = aNode(3);
    const outcome = node.remover.remove(CLAIM, { ...NO_USERS, pods: [user("web", "other")] });
    expect(outcome).toEqual({ type: "Removed" });
    expect(existsSync(node.path)).toBe(false);
    await node.clock.advance(1);
    expect(node.left()).toEqual([]);
  });

  test.each([
    [
      "while a pod uses it",
      { ...NO_USERS, pods: [user("web")] },
      { type: "InUse", pods: ["default/web"] },
    ],
    [
      "while the running pods are unknown, as right after the start",
      { ...NO_USERS, areKnown: false },
      { type: "Failed", message: "the pods of this node are not known yet; try again in a moment" },
    ],
  ] as const)("stays %s", async (_, users, outcome) => {
    await using node = aNode(1);
    expect(node.remover.remove(CLAIM, users)).toEqual(outcome);
    expect(readdirSync(node.path)).toHaveLength(1);
  });

  test("that cannot be removed is reported", async () => {
    await using node = aNode(1);
    writeFileSync(join(node.path, "../.removed"), "");
    expect(node.remover.remove(CLAIM, NO_USERS)).toEqual({
      type: "Failed",
      message: `${join(node.path, "../.removed")} is a file, not a directory; it is neither followed nor replaced`,
    });
    expect(readdirSync(node.path)).toHaveLength(1);
  });

  test("that is not there is not found", async () => {
    await using node = aNode(0);
    expect(node.remover.remove(CLAIM, NO_USERS)).toEqual({ type: "NotFound" });
    const impossible = { namespace: "defa\tt", name: "a/../b" };
    expect(node.remover.remove(impossible, NO_USERS)).toEqual({ type: "NotFound" });
  });
});

describe("the space of a large claim", () => {
  const FILES = 8 * STEP_ENTRIES;

  test("is freed in steps, and the claim can begin anew at once", async () => {
    await using node = aNode(FILES);
    node.remover.remove(CLAIM, NO_USERS);
    expect(node.left()).toEqual([FILES]);
    mkdirSync(node.path);
    writeFileSync(join(node.path, "new"), "");
    expect(node.remover.remove(CLAIM, { ...NO_USERS, pods: [user("web")] }).type).toBe("InUse");
    await node.clock.settle();
    const [half = 0] = node.left();
    expect(half).toBeGreaterThan(0);
    expect(half).toBeLessThan(FILES);
    await node.clock.advance(1_000);
    expect(node.left()).toEqual([]);
    expect(readdirSync(node.path)).toEqual(["new"]);
    expect(node.guard.history.map((one) => one.split(" ")[0])).toEqual(["hold", "settle"]);
  });

  test("that a power cut left is freed after the next start", async () => {
    const root = newDirectory();
    {
      await using node = aNode(FILES, root);
      node.remover.remove(CLAIM, NO_USERS);
      expect(node.left()).toEqual([FILES]);
    }
    await using again = aNode(0, root);
    await again.clock.advance(1_000);
    expect(again.left()).toEqual([]);
  });

  test("in whose removal the agent ended twice waits, and the API goes on", async () => {
    await using node = aNode(FILES);
    const place = `Removal ${join(node.claimRoot, "default/.removed/0")}`;
    node.guard.suspects.add(place);
    expect(node.remover.remove(CLAIM, NO_USERS)).toEqual({ type: "Removed" });
    await node.clock.advance(1_000);
    expect([node.left(), node.guard.waiting]).toEqual([[FILES], [place]]);
    node.guard.allow(place);
    await node.clock.advance(1_000);
    expect(node.left()).toEqual([]);
  });

  test("that cannot be freed is tried again later, and keeps no other waiting", async () => {
    await using node = aNode(1);
    const mounts = realMounts();
    const blocked = join(node.claimRoot, "blocked");
    mkdirSync(blocked);
    node.remover.remove(CLAIM, NO_USERS);
    const [first, second] = ["0", "1"].map((at) => join(node.claimRoot, "default/.removed", at));
    mounts.bindBeneath({ root: blocked, path: "", create: false, target: first ?? "" });
    await node.clock.advance(1_000);
    mkdirSync(node.path);
    node.remover.remove(CLAIM, NO_USERS);
    await node.clock.advance(1_000);
    expect([first, second].map((path) => existsSync(path ?? ""))).toEqual([true, false]);
    mounts.unmount(first ?? "");
    await node.clock.advance(600_000);
    expect(existsSync(first ?? "")).toBe(false);
  });
});
