import { describe, expect, test } from "bun:test";
import { checkText } from "../../../../src/cli/check/check.ts";
import { CHECKS, type Check, type CheckContext } from "../../../../src/cli/check/checks.ts";
import { broken, fine } from "../../../../src/cli/check/finding.ts";
import { runChecks } from "../../../../src/cli/check/run-checks.ts";
import { CONFIG_DEFAULTS } from "../../../fakes/config-defaults.ts";
import { VirtualClock } from "../../../fakes/fake-clock.ts";

function contextOf(clock: VirtualClock): CheckContext {
  return {
    config: CONFIG_DEFAULTS,
    configFile: undefined,
    configError: undefined,
    clock,
    environment: {},
  };
}

describe("the checks", () => {
  test("are in their order, and one that hangs or throws holds up none", async () => {
    const clock = new VirtualClock();
    const checks: readonly Check[] = [
      { name: "hangs", run: () => new Promise(() => undefined), limitMs: 3_000 },
      { name: "throws", run: () => Promise.reject(new Error("no")) },
      { name: "good", run: () => Promise.resolve([fine("yes")]) },
    ];
    const running = runChecks(checks, contextOf(clock));
    await clock.advance(3_000);
    expect(await running).toMatchObject([
      { check: "hangs", level: "error", message: "there was no answer within 3 s" },
      { check: "throws", level: "error", message: "it could not be checked: no" },
      { check: "good", level: "ok", message: "yes" },
    ]);
  });

  test("have a name each", () => {
    const names = CHECKS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of ["kernel", "cgroups", "runtime", "kubelet", "network", "broker", "trust"])
      expect(names).toContain(name);
  });

  test("as text: remedies below, and a summary; control characters are escaped", () => {
    const results = [
      { check: "a", ...fine("good") },
      { check: "longer", ...broken("bad\u001b[0m", "do it") },
    ];
    expect(checkText(results)).toBe(`ok       a       good
error    longer  bad\\u001b[0m
                 → do it

1 ok, 0 warnings, 1 errors
`);
  });
});
