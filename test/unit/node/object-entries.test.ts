import { describe, expect, test } from "bun:test";

import { aDesiredPod, aPod } from "../../fakes/a-pod.ts";
import { aConfigMap, aDesiredObject, aSecret, named } from "../../fakes/an-object.ts";
import { objectEntries } from "../../../src/node/object-list.ts";

const facts = {
  desired: {
    pods: [aDesiredPod(aPod({}, { namespace: "jobs" }))],
    objects: [aDesiredObject(aSecret({})), aDesiredObject(named(aConfigMap({}), "web", "shop"))],
  },
  running: [aPod({}, { namespace: "old" })],
  node: { name: "pi-1", labels: {}, groups: [], arch: "arm64" },
};

function shown(namespace: string | undefined): readonly string[] {
  return objectEntries(namespace, facts).map(({ object, source }) => {
    const { namespace: where, name } = object.metadata;
    return `${object.kind} ${where}/${name} ${source}`;
  });
}

describe("the objects that people see", () => {
  test("of one namespace, with the node's own", () => {
    expect(shown("default")).toEqual([
      "Secret default/web file",
      "ConfigMap default/agent-node agent",
    ]);
    expect(shown("empty")).toEqual(["ConfigMap empty/agent-node agent"]);
  });

  test("of all namespaces in which something is", () => {
    expect(shown(undefined)).toEqual([
      "Secret default/web file",
      "ConfigMap shop/web file",
      "ConfigMap default/agent-node agent",
      "ConfigMap shop/agent-node agent",
      "ConfigMap jobs/agent-node agent",
      "ConfigMap old/agent-node agent",
    ]);
  });
});
