// Groups on a real store: who is a member by whose word, what joining and leaving do, what a crash in between leaves.

import { afterEach, describe, expect, test } from "bun:test";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { DocumentStore } from "../../../src/source/document/document-rules.ts";
import type { Store } from "../../../src/store/store.ts";
import { aWrittenPod, written } from "../../unit/source/desired-arrival.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";
import { GroupNode, type NodeOptions } from "./group-node.ts";

const newDirectory = temporaryDirectories();
const open: Disposable[] = [];
function closeAll(): void {
  for (const one of open.splice(0).toReversed()) one[Symbol.dispose]();
}
afterEach(closeAll);

/** A life of the node; it ends the one before. */
function live(stateDir: string, options: NodeOptions = {}): GroupNode {
  closeAll();
  const node = new GroupNode(stateDir, options);
  open.push(node);
  return node;
}

const groups = (...names: readonly string[]): object => ({
  groups: names.map((name) => ({ name })),
});

describe("a node", () => {
  test("listens to the groups of its configuration and to no other", () => {
    const node = live(newDirectory(), { groups: ["kiosks", "berlin"] });
    node.group("kiosks", 3);
    node.group("doors", 1);
    expect(node.pods).toEqual(["of-kiosks"]);
    expect(node.answers).toEqual(["node 0", "group/berlin 0", "group/kiosks 3"]);
    expect(node.source.groupNames()).toEqual({ wanted: ["berlin", "kiosks"], left: [] });
  });

  test("joins the groups that its own document names", () => {
    const node = live(newDirectory(), { groups: ["berlin"] });
    node.group("kiosks", 3);
    node.node(1, "web", { ...groups("kiosks"), labels: { site: "b1" } });
    expect(node.source.groupNames()).toEqual({ wanted: ["berlin", "kiosks"], left: [] });
    expect(node.source.fleet()).toEqual({
      labels: { site: "b1" },
      groups: [
        { name: "berlin", priority: 0 },
        { name: "kiosks", priority: 0 },
      ],
    });
    expect(node.regrouped).toBe(2);
    node.group("kiosks", 3);
    expect(node.pods).toEqual(["web", "of-kiosks"]);
    node.node(2, "web", groups("kiosks"));
    expect(node.regrouped).toBe(2);
  });

  test("joins none that only a group document or a refused document names", () => {
    const node = live(newDirectory(), { groups: ["berlin"] });
    node.group("berlin", 1, groups("kiosks"));
    node.node(1, "web", { ...groups("kiosks"), requires: { features: ["teleport"] } });
    expect(node.source.groupNames().wanted).toEqual(["berlin"]);
    expect(node.rejected).toContain("Ignored mqtt:group/berlin");
  });

  test("is in fifteen groups at most, and says which it left out", () => {
    const all = Array.from({ length: 16 }, (_, index) => `g${index + 10}`);
    const node = live(newDirectory(), { groups: ["own"] });
    node.node(1, "web", groups(...all));
    expect(node.source.groupNames().wanted).toEqual(["own", ...all.slice(0, 14)]);
    const topic = "agent/v1/node/pi-1/desired";
    const why = "15 groups are the most; leave another one";
    expect(node.said("mqtt:node")?.rejected).toEqual(
      ["g24", "g25"].map((name) => ({
        source: "mqtt:node",
        ref: topic,
        code: "TooManyGroups",
        path: "groups",
        message: `the node is not in group ${name}: ${why}`,
      })),
    );
    node.group("g24", 1);
    expect(node.pods).toEqual(["web"]);
  });
});

