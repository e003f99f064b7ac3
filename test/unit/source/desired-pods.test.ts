import { describe, expect, test } from "bun:test";

import { DesiredPods } from "../../../src/source/desired-pods.ts";
import { SourceSnapshots } from "../../../src/source/source-snapshots.ts";
import type { DesiredObject } from "../../../src/api/v1/object/local-object.ts";
import { ROOMY } from "../../fakes/a-node.ts";
import { aContainer, aDesiredPod, aPod } from "../../fakes/a-pod.ts";
import { aClaim, aConfigMap, aDesiredObject, aSecret, named } from "../../fakes/an-object.ts";
import type { SourceSnapshot } from "../../../src/api/pod/desired-pod.ts";
import type { SourceName } from "../../../src/api/pod/labels.ts";

const reader = (source: SourceName) => aDesiredPod(aPod(), { source });

class World {
  readonly changes: (readonly string[])[] = [];
  labels: Readonly<Record<string, string>> = {};
  priorities = new Map<string, number>();
  readonly written = new SourceSnapshots({
    sources: ["file"],
    node: () => ({
      name: "pi-1",
      labels: { ...this.labels, added: "by a document" },
      groups: ["kiosks"],
      arch: "arm64",
      own: { labels: this.labels, groups: [] },
    }),
  });
  readonly desired: DesiredPods = new DesiredPods({
    written: this.written,
    mergeOptions: () => ({ ...ROOMY, groupPriorities: this.priorities }),
    onObjectsChanged: (keys) => {
      // Whoever is told can look already.
      this.seen.push(
        this.desired.objectsFor(reader("file")).configMap("default", "web")?.data["a"],
      );
      this.changes.push([...keys].toSorted());
    },
  });
  readonly seen: (string | undefined)[] = [];

  hear(source: SourceName, ...objects: readonly DesiredObject["object"][]): void {
    const desired = objects.map((object) => aDesiredObject(object, { source }));
    this.desired.setSnapshot({ source, ready: true, pods: [], objects: desired, rejected: [] });
  }
}

describe("looking up objects", () => {
  test("by kind, namespace and name", () => {
    const world = new World();
    world.hear(
      "file",
      aConfigMap({ a: "1" }),
      aSecret({ a: "2" }),
      named(aClaim(), "data", "shop"),
    );
    const objects = world.desired.objectsFor(reader("file"));
    expect(objects.configMap("default", "web")?.data).toEqual({ a: "1" });
    expect(objects.secret("default", "web")?.kind).toBe("Secret");
    expect(objects.claim("shop", "data")?.storage).toBe("1Gi");
    expect([
      objects.configMap("shop", "web"),
      objects.secret("default", "data"),
      objects.claim("default", "data"),
    ]).toEqual([undefined, undefined, undefined]);
  });

  test("returns the newest object, and hides what the pod's source may not read", () => {
    const world = new World();
    const [file, mqtt] = [
      world.desired.objectsFor(reader("file")),
      world.desired.objectsFor(reader("mqtt:node")),
    ];
    world.hear("file", aSecret({ a: "1" }), aConfigMap({ a: "file" }));
    world.hear("mqtt:node", named(aConfigMap({}), "remote"), aSecret({ a: "shadowed" }));
    expect([file.secret("default", "web")?.kind, mqtt.secret("default", "web")]).toEqual([
      "Secret",
      undefined,
    ]);
    expect(mqtt.configMap("default", "web")?.data).toEqual({ a: "file" });
    expect(mqtt.configMap("default", "remote")?.kind).toBe("ConfigMap");
    expect(file.configMap("default", "remote")).toBeUndefined();
  });

  test("finds the node's own ConfigMap in every namespace, for every pod", () => {
    const { desired } = new World();
    for (const source of ["file", "mqtt:node", "mqtt:group/kiosks"] as const)
      expect(
        desired.objectsFor(reader(source)).configMap("anywhere", "agent-node")?.data["name"],
      ).toBe("pi-1");
    expect(desired.objectsFor(reader("file")).secret("anywhere", "agent-node")).toBeUndefined();
  });
});

