// End-to-end tests of which the machine of a builder skips cases, run inside a device: cgroup v2, AppArmor, CDI, huge pages.

import { strictEqual } from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";

import { output, run } from "../../harness/run-command.ts";
import { Device } from "../device.ts";
import { ARM64_BUN, ROOT } from "../source.ts";
import type { Scenario, Stage } from "../scenario.ts";

/** Suite → names of its cases that need what such a device has. */
const SUITES: Readonly<Record<string, string>> = {
  "e2e/linux-admission": "profile of AppArmor$",
  "e2e/linux-features": "what the runtime can it does",
  "e2e/linux-resources": "cgroups of version 2|huge pages are mounted",
  "e2e/volumes": "an emptyDir in huge pages",
  "component/host/machine": ".",
};
const CHOSEN = (process.env["AGENT_DEVICE_SUITES"] ?? Object.keys(SUITES).join(",")).split(",");
const SUITE_SECONDS = 2_400;
/** Emulated, everything takes some ten times as long. */
const PATIENCE = 15;
const HUGE_PAGES = 16;

export const suites: Scenario = {
  name: "suites",
  about: `test suites with cases for cgroup v2, AppArmor, CDI and huge pages: ${CHOSEN.join(", ")}`,
  run: async (stage) => {
    await shareSource(stage);
    const device = await Device.make(stage, { name: "suites", memoryMegabytes: 2_048 });
    const { guest } = device;
    await guest.start();
    // Thousands of modules are read: nothing of them changes while the guest runs.
    await guest.sh(
      `umount /run/payload
mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=262144 payload /run/payload
mkdir -p /var/tests
cp /run/payload/bun /usr/local/bin/bun
systemctl stop containerd
sysctl -qw vm.nr_hugepages=${HUGE_PAGES}`,
      900,
    );
    const failed: string[] = [];
    for (const suite of CHOSEN) {
      const { ok, counts } = await runSuite(device, stage, suite);
      stage.note(suite, counts);
      if (!ok) failed.push(suite);
    }
    strictEqual(failed.join(" "), "", "suites that failed");
    await guest.powerCut();
  },
};

/** The source, its modules and the binary, as the tests expect them. */
async function shareSource({ payload }: Stage): Promise<void> {
  const source = `${payload}/source`;
  mkdirSync(`${source}/dist`, { recursive: true });
  const parts = ["src", "test", "manifests", "package.json", "tsconfig.json", "bunfig.toml"];
  for (const part of [...parts, "node_modules"]) {
    const paths = [resolve(ROOT, part), `${source}/${part}`];
    // Links cost nothing, and cannot be made to another file system.
    const linked = await run(["cp", "-rL", "--link", ...paths], { timeout: 300_000 });
    if (linked.code !== 0) await output(["cp", "-rLf", ...paths], 300_000);
  }
  await output(["cp", `${payload}/agent`, `${source}/dist/agent-linux-arm64`]);
  await output(["cp", resolve(ROOT, ARM64_BUN), `${payload}/bun`]);
}

async function runSuite(
  { guest }: Device,
  stage: Stage,
  suite: string,
): Promise<{ readonly ok: boolean; readonly counts: string }> {
  const { code, stdout, stderr } = await guest.exec(
    `cd /run/payload/source && TMPDIR=/var/tests AGENT_TEST_PATIENCE=${PATIENCE} bun test --timeout=900000 -t '${SUITES[suite]}' test/${suite}.test.ts 2>&1`,
    SUITE_SECONDS,
  );
  const said = `${stdout}${stderr}`;
  const count = (word: string): string =>
    new RegExp(`^ *(\\d+) ${word}$`, "m").exec(said)?.[1] ?? "0";
  const lines = said.split("\n").filter((line) => /^\((?:pass|fail|skip)\)|^skipped:/.test(line));
  stage.say(`${suite}:\n${lines.join("\n")}`);
  const ok = code === 0 && Number(count("pass")) > 0;
  if (!ok) stage.say(said.slice(-8_000));
  return {
    ok,
    counts: `${count("pass")} passed, ${count("fail")} failed, ${count("skip")} skipped`,
  };
}
