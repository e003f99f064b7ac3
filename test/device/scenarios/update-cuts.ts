// The power goes inside an update of the agent itself: at flushes of the disk between its begin and the end of its trial.

import { ok, strictEqual } from "node:assert/strict";

import { output } from "../../harness/run-command.ts";
import { Device } from "../device.ts";
import { sleeper } from "../pods.ts";
import { ARM64_BUN, ROOT } from "../source.ts";
import type { Scenario, Stage } from "../scenario.ts";

const CUTS = Number(process.env["AGENT_DEVICE_UPDATES"] ?? 6);
const OTHER = "0.1.9+device";
const SLOW_SECONDS = 900;
/** An update of an emulated device takes minutes: a copy of 130 MB, its self-test, the start of the other version. */
const OVER_WITHIN = 600_000;
const BETWEEN_CUTS = 4;

export const updateCuts: Scenario = {
  name: "update-cuts",
  about: `${CUTS} cuts inside a self-update: after each boot one of both versions runs, the pod runs, the database is whole`,
  run: async (stage) => {
    await otherVersion(stage);
    const manifests = { "keeper.yaml": [sleeper("keeper")] };
    const device = await Device.flash(stage, { name: "update-cuts", manifests });
    const { guest } = device;
    await guest.start();
    await device.waitReady(["keeper"]);
    const first = await version(device);
    const seen = new Map<string, number>();
    for (let cut = 1; cut <= CUTS; cut += 1) {
      const flushes = 1 + (cut - 1) * BETWEEN_CUTS;
      const died = guest.diskDiesAtFlush(flushes).then(() => "cut");
      const wanted = (await version(device)) === first ? "other" : "agent";
      const how = await Promise.race([died, update(device, wanted)]);
      const { lost } = await guest.powerCut();
      await guest.start();
      await device.waitReady(["keeper"]);
      const now = await version(device);
      ok([first, OTHER].includes(now), `the agent runs version ${now}`);
      strictEqual(await device.databaseCheck(), "ok");
      strictEqual((await device.running()).length, 1);
      seen.set(now, (seen.get(now) ?? 0) + 1);
      stage.say(`flush ${flushes}: ${how}, ${lost} blocks lost, then version ${now}`);
      // What a cut has made a failed version would be refused from now on.
      await guest.sh("rm -f /var/lib/agent/self-update/failed");
    }
    for (const [name, count] of seen) stage.note(`cuts after which version ${name} runs`, count);
    await guest.sh("agent self-update /run/payload/other --allow-unsigned || true", SLOW_SECONDS);
    strictEqual(await version(device), OTHER, "an update without a cut");
    await guest.powerCut();
  },
};

/** The same source as another version, in the payload. */
async function otherVersion({ payload, say }: Stage): Promise<void> {
  const command = `"$BUN" build --compile --splitting --format=esm --conditions=linux-arm64 --target=bun-linux-arm64 \
    --compile-executable-path="$ROOT/${ARM64_BUN}" --no-compile-autoload-dotenv --no-compile-autoload-bunfig \
    --define 'AGENT_VERSION="${OTHER}"' "$ROOT/src/main.ts" --outfile "$OUT/other"`;
  const variables = [`BUN=${process.execPath}`, `ROOT=${ROOT}`, `OUT=${payload}`];
  await output(["env", ...variables, "sh", "-c", command], 300_000);
  say(`built version ${OTHER}`);
}

async function version({ guest }: Device): Promise<string> {
  const said = await guest.until(
    "the agent tells its version",
    "agent get node -o yaml | sed -n 's/^ *kubeletVersion: *//p' | tr -d '\"'",
    600_000,
  );
  return said.trim();
}

/** Says how it ended. A guest whose disk has died does not answer. */
async function update({ guest }: Device, binary: string): Promise<string> {
  const started = await guest
    .exec(
      `systemctl reset-failed updater 2>/dev/null; systemd-run --unit=updater --collect agent self-update /run/payload/${binary} --allow-unsigned`,
    )
    .catch(() => undefined);
  if (started?.code !== 0) return `not started: ${started?.stderr ?? "no answer"}`;
  const until = performance.now() + OVER_WITHIN;
  while (performance.now() < until) {
    await Bun.sleep(5_000);
    const { stdout } = await guest
      .exec("systemctl is-active updater || true")
      .catch(() => ({ stdout: "active" }));
    if (!/^(?:active|activating)/.test(stdout)) return "over";
  }
  return "not over in time";
}
