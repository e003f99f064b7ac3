import { expect, test } from "bun:test";
import fc from "fast-check";
import { diffDocuments, diffLines } from "../../../../src/fleet/document/diff.ts";

const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec,
});

const cases: Readonly<
  Record<
    string,
    readonly [before: readonly unknown[], after: readonly unknown[], lines: readonly string[]]
  >
> = {
  "is silent about equal documents in another order": [
    [pod("a"), pod("b")],
    [pod("b"), { spec: {}, metadata: { name: "a" }, kind: "Pod", apiVersion: "v1" }],
    [],
  ],
  "lists additions and removals": [
    [pod("old")],
    [pod("new", {}, { namespace: "shop" })],
    ["- Pod default/old", "+ Pod shop/new"],
  ],
  "names every field": [
    [pod("a", { containers: [{ image: "x:1", args: ["a", "b"] }] })],
    [pod("a", { containers: [{ image: "x:2", args: ["a"] }], hostNetwork: true })],
    [
      "~ Pod default/a",
      '    spec.containers[0].args[1]: removed, was "b"',
      '    spec.containers[0].image: "x:1" → "x:2"',
      "    spec.hostNetwork: added true",
    ],
  ],
  "knows the default namespace": [
    [pod("a")],
    [pod("a", {}, { namespace: "default" })],
    ["~ Pod default/a", '    metadata.namespace: added "default"'],
  ],
  "looks into lists": [
    [{ kind: "List", items: [pod("a")] }],
    [pod("a"), pod("b")],
    ["+ Pod default/b"],
  ],
  "hides what a Secret holds that came in a list": [
    [{ kind: "SecretList", items: [{ metadata: { name: "s" }, data: { a: "eA==" } }] }],
    [
      {
        kind: "List",
        items: [{ apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, data: { a: "eQ==" } }],
      },
    ],
    ["~ Secret default/s", "    data[a]: changed (hidden)"],
  ],
  "takes a name of every object for an own field": [
    [pod("a", {})],
    [pod("a", { toString: "x" })],
    ["~ Pod default/a", '    spec.toString: added "x"'],
  ],
  "survives what is no object": [["x", null, 7], [], ["- object default/?"]],
};

test.each(Object.entries(cases))("%s", (_, [before, after, lines]) => {
  expect(diffLines(diffDocuments(before, after))).toEqual(lines);
});

test("shows nothing of what a Secret holds, wherever it stands", () => {
  const word = fc.string({ minLength: 4, maxLength: 12 }).map((text) => `s3cr3t${text}`);
  const secret = (value: string): object => ({
    kind: "Secret",
    metadata: { name: "login", annotations: { applied: `{"data":"${value}"}` } },
    data: { password: value, [value.length > 9 ? "more" : "less"]: value },
    stringData: { nested: value },
  });
  fc.assert(
    fc.property(word, word, (before, after) => {
      const lines = diffLines(diffDocuments([secret(before)], [secret(after)]));
      expect(lines.join("\n")).not.toContain("s3cr3t");
    }),
  );
});

test("nothing differs from itself", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), (resources) => {
      expect(diffDocuments(resources, resources)).toEqual([]);
    }),
  );
});
