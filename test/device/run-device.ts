// Runs the scenarios on emulated devices, one after the other; prints a table and writes dist/device-report.json.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

import { output } from "../harness/run-command.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";
import { baseImage, type BaseImage } from "./base-image.ts";
import { makePayload } from "./payload.ts";
import type { Scenario } from "./scenario.ts";
import { cgroups } from "./scenarios/cgroups.ts";
import { checkpointCuts } from "./scenarios/checkpoint-cuts.ts";
import { figures } from "./scenarios/figures.ts";
import { firstBoot } from "./scenarios/first-boot.ts";
import { fullDisk } from "./scenarios/full-disk.ts";
import { packageLife } from "./scenarios/package.ts";
import { powerCuts } from "./scenarios/power-cuts.ts";
import { preparedImage } from "./scenarios/prepared-image.ts";
import { rollbackCuts } from "./scenarios/rollback-cuts.ts";
import { settingsCuts } from "./scenarios/settings-cuts.ts";
import { suites } from "./scenarios/suites.ts";
import { updateCuts } from "./scenarios/update-cuts.ts";
import { wrongClock } from "./scenarios/wrong-clock.ts";

const SCENARIOS: readonly Scenario[] = [
  packageLife,
  firstBoot,
  wrongClock,
  fullDisk,
  powerCuts,
  checkpointCuts,
  rollbackCuts,
  updateCuts,
  settingsCuts,
  preparedImage,
  cgroups,
  suites,
  figures,
];
const REPORT = resolve(import.meta.dir, "../../dist/device-report.json");

interface Result {
  readonly scenario: string;
  readonly about: string;
  readonly passed: boolean;
  readonly seconds: number;
  readonly agent: string;
  readonly ended: string;
  readonly facts: Readonly<Record<string, string | number>>;
  readonly error?: string;
}

async function perform(scenario: Scenario, image: BaseImage): Promise<Result> {
  const begun = performance.now();
  const facts: Record<string, string | number> = {};
  const seconds = (): number => Math.round((performance.now() - begun) / 1_000);
  using temp = makeTempDirectory();
  const payload = temp.directory("payload");
  const say = (line: string): void => console.log(`  ${seconds()} s  ${line}`);
  const note = (name: string, value: string | number): void => {
    facts[name] = value;
    say(`${name}: ${value}`);
  };
  const made = (): Pick<Result, "seconds" | "agent" | "ended"> => ({
    seconds: seconds(),
    agent: process.env["AGENT_VERSION"] ?? "",
    ended: new Date().toISOString(),
  });
  const { name, about } = scenario;
  console.log(`\n${name}: ${about}`);
  try {
    makePayload(payload, image);
    await scenario.run({ image, temp, payload, say, note });
    return { scenario: name, about, passed: true, ...made(), facts };
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown.message : String(thrown);
    console.log(error);
    return { scenario: name, about, passed: false, ...made(), facts, error };
  }
}

function chosen(names: readonly string[]): readonly Scenario[] {
  const unknown = names.filter((name) => !SCENARIOS.some((one) => one.name === name));
  if (unknown.length > 0) {
    const known = SCENARIOS.map(({ name }) => name).join(", ");
    console.error(`no scenario is named ${unknown.join(", ")}; known: ${known}`);
    process.exit(2);
  }
  return names.length === 0 ? SCENARIOS : SCENARIOS.filter(({ name }) => names.includes(name));
}

function earlier(now: readonly Result[]): readonly Result[] {
  if (!existsSync(REPORT)) return [];
  const { results: before } = JSON.parse(readFileSync(REPORT, "utf8")) as {
    readonly results: readonly Result[];
  };
  return before.filter(({ scenario }) => !now.some((one) => one.scenario === scenario));
}

const scenarios = chosen(process.argv.slice(2));
const image = await baseImage((line) => console.log(line));
const results: Result[] = [];
for (const scenario of scenarios) results.push(await perform(scenario, image));
const report = {
  emulator: (await output(["qemu-system-aarch64", "--version"])).split("\n")[0],
  packages: image.packages.filter((name) =>
    /^(linux-image|systemd_|containerd_|runc_|apparmor_)/.test(name),
  ),
  // A scenario that did not run now keeps its last result.
  results: [...earlier(results), ...results],
};
mkdirSync(resolve(REPORT, ".."), { recursive: true });
writeFileSync(REPORT, `${JSON.stringify(report, undefined, 2)}\n`);
console.log("\nscenario                 result  seconds");
for (const { scenario, passed, seconds } of results)
  console.log(`${scenario.padEnd(24)} ${passed ? "passed" : "FAILED"}  ${seconds}`);
const failed = results.filter(({ passed }) => !passed).length;
console.log(`${results.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
