import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { aPod } from "../../fakes/a-pod.ts";
import { Findings } from "../../../src/api/decode/field-errors.ts";
import { judgeAnnotations } from "../../../src/api/pod/pod-annotations.ts";
import { policyOf } from "../../../src/api/pod/update-annotations.ts";
import { DEFAULT_POLICY } from "../../../src/api/pod/update-policy.ts";
import { CONTEXT, judge } from "../source/desired-arrival.ts";

const ROOT = resolve(import.meta.dir, "../../..");
const PAGE = readFileSync(join(ROOT, "docs/updates.md"), "utf8");

/** First and second column of the table behind the heading, without its head. */
function table(heading: string): ReadonlyMap<string, string> {
  const at = PAGE.indexOf(`# ${heading}\n`);
  const rows =
    /\n\|[^]*?\n\n/
      .exec(at < 0 ? "" : PAGE.slice(at))?.[0]
      .trim()
      .split("\n") ?? [];
  const cells = rows.slice(2).map((row): [string, string] => {
    const [, first = "", second = ""] = row.replaceAll("`", "").split("|");
    return [first.trim(), second.trim()];
  });
  return new Map(cells);
}

test("the table of the policy has every field with its default", () => {
  const { maintenanceWindows, ...policy } = DEFAULT_POLICY;
  expect(maintenanceWindows).toBeUndefined();
  const defaults = Object.entries(policy).map(([key, value]): [string, string] => [
    `policy.${key}`,
    String(value),
  ]);
  expect(table("The policy of a document")).toEqual(new Map(defaults));
});

test("the table of annotations has the ones that are read, and only values that are accepted", () => {
  const rows = [...table("Annotations of a pod")];
  // The first of the values that a row names.
  const values = new Map(
    rows.map(([key, value]) => [key, /^"?([a-z0-9-]+|\[\])/.exec(value)?.[1] ?? ""]),
  );
  expect([...values.keys()]).toEqual([
    "agent/min-ready-seconds",
    "agent/progress-deadline-seconds",
    "agent/on-failure",
    "agent/update-strategy",
    "agent/hold-upgrade",
    "agent/maintenance-windows",
    "agent/update-lock",
  ]);
  const annotations = Object.fromEntries(values);
  const base = aPod();
  const pod = { ...base, metadata: { ...base.metadata, annotations } };
  const findings = new Findings();
  judgeAnnotations(pod.metadata, findings);
  expect(findings.errors).toEqual([]);
  expect(policyOf(pod, DEFAULT_POLICY)).toMatchObject({
    minReadySeconds: 0,
    progressDeadlineSeconds: 1,
  });
});

test("the example with a lock is accepted as it stands", () => {
  const block = /```yaml\n([^]*?)```/.exec(PAGE)?.[1] ?? "";
  const verdict = judge(block, { context: CONTEXT });
  expect(verdict).toMatchObject({ type: "Accepted" });
});

test("every test and fixture that the page names is there", () => {
  const named = [...PAGE.matchAll(/`(test\/[^`]+\.(?:ts|yaml))`/g)].map((match) => match[1] ?? "");
  expect(named.length).toBeGreaterThan(15);
  for (const path of named) expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);
});
