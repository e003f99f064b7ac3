import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { composePorts } from "../../../../src/fleet/import/compose-ports.ts";
import { byteQuantity, cpuQuantity, seconds } from "../../../../src/fleet/import/quantities.ts";
import { objectNameOf } from "../../../../src/fleet/import/service.ts";
import { readUnitFile } from "../../../../src/fleet/import/unit-file.ts";
import { envLines, interpolate, shellWords } from "../../../../src/fleet/import/words.ts";

describe("words of a command", () => {
  test.each([
    ["sh -c 'echo a  b'", ["sh", "-c", "echo a  b"]],
    ['run "two words" plain', ["run", "two words", "plain"]],
    [String.raw`a\ b "c\"d" 'e\f'`, ["a b", 'c"d', String.raw`e\f`]],
    ["  spaced   out  ", ["spaced", "out"]],
    ["''", [""]],
    ["", []],
  ])("%p", (text, words) => {
    expect(shellWords(text)).toEqual(words);
  });

  test("of any text never throw", () => {
    fc.assert(fc.property(fc.string(), (text) => void shellWords(text)));
  });
});

describe("variables", () => {
  const variables = { A: "1", EMPTY: "" };
  test.each([
    ["$A ${A} $$A", "1 1 $A"],
    ["${B:-x} ${B-y} ${EMPTY:-x} ${EMPTY-y}", "x y x "],
    ["${A:+set} ${B:+set}", "set "],
    ["${B:-${A}}", "1"],
    ["${A", "${A"],
    ["cost: 5$", "cost: 5$"],
  ])("%p", (text, value) => {
    expect(interpolate(text, variables)).toEqual({ text: value, errors: [], unset: [] });
  });

  test("that are required and missing are errors, that are not set are named", () => {
    expect(interpolate("${B:?choose one}", variables).errors).toEqual([
      "${B} is required: choose one",
    ]);
    expect(interpolate("${EMPTY?why}", variables).errors).toEqual([]);
    expect(interpolate("$B ${C}", variables)).toEqual({ text: " ", errors: [], unset: ["B", "C"] });
    expect(interpolate("${1}", variables).errors).toEqual(["${1} is no variable"]);
  });

  test("of any text never throw", () => {
    fc.assert(fc.property(fc.string(), (text) => void interpolate(text, variables)));
  });
});

test("a .env file has comments, quotes and exports", () => {
  const text = "# a\nA=1\nexport B='two words'\nC=x # y\nD=\n=no\n";
  expect(envLines(text)).toEqual({ A: "1", B: "two words", C: "x", D: "" });
});

describe("amounts", () => {
  test.each([
    ["512m", "512Mi"],
    ["1g", "1024Mi"],
    ["1.5gb", "1536Mi"],
    ["64MiB", "64Mi"],
    [1000, "1000"],
    ["much", undefined],
    ["-1", undefined],
  ])("%p bytes", (written, quantity) => {
    expect(byteQuantity(written)).toBe(quantity);
  });
  test.each([
    ["0.5", "500m"],
    [2, "2000m"],
    ["0", undefined],
    ["x", undefined],
  ])("%p processors", (written, quantity) => {
    expect(cpuQuantity(written)).toBe(quantity);
  });
  test.each([
    ["1m30s", 90],
    ["10s", 10],
    ["500ms", 1],
    ["1h", 3600],
    ["5 min", 300],
    [25, 25],
    ["soon", undefined],
  ])("%p", (written, time) => {
    expect(seconds(written)).toBe(time);
  });
});

describe("ports", () => {
  const said: string[] = [];
  const ports = (...written: readonly unknown[]) =>
    composePorts(written, undefined, (_, message) => void said.push(message));
  test.each([
    ["8080:80", [{ container: 80, host: 8080, protocol: "TCP" }]],
    ["127.0.0.1:53:53/udp", [{ container: 53, host: 53, hostIP: "127.0.0.1", protocol: "UDP" }]],
    ["[::1]:80:80", [{ container: 80, host: 80, hostIP: "::1", protocol: "TCP" }]],
    ["0.0.0.0:1:2", [{ container: 2, host: 1, protocol: "TCP" }]],
  ])("%p", (written, read) => {
    expect(ports(written)).toEqual(read as never);
  });

  test("in ranges are as many as both sides have, and not too many", () => {
    expect(ports("3000-3002:4000-4002").map(({ host, container }) => [host, container])).toEqual([
      [3000, 4000],
      [3001, 4001],
      [3002, 4002],
    ]);
    expect(ports("1-60000:1-60000")).toEqual([]);
    expect(ports("1-2:1-3")).toEqual([]);
  });

  test("that are none, or have none of the node, are told", () => {
    said.length = 0;
    expect(ports("http")).toEqual([]);
    expect(ports(80)).toEqual([{ container: 80, protocol: "TCP" }]);
    expect(said).toEqual(["http is no port", "80 has no port of the node: write one, as 8080:80"]);
  });
});

test("a unit file has continued lines, comments, repeated and cleared keys", () => {
  const file = readUnitFile("[A]\n# no\nX=1\\\n  2\nX=3\nY=1\nY=\nY=2\n;no\n[B]\nX=4\nnothing\n");
  expect(file.get("A")?.get("X")).toEqual(["1 2", "3"]);
  expect(file.get("A")?.get("Y")).toEqual(["2"]);
  expect(file.get("B")?.get("X")).toEqual(["4"]);
});

test("a name becomes one of Kubernetes", () => {
  expect(["node_red", "Web.App", "-a-", "x".repeat(80)].map(objectNameOf)).toEqual([
    "node-red",
    "web-app",
    "a",
    "x".repeat(63),
  ]);
});