describe("a change of the objects", () => {
  test("is reported by key: added, removed or changed objects", () => {
    const world = new World();
    world.hear("file", aConfigMap({ a: "1" }), aSecret({ a: "1" }), named(aConfigMap({}), "same"));
    world.hear("file", aConfigMap({ a: "2" }), named(aConfigMap({}), "same"), aClaim());
    expect(world.changes).toEqual([
      ["ConfigMap default/same", "ConfigMap default/web", "Secret default/web"],
      ["ConfigMap default/web", "PersistentVolumeClaim default/web", "Secret default/web"],
    ]);
    expect(world.seen).toEqual(["1", "2"]);
    expect(world.desired.objectVersion).toBe(2);
  });

  test("is none when all objects are declared again", () => {
    const world = new World();
    world.hear("file", aConfigMap({ a: "1" }));
    world.hear("file", structuredClone(aConfigMap({ a: "1" })));
    world.hear("mqtt:node", aConfigMap({ a: "shadowed" }));
    world.desired.merge();
    expect([world.changes.length, world.desired.objectVersion]).toEqual([1, 1]);
  });

  test("of the node's own ConfigMap is reported for the namespaces that have read it", () => {
    const world = new World();
    const asked = world.desired.objectsFor(reader("mqtt:node"));
    asked.configMap("shop", "agent-node");
    asked.configMap("default", "web");
    world.labels = { site: "berlin" };
    world.desired.merge();
    world.desired.merge();
    expect(world.changes).toEqual([["ConfigMap shop/agent-node"]]);
    const labelsFor = (source: SourceName): string | undefined =>
      world.desired.objectsFor(reader(source)).configMap("shop", "agent-node")?.data["labels"];
    expect(labelsFor("mqtt:node")).toBe('{"added":"by a document","site":"berlin"}');
    // A document, which may be unsigned, changes nothing that a static pod reads.
    expect(labelsFor("file")).toBe('{"site":"berlin"}');
    expect(world.desired.objectVersion).toBe(1);
  });

  test("follows the priorities of groups as they are at the merge", () => {
    const world = new World();
    world.priorities.set("b", 1);
    world.hear("mqtt:group/a", aConfigMap({ a: "of a" }));
    world.hear("mqtt:group/b", aConfigMap({ a: "of b" }));
    const value = (): string | undefined =>
      world.desired.objectsFor(reader("mqtt:node")).configMap("default", "web")?.data["a"];
    expect(value()).toBe("of b");
    world.priorities = new Map([["a", 2]]);
    world.desired.merge();
    expect(value()).toBe("of a");
  });

  test("is one when another source declares the same: other pods may read it", () => {
    const world = new World();
    world.hear("mqtt:node", aConfigMap({ a: "1" }));
    world.hear("file", aConfigMap({ a: "1" }));
    expect(world.changes).toEqual([["ConfigMap default/web"], ["ConfigMap default/web"]]);
  });
});

/** Of a pod that reads `late` where there is one. */
const env = {
  name: "A",
  valueFrom: { type: "configMapKeyRef", name: "late", key: "a", optional: true },
} as const;
const readerOfLate = aPod({ containers: [aContainer("a", { env: [env] })] });
const ofLate = {
  kind: "ConfigMap",
  namespace: "default",
  name: "late",
  code: "Invalid",
  path: "data[a]",
  message: "must be a string",
} as const;

test("a missing object is reported once its source has synced: until then it may arrive late", () => {
  const world = new World();
  const reader = aDesiredPod(readerOfLate);
  const word = { source: "file", pods: [reader], objects: [], rejected: [] } as const;
  world.desired.setSnapshot({ ...word, ready: false });
  expect([world.changes, world.desired.objectVersion]).toEqual([[], 0]);
  world.desired.setSnapshot({ ...word, ready: true });
  world.desired.setSnapshot({ ...word, ready: true });
  expect([world.changes, world.desired.objectVersion]).toEqual([[["ConfigMap default/late"]], 1]);
});

test("an object that is declared with a mistake is not missing before its mistake is gone", () => {
  const world = new World();
  const reader = aDesiredPod(readerOfLate);
  const other = aDesiredPod(aPod({}, { name: "other" }));
  const mistake = { ...ofLate, source: "file", ref: "/m/objects.yaml" } as const;
  const word = { source: "file", ready: true, pods: [reader, other], objects: [] } as const;
  world.desired.setSnapshot({ ...word, rejected: [mistake] });
  const seen = world.desired.objectVersion;
  expect(world.written.isSettledFor(reader)).toBe(false);
  expect(world.written.isSettledFor(other)).toBe(true);
  world.desired.setSnapshot({ ...word, rejected: [] });
  expect(world.written.isSettledFor(reader)).toBe(true);
  expect(world.changes.at(-1)).toEqual(["ConfigMap default/late"]);
  expect(world.desired.objectVersion).toBeGreaterThan(seen);
});

