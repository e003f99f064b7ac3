// What an old container runtime does not know it leaves out without a word: the pod is refused then, and runs where the runtime can.

import { afterAll, beforeAll, expect } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { containerdVersion, hasSelinux } from "../harness/machine.ts";
import { output } from "../harness/run-command.ts";
import { Stage } from "./support-a-stage.ts";
import { untilEvent } from "./support-c-views.ts";
import { linesOf, putFixture, testIf, waitOf } from "./support-d-linux.ts";

interface Feature {
  readonly pod: string;
  /** True where this machine can. */
  readonly can: boolean;
  readonly needs: string;
  readonly refusal: string;
  /** Whose failure it is. */
  readonly event: "FailedCreatePodSandBox" | "Failed";
  /** What is seen inside where it can. */
  readonly seen: RegExp;
}

const stage = await Stage.open({ selinux: hasSelinux() });
const CONTAINERD = stage.available ? (await containerdVersion()).text : "0.0";
const RUNC = stage.available ? await output(["runc", "--version"]) : "0.0";
const TWO = isAtLeast(CONTAINERD, 2, 0);
const OWN_USERS = {
  can: TWO && isAtLeast(release(), 6, 3) && isAtLeast(RUNC, 1, 2),
  needs: "user namespaces (containerd 2.0, runc 1.2, Linux 6.3)",
  refusal:
    "hostUsers: false needs a runtime with user namespaces (containerd 2.0, runc 1.2 and Linux 6.3, or newer); update it, or remove hostUsers",
  event: "FailedCreatePodSandBox",
} as const;
const FEATURES: readonly Feature[] = [
  { pod: "own-users", ...OWN_USERS, seen: /^ *0 +[1-9]\d+ +65536$/ },
  { pod: "unmasked-proc", ...OWN_USERS, seen: /^0$/ },
  {
    pod: "strict-groups",
    can: TWO,
    needs: "supplementalGroupsPolicy (containerd 2.0)",
    refusal:
      "supplementalGroupsPolicy: Strict needs a runtime that knows it (containerd 2.0 or newer); update it, or remove supplementalGroupsPolicy",
    event: "FailedCreatePodSandBox",
    seen: /^3000 4000$/,
  },
  {
    pod: "selinux",
    can: hasSelinux(),
    needs: "SELinux",
    refusal:
      "seLinuxOptions need SELinux on this node and in its runtime (containerd: enable_selinux = true); switch it on, or remove seLinuxOptions",
    event: "FailedCreatePodSandBox",
    seen: /:s0:c123,c456\0?$/,
  },
  {
    pod: "cdi",
    can: isAtLeast(CONTAINERD, 1, 7),
    needs: "CDI (containerd 1.7)",
    refusal:
      'container "main" asks for the CDI device agent.example/e2e=one, which this container runtime would ignore; use containerd 2.0 or newer, or 1.7 with enable_cdi = true',
    event: "Failed",
    seen: /^one$/,
  },
  {
    pod: "image-volume",
    can: isAtLeast(CONTAINERD, 2, 1),
    needs: "image volumes (containerd 2.1)",
    refusal:
      'volume "image" is an image, which this container runtime cannot mount; use containerd 2.1 or newer',
    event: "Failed",
    seen: /^2$/,
  },
  {
    pod: "recursive",
    can: TWO && isAtLeast(release(), 5, 12),
    needs: "recursive read-only mounts (containerd 2.0, Linux 5.12)",
    refusal:
      'volume "tree" requested recursive read-only mode, but it is not supported by the runtime; use containerd 2.0, runc 1.1 and Linux 5.12 or newer, or recursiveReadOnly: IfPossible',
    event: "Failed",
    seen: /Read-only file system$/,
  },
];
const RECURSIVE = FEATURES.some(({ pod, can }) => pod === "recursive" && can);
let agent: AgentProcess;

beforeAll(async () => {
  if (!stage.available) return;
  const tree = stage.temp.directory("tree");
  mkdirSync(join(tree, "below"));
  await output(["mount", "-t", "tmpfs", "none", join(tree, "below")]);
  putCdiDevice();
  agent = stage.agent();
  putFixture(agent, "unsupported", { TREE: tree });
  await agent.startReady();
}, 180_000);

afterAll(() => stage.close(), 180_000);

/** `containerd … 1.6.20~ds1` is at least 1.6. */
function isAtLeast(text: string, major: number, minor: number): boolean {
  const [, ...found] = /(\d+)\.(\d+)/.exec(text) ?? [];
  const [foundMajor = 0, foundMinor = 0] = found.map(Number);
  return foundMajor > major || (foundMajor === major && foundMinor >= minor);
}

function putCdiDevice(): void {
  const { cdiDirectory } = stage.containerd;
  const devices = [{ name: "one", containerEdits: { env: ["FROM_CDI=one"] } }];
  const description = { cdiVersion: "0.5.0", kind: "agent.example/e2e", devices };
  mkdirSync(cdiDirectory);
  writeFileSync(join(cdiDirectory, "e2e.json"), JSON.stringify(description));
}

for (const { pod, can, needs, refusal, event, seen } of FEATURES) {
  testIf(!can, stage, `a runtime without ${needs}`).concurrent(
    `what the runtime cannot is refused, never left out: ${pod}`,
    async () => {
      expect(await waitOf(agent, pod, { reason: "UnsupportedByRuntime" })).toBe(refusal);
      const told = await untilEvent(agent, pod, { reason: event, type: "Warning" });
      expect(told.message).toEndWith(`: ${refusal}`);
      expect(await stage.containersOf(pod)).toEqual([]);
    },
  );
  testIf(can, stage, needs).concurrent(`what the runtime can it does: ${pod}`, async () => {
    const lines = await linesOf(agent, pod);
    expect(lines.join("\n")).toMatch(seen);
  });
}

stage.test.concurrent("recursiveReadOnly: IfPossible makes do with what there is", async () => {
  const [above, below] = await linesOf(agent, "recursive-if-possible");
  const refused = (path: string): string => `touch: ${path}: Read-only file system`;
  expect(above).toBe(refused("/tree/new"));
  // What is mounted in the tree stays as it is where the runtime only knows the tree itself.
  expect(below).toBe(RECURSIVE ? refused("/tree/below/new") : "written");
});
