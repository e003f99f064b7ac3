import { expect, test } from "bun:test";

import type { LastGood } from "../../../../src/api/pod/last-good.ts";
import { lostCopies, restoreEntries } from "../../../../src/source/file/manifest-last-good.ts";
import { entryKey } from "../../../../src/source/file/manifest-entry.ts";
import { sha256 } from "../../api/digest.ts";

const context = { nodeName: "pi-1", sha256 };

function row(name: string, text: string, more: Partial<LastGood> = {}): LastGood {
  return {
    path: "/m/a.yaml",
    document: 1,
    kind: "Pod",
    namespace: "default",
    name,
    text,
    ...more,
  };
}

const spec = { containers: [{ name: "a", image: "busybox:1" }], fieldOfAnOlderAgent: true };
const pod = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "web" }, spec });
const object = (kind: string, more: object): string =>
  JSON.stringify({ apiVersion: "v1", kind, metadata: { name: "web" }, ...more });

test("a checkpoint becomes pods and objects again, by their place in the file", () => {
  const copies = [
    row("web", pod, { document: 2 }),
    row("web", object("ConfigMap", { data: { a: "1" } }), { kind: "ConfigMap", document: 0 }),
    row("web", object("Secret", { stringData: { a: "1" } }), { kind: "Secret" }),
    row("web", object("PersistentVolumeClaim", { spec: {} }), {
      path: "/m/b.yaml",
      kind: "PersistentVolumeClaim",
    }),
  ];
  const outcomes = restoreEntries({ copies, lost: [] }, context);
  expect(lostCopies(outcomes)).toEqual([]);
  const names = [...outcomes].map(([path, { entries }]) => [
    path,
    entries.map((entry) => `${entryKey(entry)} ${entry.desired.sourceRef}`),
  ]);
  expect(names).toEqual([
    [
      "/m/a.yaml",
      [
        "ConfigMap default/web /m/a.yaml#0",
        "Secret default/web /m/a.yaml#1",
        "Pod default/web /m/a.yaml#2",
      ],
    ],
    ["/m/b.yaml", ["PersistentVolumeClaim default/web /m/b.yaml#1"]],
  ]);
});

test("a damaged row, or one of another object, is dropped without effect on others", () => {
  const gone = {
    path: "/m/b.yaml",
    document: 0,
    kind: "Secret",
    namespace: "default",
    name: "s",
    why: "another key",
  } as const;
  const copies = [
    row("web", pod),
    row("b", pod.slice(0, 40)),
    row("c", "{}"),
    row("d", pod),
    row("web", pod, { kind: "Secret" }),
  ];
  const outcomes = restoreEntries({ copies, lost: [gone] }, context);
  expect([...outcomes].map(([path, { entries }]) => [path, entries.map(entryKey)])).toEqual([
    ["/m/a.yaml", ["Pod default/web"]],
    ["/m/b.yaml", []],
  ]);
  const damaged = (name: string, kind = "Pod") => [kind, name, "it is damaged"];
  expect(
    [...outcomes].map(([path, { lost }]) => [
      path,
      lost.map(({ kind, name, why }) => [kind, name, why]),
    ]),
  ).toEqual([
    ["/m/a.yaml", [damaged("b"), damaged("c"), damaged("d"), damaged("web", "Secret")]],
    ["/m/b.yaml", [["Secret", "s", "another key"]]],
  ]);
});