describe("an object of a document is not certain", () => {
  const declared = aDesiredObject(named(aConfigMap({ a: "1" }), "late"), { source: "mqtt:node" });
  const reader = aDesiredPod(readerOfLate, { source: "mqtt:node" });
  const files = { source: "file", pods: [], objects: [], rejected: [] } as const;
  const worldOf = (): World => {
    const world = new World();
    const document = { source: "mqtt:node", pods: [reader], objects: [declared] } as const;
    world.desired.setSnapshot({ ...document, ready: true, rejected: [] });
    return world;
  };
  const expectCertainOnlyAfter = (world: World, later: SourceSnapshot): void => {
    expect(world.written.isSettledFor(reader)).toBe(false);
    expect(world.written.late(reader)).toEqual([]);
    const seen = world.desired.objectVersion;
    world.desired.setSnapshot(later);
    expect(world.written.isSettledFor(reader)).toBe(true);
    expect(world.changes.at(-1)).toEqual(["ConfigMap default/late"]);
    expect(world.desired.objectVersion).toBeGreaterThan(seen);
  };

  test("until the files have synced, which may have another one of its name", () => {
    const world = worldOf();
    world.desired.setSnapshot({ ...files, ready: false });
    expectCertainOnlyAfter(world, { ...files, ready: true });
  });

  test("while a file has one of its name with a mistake", () => {
    const world = worldOf();
    const mistake = { ...ofLate, source: "file", ref: "/m/objects.yaml" } as const;
    world.desired.setSnapshot({ ...files, ready: true, rejected: [mistake] });
    expectCertainOnlyAfter(world, { ...files, ready: true });
  });

  test("but is where it is the document of a group that has yet to come, or has a mistake", () => {
    const world = worldOf();
    const group = { pods: [], objects: [], source: "mqtt:group/a" } as const;
    const mistake = { ...ofLate, source: "mqtt:group/a", ref: "generation 1" } as const;
    world.desired.setSnapshot({ ...group, ready: false, rejected: [mistake] });
    expect(world.written.isSettledFor(reader)).toBe(true);
  });
});

test("static pods do not wait for documents, whose objects they cannot read", () => {
  const { desired, written } = new World();
  const silent = { pods: [], objects: [], rejected: [] };
  const ofFile = aDesiredPod(readerOfLate, { source: "file" });
  const ofDocument = aDesiredPod(readerOfLate, { source: "mqtt:node" });
  desired.setSnapshot({ source: "file", ready: true, ...silent });
  desired.setSnapshot({ source: "mqtt:node", ready: false, ...silent });
  expect(written.isSettledFor(ofFile)).toBe(true);
  expect(written.isSettledFor(ofDocument)).toBe(false);
  desired.setSnapshot({ source: "mqtt:node", ready: true, ...silent });
  desired.setSnapshot({ source: "file", ready: false, ...silent });
  expect(written.isSettledFor(ofFile)).toBe(false);
  expect(written.isSettledFor(ofDocument)).toBe(false);
});

test("all have spoken when each source was complete, or is a document that this node never had", () => {
  const { desired, written } = new World();
  const silent = { pods: [], objects: [], rejected: [] };
  expect(written.haveSpoken([])).toBe(false);
  desired.setSnapshot({ source: "mqtt:node", ready: false, ...silent });
  desired.setSnapshot({ source: "file", ready: false, ...silent });
  expect(written.haveSpoken([])).toBe(false);
  desired.setSnapshot({ source: "file", ready: true, ...silent });
  expect(written.haveSpoken([])).toBe(true);
  expect(written.haveSpoken(["mqtt:node"])).toBe(false);
  expect(written.haveSpoken(undefined)).toBe(false);
  desired.setSnapshot({ source: "mqtt:node", ready: true, ...silent });
  expect(written.haveSpoken(["mqtt:node"])).toBe(true);
  expect(written.haveSpoken(undefined)).toBe(true);
});
