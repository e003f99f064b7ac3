// The parts of the harness that decide: a wrong count or a misread line would make every other test lie.

import { expect, test } from "bun:test";

import { matchesFilter } from "./broker-client.ts";
import { eventually, Hopeless } from "./eventually.ts";
import { failures } from "./failures.ts";
import { countJUnit, summary } from "./junit.ts";
import { run } from "./run-command.ts";
import { tar } from "./tar.ts";
import { parseEventLine } from "./watch-containerd.ts";

test("counts passed, failed, erroneous and skipped test cases of a JUnit report", () => {
  const xml = `<testsuites tests="5"><testsuite name="a">
    <testcase name="one &gt; two" time="0.1" file="test/a.test.ts" />
    <testcase name="three" time="0.1"></testcase>
    <testcase name="four"><failure type="AssertionError">no &lt;skipped/&gt;</failure></testcase>
    <testcase name="five"><error/></testcase>
    <testcase name="six"><skipped /></testcase>
  </testsuite></testsuites>`;
  expect(countJUnit(xml)).toEqual({ passed: 2, failed: 2, skipped: 1 });
  expect(summary(countJUnit(xml))).toBe("2 passed, 2 failed, 1 skipped");
  expect(summary(countJUnit("<testsuites></testsuites>"))).toBe("0 passed, 0 failed");
});

test("finds what failed in the output of the test runner", () => {
  const output = `bun test v1

a.test.ts:
said by one
(pass) one [0.05ms]
said by two
error: no
      at a.test.ts:3
(fail) two [1.00ms]
(skip) three

b.test.ts:

# Unhandled error between tests
-------------------------------
error: Cannot find module
-------------------------------

 1 pass
 2 fail`;
  expect(failures(output)).toEqual([
    "a.test.ts:\nsaid by two\nerror: no\n      at a.test.ts:3\n(fail) two [1.00ms]",
    [
      "b.test.ts:\n# Unhandled error between tests\n-------------------------------",
      "error: Cannot find module\n-------------------------------",
    ].join("\n"),
  ]);
  const long = Array.from({ length: 100 }, (_, index) => `line ${index}`).join("\n");
  expect(failures(`c.test.ts:\n${long}\n(fail) four`)[0]?.split("\n")).toHaveLength(61);
  expect(failures("a.test.ts:\n(pass) one")).toEqual([]);
});

test.each([
  ["a/b", "a/b", true],
  ["a/+", "a/b", true],
  ["a/+", "a/b/c", false],
  ["a/#", "a/b/c", true],
  ["a/#", "a", true],
  ["a/b", "a", false],
  ["+/b", "a/c", false],
])("the filter %s on the topic %s: %p", (filter, topic, expected) => {
  expect(matchesFilter(filter, topic)).toBe(expected);
});

test("reads a line of `ctr events`, and only such a line", () => {
  const line = `2026-11-21 10:00:01.234567891 +0000 UTC k8s.io /tasks/start {"container_id":"abc","pid":7}`;
  expect(parseEventLine(line)).toEqual({
    topic: "/tasks/start",
    at: Date.UTC(2026, 10, 21, 10, 0, 1, 234),
    containerId: "abc",
    body: { container_id: "abc", pid: 7 },
  });
  expect(parseEventLine("ctr: something is wrong")).toBeUndefined();
});

test("writes archives that tar reads", async () => {
  const archive = tar([
    { type: "directory", path: "d", mode: 0o755 },
    { type: "file", path: "d/f", mode: 0o640, data: Buffer.from("x".repeat(513)) },
    { type: "symlink", path: "d/l", target: "f" },
  ]);
  expect(archive.length % 512).toBe(0);
  const listed = await run(["tar", "-tv", "--utc", "--numeric-owner"], {
    stdin: Buffer.from(archive).toString("latin1"),
  });
  expect(listed.stderr).toBe("");
  expect(
    listed.stdout
      .trim()
      .split("\n")
      .map((line) => line.replace(/ +/g, " ")),
  ).toEqual([
    "drwxr-xr-x 0/0 0 1970-01-01 00:00 d/",
    "-rw-r----- 0/0 513 1970-01-01 00:00 d/f",
    "lrwxrwxrwx 0/0 0 1970-01-01 00:00 d/l -> f",
  ]);
});

test("says what was seen last when something never becomes true", async () => {
  let looks = 0;
  const never = eventually("the sky is green", () => (looks += 1) < 0, {
    timeout: 30,
    interval: 5,
  });
  expect(await never.catch(String)).toMatch(/after 30 ms still not: the sky is green; .*false/);
  const hopeless = eventually("x", () => Promise.reject(new Hopeless("it has ended")));
  expect(await hopeless.catch(String)).toBe("Error: it has ended");
});
