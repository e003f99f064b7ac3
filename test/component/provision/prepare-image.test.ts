// An image for many devices, on real directories: what makes a node this node goes, wherever the power is cut, and what
// people have put there stays.

import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";

import { placesOf } from "../../../src/cli/provision/prepare-places.ts";
import { lockStateDir } from "../../../src/host/agent-lock.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import {
  finishPreparation,
  prepare,
  preparedMark,
  type StatePlaces,
} from "../../../src/provision/prepare-image.ts";
import { cutFiles, PowerCut } from "../../fakes/cut-files.ts";
import { runOn } from "../cli/cli-stage.ts";
import { FakeTerminal } from "../cli/fake-terminal.ts";
import { temporaryDirectories, writeTree } from "../host/temporary-directories.ts";
import { treeOf, type Tree } from "./card-stage.ts";

const directory = temporaryDirectories();
const UID = "0f0e0d0c-0b0a-4908-8706-050403020100";
const MARK = { claims: false, hostname: "gateway", machineId: "abc" };

const KEPT: Tree = {
  "etc/agent/agent.yaml":
    "mqtt: {url: mqtts://b, certFile: /c.crt, keyFile: /c.key}\nnodeName: one\n",
  "etc/agent/manifests/web.yaml": "web",
  "var/lib/agent/seccomp/profile.json": "{}",
  "var/lib/agent/self-update/versions/2/agent": "binary",
  "var/lib/agent/claims/default/data/file": "data",
  "var/lib/agent/notes.txt": "of a person",
  "var/log/pods/other_pod_11111111-2222-4333-8444-555555555555/main/0.log": "of others",
};
const GONE: Tree = {
  "var/lib/agent/agent.db": "x",
  "var/lib/agent/agent.db-wal": "x",
  "var/lib/agent/identity.json": "{}",
  "var/lib/agent/secret.key": "x",
  "var/lib/agent/pki/pki.json": "x",
  "var/lib/agent/desired/mqtt-node.doc": "x",
  "var/lib/agent/trust.json": "x",
  "var/lib/agent/in-hand": "x",
  "var/lib/agent/provisioned.json": "x",
  "var/lib/agent/self-update/trial": "x",
  "var/lib/agent/self-update/starts": "x",
  "var/lib/agent/self-update/failed": "x",
  [`var/lib/agent/pods/${UID}/etc-hosts`]: "x",
  [`var/log/pods/default_web_${UID}/main/0.log`]: "x",
};
const MACHINE: Tree = { "etc/machine-id": "abc\n", "etc/hostname": "gateway\n" };

let root: string;
let terminal: FakeTerminal;

beforeEach(() => {
  root = directory();
  terminal = new FakeTerminal();
  writeTree(root, { ...KEPT, ...GONE, ...MACHINE });
});

function places(files: StatePlaces["files"] = realFiles()): StatePlaces {
  const config = {
    stateDir: "/var/lib/agent",
    podLogsDir: "/var/log/pods",
    claimRoot: "/var/lib/agent/claims",
  };
  return { ...placesOf(config, root), files, unmountBelow: () => undefined };
}

const LEFT = ["var/lib/agent/agent.lock", "var/lib/agent/prepared.json"];

function left(): Tree {
  const entries = Object.entries(treeOf(root));
  return Object.fromEntries(entries.filter(([path]) => !LEFT.includes(path)));
}