describe("leaving a group", () => {
  test("takes its pods and its checkpoint away, and is told to the broker", () => {
    const node = live(newDirectory());
    node.node(1, "web", groups("kiosks", "berlin"));
    node.group("kiosks", 3);
    node.group("berlin", 1);
    expect(node.kept).toHaveLength(6);
    node.node(2, "web", groups("berlin"));
    expect(node.said("mqtt:group/kiosks")).toEqual({
      source: "mqtt:group/kiosks",
      ready: true,
      pods: [],
      objects: [],
      rejected: [],
    });
    expect(node.pods).toEqual(["web", "of-berlin"]);
    expect(node.answers).toEqual(["node 2", "group/berlin 1"]);
    expect(node.source.groupNames()).toEqual({ wanted: ["berlin"], left: ["kiosks"] });
    expect(node.kept.filter((one) => one.includes("kiosks"))).toEqual([]);
    node.group("kiosks", 4);
    expect(node.pods).toEqual(["web", "of-berlin"]);
  });

  test("and joining it again begins anew", () => {
    const node = live(newDirectory());
    node.node(1, "web", groups("kiosks"));
    node.group("kiosks", 3);
    node.node(2, "web");
    node.node(3, "web", groups("kiosks"));
    expect(node.said("mqtt:group/kiosks")).toMatchObject({ ready: false, pods: [] });
    expect(node.source.groupNames()).toEqual({ wanted: ["kiosks"], left: [] });
    node.group("kiosks", 1);
    expect(node.pods).toEqual(["web", "of-kiosks"]);
  });

  test("happens at the start too, where the configuration no longer names it", () => {
    const directory = newDirectory();
    live(directory, { groups: ["kiosks"] }).group("kiosks", 3);
    const node = live(directory);
    expect(node.snapshots).toMatchObject([
      { source: "mqtt:group/kiosks", ready: true, pods: [] },
      { source: "mqtt:node" },
    ]);
    expect(node.kept).toEqual([]);
    expect(node.source.groupNames().left).toEqual(["kiosks"]);
  });

  test("ends the same when the agent dies after the node document and before all else", () => {
    const directory = newDirectory();
    const node = live(directory);
    node.node(1, "web", groups("kiosks"));
    node.group("kiosks", 3);
    const { documents } = node.store;
    const accepted = documents.get("mqtt:node");
    if (accepted === undefined) throw new Error("there is no node document");
    const payload = new TextEncoder().encode(
      written({ generation: 2, resources: [aWrittenPod("web")] }),
    );
    const digest = `sha256:${sha256(payload)}`;
    documents.accept({ ...accepted, generation: 2, digest, payload });
    const next = live(directory);
    expect(next.said("mqtt:group/kiosks")).toMatchObject({ ready: true, pods: [] });
    expect(next.kept.filter((one) => one.includes("kiosks"))).toEqual([]);
    // Its pods may still run: the word that nobody wants them is said at every start.
    expect(live(directory).said("mqtt:group/kiosks")).toMatchObject({ ready: true, pods: [] });
  });

  test("ends the same when the disk does not take the removal", () => {
    const directory = newDirectory();
    const unwilling = ({ documents }: Store): DocumentStore => ({
      get: documents.get.bind(documents),
      accept: documents.accept.bind(documents),
      setObserved: documents.setObserved.bind(documents),
      forgetVersion: documents.forgetVersion.bind(documents),
      synced: documents.synced.bind(documents),
      remove: () => {
        throw new Error("read-only file system");
      },
    });
    const node = live(directory, { documents: unwilling });
    node.node(1, "web", groups("kiosks"));
    node.group("kiosks", 3);
    node.node(2, "web");
    expect(node.pods).toEqual(["web"]);
    expect(node.log.join("\n")).toContain("cannot remove the document of a group");
    expect(live(directory).pods).toEqual(["web"]);
    expect(live(directory).kept.filter((one) => one.includes("kiosks"))).toEqual([]);
  });
});

describe("after a restart without a broker", () => {
  test("the groups speak before the node, with the same priorities and pods", () => {
    const directory = newDirectory();
    const before = live(directory, { groups: ["berlin"] });
    before.node(1, "web", { groups: [{ name: "kiosks", priority: 7 }] });
    before.group("kiosks", 3);
    before.group("berlin", 2);
    before.source.observed("mqtt:group/kiosks", 3);
    const node = live(directory, { groups: ["berlin"] });
    expect(node.snapshots.map(({ source, ready }) => [source, ready])).toEqual([
      ["mqtt:group/berlin", true],
      ["mqtt:group/kiosks", true],
      ["mqtt:node", true],
    ]);
    expect(node.pods.toSorted()).toEqual(["of-berlin", "of-kiosks", "web"]);
    expect(node.source.fleet().groups).toEqual([
      { name: "berlin", priority: 0 },
      { name: "kiosks", priority: 7 },
    ]);
    expect(node.source.states().map((state) => state.observedGeneration)).toEqual([0, 0, 3]);
  });

  test("a node document that cannot be read leaves no group", () => {
    const directory = newDirectory();
    const before = live(directory);
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, data: {} };
    before.node(1, "web", {
      ...groups("kiosks"),
      resources: [aWrittenPod("web"), secret],
    });
    before.group("kiosks", 3);
    closeAll();
    const key = readdirSync(directory).find((name) => name.endsWith(".key"));
    if (key === undefined) throw new Error(`no key in ${readdirSync(directory).join(" ")}`);
    writeFileSync(join(directory, key), "");
    const node = live(directory);
    expect(node.said("mqtt:node")).toMatchObject({ ready: false });
    expect(node.said("mqtt:group/kiosks")).toMatchObject({ ready: true });
    expect(node.source.groupNames()).toEqual({ wanted: ["kiosks"], left: [] });
    expect(node.pods).toEqual(["of-kiosks"]);
  });
});
