// Who the processes of a container are and what they may do, as they see it themselves.

import { afterAll, beforeAll, expect } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { importImages } from "../harness/images.ts";
import { output } from "../harness/run-command.ts";
import { Stage } from "./support-a-stage.ts";
import { untilEvent } from "./support-c-views.ts";
import { linesOf, putFixture, SCRIPTS, waitOf } from "./support-d-linux.ts";

const stage = await Stage.open();
const e2e = stage.test;
let agent: AgentProcess;
/** Gives a profile to every container that has none. */
let strict: AgentProcess;

const IMAGES = [
  { name: "local/user-root:1", version: "root", user: "root" },
  { name: "local/user-name:1", version: "name", user: "nobody" },
  { name: "local/user-number:1", version: "number", user: "65534" },
];
const FIXTURES = [
  "users",
  "non-root",
  "capabilities",
  "privileged",
  "escalation",
  "seccomp",
  "seccomp-late",
];
const NO_MKDIR = {
  defaultAction: "SCMP_ACT_ALLOW",
  syscalls: [{ names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO" }],
};

beforeAll(async () => {
  if (!stage.available) return;
  await importImages(stage.containerd, stage.temp.directory("images"), IMAGES);
  agent = stage.agent();
  putProfile("profiles/no-mkdir.json");
  for (const name of FIXTURES) putFixture(agent, name);
  strict = stage.agent({
    name: "strict",
    instance: "strict",
    nodeName: "strict",
    config: { seccompDefault: true },
  });
  putFixture(strict, "seccomp-default");
  await Promise.all([agent.startReady(), strict.startReady()]);
}, 180_000);

afterAll(() => stage.close(), 180_000);

function putProfile(name: string): void {
  const path = join(agent.paths.state, "seccomp", name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, JSON.stringify(NO_MKDIR));
}

e2e.concurrent.each([
  ["the pod's", "as-pod", 1000, 3000],
  ["its own before the pod's", "as-itself", 1001, 3001],
])("a container runs as %s user and group, with the pod's groups", async (_, name, user, group) => {
  expect(await linesOf(agent, "users", name)).toEqual([
    `Uid:\t${user}\t${user}\t${user}\t${user}`,
    `Gid:\t${group}\t${group}\t${group}\t${group}`,
    `Groups:\t2000 ${group} 4000 5000 `,
    // The group of the volume owns what is made in it.
    "/data 0:2000 2777",
    `/data/${name} ${user}:2000 2755`,
    `/data/${name}/file ${user}:2000 644`,
    "sh: can't create /etc/mine: Permission denied",
    "no write",
  ]);
});

e2e.concurrent.each([
  ["the number that its image says", "number", 65534, 65534],
  ["the name that its image says, with its group", "name", 65534, 65534],
  ["root where its image says so", "root", 0, 0],
  ["root with a group of its own", "group", 0, 3000],
])("a container of which nothing else is written runs as %s", async (_, name, user, group) => {
  expect(await linesOf(agent, "image-users", name)).toEqual([
    `Uid:\t${user}\t${user}\t${user}\t${user}`,
    `Gid:\t${group}\t${group}\t${group}\t${group}`,
    `Groups:\t${group} `,
  ]);
});

e2e.concurrent.each([
  ["nobody", "container has runAsNonRoot and image will run as root"],
  [
    "name",
    "container has runAsNonRoot and image has non-numeric user (nobody), cannot verify user is non-root",
  ],
  [
    "root",
    "container has runAsNonRoot and image has non-numeric user (root), cannot verify user is non-root",
  ],
  ["zero", "container's runAsUser breaks non-root policy"],
])("runAsNonRoot keeps a container from starting: %s", async (container, why) => {
  const message = `${why} (pod: "default/non-root", container: ${container})`;
  const reason = "CreateContainerConfigError";
  expect(await waitOf(agent, "non-root", { container, reason })).toBe(message);
  const told = await untilEvent(agent, "non-root", { reason: "Failed", container });
  expect([told.type, told.message]).toEqual(["Warning", `Error: ${message}`]);
});

e2e.concurrent.each([
  ["of an image with a number", "number", 65534],
  ["of another image with a number of its own", "told", 1234],
  ["that takes the pod's word back", "allowed", 0],
])("runAsNonRoot lets a container start %s", async (_, container, user) => {
  const line = `Uid:\t${user}\t${user}\t${user}\t${user}`;
  expect(await linesOf(agent, "non-root", container)).toEqual([line]);
});

/** What Linux calls them, of those that matter here. */
const CAPABILITY = {
  CHOWN: 0,
  DAC_OVERRIDE: 1,
  FOWNER: 3,
  FSETID: 4,
  KILL: 5,
  SETGID: 6,
  SETUID: 7,
  SETPCAP: 8,
  NET_BIND_SERVICE: 10,
  NET_ADMIN: 12,
  NET_RAW: 13,
  SYS_CHROOT: 18,
  SYS_TIME: 25,
  MKNOD: 27,
  AUDIT_WRITE: 29,
  SETFCAP: 31,
} as const;
type CapabilityName = keyof typeof CAPABILITY;
const MORE: readonly CapabilityName[] = ["NET_ADMIN", "SYS_TIME"];
/** What every container of containerd has. */
const DEFAULTS = (Object.keys(CAPABILITY) as CapabilityName[]).filter(
  (name) => !MORE.includes(name),
);
const NONE = "0".repeat(16);
const CHOWN_REFUSED = "chown: /tmp/file: Operation not permitted";

function mask(names: readonly CapabilityName[]): string {
  const bits = names.reduce((sum, name) => sum | (1n << BigInt(CAPABILITY[name])), 0n);
  return bits.toString(16).padStart(16, "0");
}

/** All that this machine has to give: virtual ones may keep some back. */
function everything(): string {
  return /^CapBnd:\t(\w+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? NONE;
}

e2e.concurrent.each([
  ["by default", "plain", mask(DEFAULTS), "chowned"],
  ["and more", "added", mask([...DEFAULTS, ...MORE]), "chowned"],
  [
    "and less",
    "dropped",
    mask(DEFAULTS.filter((name) => !["CHOWN", "NET_RAW"].includes(name))),
    CHOWN_REFUSED,
  ],
  ["nothing but one", "only", mask(["NET_BIND_SERVICE"]), CHOWN_REFUSED],
  ["ALL", "all", everything(), "chowned"],
])("root has its capabilities: %s", async (_, container, all, last) => {
  expect(await linesOf(agent, "capabilities", container)).toEqual([
    `CapInh:\t${NONE}`,
    `CapPrm:\t${all}`,
    `CapEff:\t${all}`,
    `CapBnd:\t${all}`,
    `CapAmb:\t${NONE}`,
    last,
  ]);
});

e2e.concurrent("whoever is not root has no capability, only the bound", async () => {
  expect(await linesOf(agent, "capabilities", "user")).toEqual([
    ...["Inh", "Prm", "Eff"].map((set) => `Cap${set}:\t${NONE}`),
    `CapBnd:\t${mask([...DEFAULTS, "NET_ADMIN"])}`,
    `CapAmb:\t${NONE}`,
    CHOWN_REFUSED,
  ]);
});

/** As the node itself sees the paths that containers should not see. */
async function onNode(): Promise<readonly string[]> {
  return (await output(["sh", join(SCRIPTS, "hidden")])).trimEnd().split("\n");
}

e2e.concurrent("a privileged container sees and may do what the node's root may", async () => {
  expect(await linesOf(agent, "privileged", "privileged")).toEqual([
    ...(await onNode()),
    `CapEff:\t${everything()}`,
    "NoNewPrivs:\t0",
    "Seccomp:\t0",
    "opened",
    "written",
    "kmsg",
    "null",
  ]);
});

e2e.concurrent.each([["beside"], ["told"]])(
  "other containers see nothing of what is masked, and do not write the kernel's settings: %s",
  async (container) => {
    const hidden = (await onNode()).map((line) => {
      const [path = "", seen] = line.split(" ");
      if (seen === "absent") return line;
      if (seen === "open") return `${path} ${existsSync(path) ? "ro" : "open"}`;
      return `${path} 0`;
    });
    expect(await linesOf(agent, "privileged", container)).toEqual([
      ...hidden,
      `CapEff:\t${mask(DEFAULTS)}`,
      "NoNewPrivs:\t0",
      "Seccomp:\t0",
      "sh: can't open /tmp/node: Operation not permitted",
      "sh: can't create /proc/sys/kernel/domainname: Read-only file system",
      "null",
    ]);
  },
);

e2e.concurrent.each([
  ["plain", 0],
  ["allowed", 0],
  ["forbidden", 1],
])("no new privileges only where escalation is forbidden: %s", async (container, flag) => {
  expect(await linesOf(agent, "escalation", container)).toEqual([`NoNewPrivs:\t${flag}`]);
});

e2e.concurrent("a read-only root file system takes nothing, a volume does", async () => {
  expect(await linesOf(agent, "escalation", "read-only")).toEqual([
    "ro",
    "touch: /new: Read-only file system",
    "rm: can't remove '/etc/passwd': Read-only file system",
    "mkdir: can't create directory '/tmp/new': Read-only file system",
    "here",
  ]);
});

const DIRECTORY_REFUSED = "mkdir: can't create directory '/tmp/new': Operation not permitted";

e2e.concurrent.each([
  ["the pod's", "seccomp", "as-pod", ["Seccomp:\t2", "file", "new"]],
  ["Unconfined before the pod's", "seccomp", "unconfined", ["Seccomp:\t0", "file", "new"]],
  ["a file of the node", "seccomp", "localhost", ["Seccomp:\t2", DIRECTORY_REFUSED, "file"]],
  ["none", "seccomp-plain", "plain", ["Seccomp:\t0", "file", "new"]],
])("a container has a seccomp profile: %s", async (_, pod, container, lines) => {
  expect(await linesOf(agent, pod, container)).toEqual(lines);
});

e2e.concurrent.each([
  ["plain", 2],
  ["unconfined", 0],
  ["privileged", 0],
])("with seccompDefault the runtime's profile is the default: %s", async (container, mode) => {
  expect(await linesOf(strict, "seccomp-default", container)).toEqual([
    `Seccomp:\t${mode}`,
    "file",
    "new",
  ]);
});

e2e.concurrent("a container waits for its profile, and starts when it is there", async () => {
  const path = join(agent.paths.state, "seccomp/late.json");
  const waiting = { container: "waits", reason: "CreateContainerConfigError" };
  expect(await waitOf(agent, "seccomp-late", waiting)).toBe(
    `container "waits" needs the seccomp profile ${path}, which does not exist; create it`,
  );
  expect(await linesOf(agent, "seccomp-late", "beside")).toEqual(["Seccomp:\t0"]);
  putProfile("late.json");
  expect(await linesOf(agent, "seccomp-late", "waits")).toEqual(["Seccomp:\t2", DIRECTORY_REFUSED]);
});
