import { expect, test } from "bun:test";

import { restorePods } from "../../../src/source/last-good-pods.ts";
import { sha256 } from "../api/digest.ts";

function row(name: string, text: string) {
  return { path: "/m/a.yaml", document: 1, namespace: "default", name, text };
}

test("a checkpoint becomes pods again; a damaged row is named and spoils nothing", () => {
  const spec = { containers: [{ name: "a", image: "busybox:1" }], fieldOfAnOlderAgent: true };
  const good = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "web" }, spec });
  const { pods, unreadable } = restorePods(
    [row("web", good), row("b", good.slice(0, 40)), row("c", "{}")],
    {
      nodeName: "pi-1",
      sha256,
    },
  );
  const names = [...pods].map(([path, list]) => [
    path,
    list.map(({ desired }) => desired.sourceRef),
  ]);
  expect(names).toEqual([["/m/a.yaml", ["/m/a.yaml#1"]]]);
  expect(unreadable).toEqual(["/m/a.yaml#1", "/m/a.yaml#1"]);
});
