// The power goes at random moments while people edit manifests.

import { deepStrictEqual, strictEqual } from "node:assert/strict";

import { Mulberry32 } from "../../fakes/mulberry32.ts";
import { eventually } from "../../harness/eventually.ts";
import { Device, type RunningContainer } from "../device.ts";
import { sleeper } from "../pods.ts";
import type { Scenario, Stage } from "../scenario.ts";

const CUTS = Number(process.env["AGENT_DEVICE_CUTS"] ?? 20);
const SEED = Number(process.env["AGENT_DEVICE_SEED"] ?? 1);
/** The editor writes for up to so long before the cut, ms. */
const LONGEST_EDITING = 15_000;
const SETTLE_TIMEOUT = 900_000;

export const powerCuts: Scenario = {
  name: "power-cuts",
  about: `${CUTS} cuts at random moments of manifest edits: it always boots, with the wanted or the last good pods`,
  run: async (stage) => {
    const dice = new Mulberry32(SEED);
    const manifests = { "keeper.yaml": [sleeper("keeper")] };
    const device = await Device.flash(stage, { name: "cuts", seed: SEED, manifests });
    await device.guest.start();
    await device.waitReady(["keeper"]);
    const totals = { lost: 0, kept: 0, torn: 0 };
    for (let cut = 1; cut <= CUTS; cut += 1) {
      await device.guest.sh(`systemd-run --unit=editor sh /run/payload/editor.sh ${cut * 1_000}`);
      await Bun.sleep(dice.below(LONGEST_EDITING));
      const { lost, kept } = await device.guest.powerCut();
      totals.lost += lost;
      totals.kept += kept;
      await device.guest.start();
      const torn = await settles(device, stage, cut);
      if (torn) totals.torn += 1;
      stage.say(`cut ${cut}: ${lost} blocks lost, ${kept} kept${torn ? ", a manifest torn" : ""}`);
    }
    stage.note("cuts", CUTS);
    stage.note("seed", SEED);
    stage.note("unflushed blocks that were lost", totals.lost);
    stage.note("unflushed blocks that were kept", totals.kept);
    stage.note("cuts that left a torn manifest", totals.torn);
  },
};

/** What the manifests say after the boot: names with versions; undefined = the file is torn. */
type Wanted = Readonly<Record<string, string | undefined>>;

/** True when the careless editor's file was torn. */
async function settles(device: Device, stage: Stage, cut: number): Promise<boolean> {
  const wanted = await wantedPods(device);
  let last: readonly RunningContainer[] = [];
  const look = async (): Promise<boolean> => {
    last = await device.running();
    return isWanted(wanted, last);
  };
  await eventually(`after cut ${cut} the pods of the manifests run`, look, {
    timeout: SETTLE_TIMEOUT,
    interval: 2_000,
    explain: () => `wanted: ${JSON.stringify(wanted)}; runs: ${JSON.stringify(last)}`,
  }).catch(async (thrown: unknown) => {
    stage.say(await device.journal());
    throw thrown;
  });
  strictEqual(await device.databaseCheck(), "ok");
  const aside = await device.guest.sh("ls /var/lib/agent | grep corrupt || true");
  deepStrictEqual(aside, "", "a database was set aside");
  return Object.values(wanted).includes(undefined);
}

async function wantedPods(device: Device): Promise<Wanted> {
  const said = await device.guest.sh(`cd /etc/agent/manifests; for file in *.yaml; do
  if [ "$file" = keeper.yaml ] || tail -n 1 "$file" | grep -qx '# whole'; then
    echo "\${file%.yaml} $(sed -n 's/.*echo version \\([0-9]*\\).*/\\1/p' "$file")"
  else
    echo "\${file%.yaml} torn"
  fi
done`);
  const rows = said.trimEnd().split("\n");
  return Object.fromEntries(
    rows.map((row) => {
      const [name = "", version = ""] = row.split(" ");
      return [name, version === "torn" ? undefined : version];
    }),
  );
}

/** Each pod once, in its version. A pod whose file is torn runs in its last good version, if there was one. */
function isWanted(wanted: Wanted, running: readonly RunningContainer[]): boolean {
  const names = running.map(({ pod }) => pod);
  if (new Set(names).size !== names.length) return false;
  const areRight = running.every(({ pod, version }) => {
    if (!(pod in wanted)) return false;
    const expected = wanted[pod];
    return expected === undefined || expected === version;
  });
  const whole = Object.entries(wanted).filter(([, version]) => version !== undefined);
  return areRight && whole.every(([name]) => names.includes(name));
}