describe("agent prepare-image", () => {
  test("removes what makes a node this node, and tells what copies would share", async () => {
    expect(await runOn(terminal, `prepare-image --yes --root ${root}`)).toBe(0);
    expect(left()).toEqual({ ...KEPT, ...MACHINE });
    expect(preparedMark(realFiles(), join(root, "var/lib/agent"))).toEqual({
      ...MARK,
      isDone: true,
    });
    for (const path of Object.keys(GONE).filter(
      (one) => one.endsWith(".json") || one.endsWith(".key"),
    ))
      expect(terminal.stdout).toContain(path.split("/").slice(0, 4).join("/"));
    expect(terminal.stdout).toContain(
      `${root}/var/lib/agent/notes.txt stays: it is not the agent's`,
    );
    expect(terminal.stderr).toMatch(
      /client certificate and key of the broker \(mqtt\.keyFile \/c\.key\); remove it here/,
    );
    expect(terminal.stderr).toMatch(/every copy has the name one .*\$\{serial\}/);
    expect(terminal.stderr).toMatch(/data of claims; add --claims/);
    expect(terminal.stderr).toMatch(/machine ID of this image; add --machine-id/);
  });

  test("also the machine ID and claims, if asked", async () => {
    const code = await runOn(terminal, `prepare-image --yes --machine-id --claims --root ${root}`);
    expect(code).toBe(0);
    expect(readFileSync(join(root, "etc/machine-id"), "utf8")).toBe("");
    expect(existsSync(join(root, "var/lib/agent/claims"))).toBe(false);
    expect(preparedMark(realFiles(), join(root, "var/lib/agent"))).toMatchObject({ machineId: "" });
    expect(terminal.stderr).not.toMatch(/machine ID|data of claims/);
  });

  test("also D-Bus's machine ID, from which systemd would fill the empty one", async () => {
    writeTree(root, { "var/lib/dbus/machine-id": "abc\n" });
    expect(await runOn(terminal, `prepare-image --yes --machine-id --root ${root}`)).toBe(0);
    expect(existsSync(join(root, "var/lib/dbus/machine-id"))).toBe(false);
    expect(preparedMark(realFiles(), join(root, "var/lib/agent"))).toMatchObject({ machineId: "" });
  });

  test("not a link of D-Bus to the machine ID", async () => {
    writeTree(root, { "var/lib/dbus/other": "" });
    symlinkSync("/etc/machine-id", join(root, "var/lib/dbus/machine-id"));
    expect(await runOn(terminal, `prepare-image --yes --machine-id --root ${root}`)).toBe(0);
    expect(readlinkSync(join(root, "var/lib/dbus/machine-id"))).toBe("/etc/machine-id");
    expect(readFileSync(join(root, "etc/machine-id"), "utf8")).toBe("");
  });

  test("where only D-Bus has a machine ID, that is the one of the image", async () => {
    writeTree(root, { "etc/machine-id": "", "var/lib/dbus/machine-id": "def\n" });
    expect(await runOn(terminal, `prepare-image --yes --root ${root}`)).toBe(0);
    expect(preparedMark(realFiles(), join(root, "var/lib/agent"))).toMatchObject({
      machineId: "def",
    });
  });

  test("changes nothing with --dry-run, and nothing without a yes", async () => {
    const before = treeOf(root);
    expect(await runOn(terminal, `prepare-image --dry-run --root ${root}`)).toBe(0);
    expect(terminal.stdout).toContain(`would remove ${root}/var/lib/agent/identity.json`);
    expect(treeOf(root)).toEqual(before);
    expect(await runOn(terminal, `prepare-image --root ${root}`)).toBe(1);
    expect(terminal.stderr).toContain("nothing was removed; add --yes");
    expect(left()).toEqual(before);
  });

  test("is refused while an agent runs on that state", async () => {
    using _agent = lockStateDir(join(root, "var/lib/agent"));
    expect(await runOn(terminal, `prepare-image --yes --root ${root}`)).toBe(1);
    expect(terminal.stderr).toMatch(
      /another agent \(pid \d+\) already uses .*systemctl stop agent/,
    );
    expect(existsSync(join(root, "var/lib/agent/identity.json"))).toBe(true);
  });

  test("is refused where a link leads out of the image", async () => {
    const image = directory();
    writeTree(image, { "etc/agent/agent.yaml": "{}" });
    writeTree(image, { "var/lib/keep": "" });
    symlinkSync(join(root, "var/lib/agent"), join(image, "var/lib/agent"));
    expect(await runOn(terminal, `prepare-image --yes --root ${image}`)).toBe(1);
    expect(terminal.stderr).toMatch(/leads out of .* by a link/);
    expect(existsSync(join(root, "var/lib/agent/identity.json"))).toBe(true);
  });

  test("a power cut at any change is finished by the next start, or leaves all", () => {
    let finished = 0;
    for (let after = 0; ; after += 1) {
      root = directory();
      writeTree(root, { ...KEPT, ...GONE, ...MACHINE });
      const cut = cutFiles(realFiles(), after);
      try {
        prepare(places(cut.files), MARK);
        break;
      } catch (error) {
        if (!(error instanceof PowerCut)) throw error;
      }
      if (finishPreparation(places())) {
        finished += 1;
        expect(left()).toEqual({ ...KEPT, ...MACHINE });
        expect(finishPreparation(places())).toBe(false);
      } else expect(left()).toEqual({ ...KEPT, ...GONE, ...MACHINE });
    }
    expect(finished).toBeGreaterThan(10);
  });
});
