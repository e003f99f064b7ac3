// Documents of several groups beside the node's own: whose word on a name counts, and which wait for which.

import { afterEach, describe, expect, test } from "bun:test";

import { verifyEd25519 } from "../../../src/host/crypto/ed25519.ts";
import { rootKeysOf, signersOf } from "../../../src/trust/verify-signature.ts";
import type { Keyring } from "../../../src/trust/keyring.ts";
import { aSigner, signed } from "../../fakes/a-signer.ts";
import { sha256 } from "../../unit/api/digest.ts";
import { NO_KEYRING, aWrittenPod, written } from "../../unit/source/desired-arrival.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";
import { GroupNode, type NodeOptions } from "./group-node.ts";

const newDirectory = temporaryDirectories();
const open: Disposable[] = [];
function closeAll(): void {
  for (const one of open.splice(0).toReversed()) one[Symbol.dispose]();
}
afterEach(closeAll);

function aNode(options: NodeOptions = {}): GroupNode {
  const node = new GroupNode(newDirectory(), options);
  open.push(node);
  return node;
}

const configMap = (value: string): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "web" },
  data: { value },
});
const sourcesOf = (node: GroupNode): readonly string[] =>
  node.desired.pods.map(({ pod, source }) => `${pod.metadata.name} ${source}`);
const valueOf = (node: GroupNode): string | undefined => {
  const found = node.desired.objects.map(({ object }) => object);
  return found.flatMap((one) => (one.kind === "ConfigMap" ? [one.data["value"]] : []))[0];
};

describe("one name in several documents", () => {
  const resources = [aWrittenPod("web")];

  test("is decided by the priority of the groups, and a new priority decides anew", () => {
    const node = aNode({ groups: [{ name: "b", priority: 5 }] });
    node.node(1, "own", { groups: [{ name: "a", priority: 1 }] });
    node.group("a", 1, { resources });
    node.group("b", 1, { resources });
    expect(sourcesOf(node)).toEqual(["own mqtt:node", "web mqtt:group/b"]);
    expect(node.rejected).toEqual(["Shadowed web"]);
    node.node(2, "own", { groups: [{ name: "a", priority: 6 }] });
    expect(sourcesOf(node)).toEqual(["own mqtt:node", "web mqtt:group/a"]);
  });

  test("is the node's, if its own document has it", () => {
    const node = aNode({ groups: [{ name: "a", priority: 1000 }] });
    node.group("a", 1, { resources });
    node.node(1, "web");
    expect(sourcesOf(node)).toEqual(["web mqtt:node"]);
    expect(node.rejected).toEqual(["Shadowed web"]);
  });

  test("of a ConfigMap is how one device is given other settings, and taken back", () => {
    const node = aNode({ groups: ["a"] });
    node.group("a", 1, { resources: [...resources, configMap("of the group")] });
    expect(valueOf(node)).toBe("of the group");
    node.node(1, "", { resources: [configMap("of the device")] });
    expect(valueOf(node)).toBe("of the device");
    expect(sourcesOf(node)).toEqual(["web mqtt:group/a"]);
    expect(node.rejected).toEqual(["Shadowed web"]);
    node.node(2, "", { resources: [], allowEmpty: true });
    expect(valueOf(node)).toBe("of the group");
    expect(node.rejected).toEqual([]);
  });
});

describe("a document that requires another one", () => {
  const needsGroup = { requires: { documents: { "group/a": 3 } } };
  const needsNode = { requires: { documents: { node: 7 } } };

  test("waits for it, and counts when it comes, without being sent again", () => {
    const node = aNode({ groups: ["a"] });
    node.node(1, "web", needsGroup);
    node.group("a", 2);
    expect(node.answers).toEqual(["node 0 412", "group/a 2"]);
    node.group("a", 3);
    expect(node.answers).toEqual(["node 1", "group/a 3"]);
    expect(node.pods).toEqual(["web", "of-a"]);
    expect(node.rejected).toEqual([]);
  });

  test("the other way round: a group's waits for the node's", () => {
    const node = aNode({ groups: ["a", "b"] });
    node.group("a", 1, needsNode);
    node.group("b", 1, { requires: { documents: { "group/a": 1 } } });
    node.node(6, "web");
    expect(node.answers).toEqual(["node 6", "group/a 0 412", "group/b 0 412"]);
    node.node(7, "web");
    expect(node.answers).toEqual(["node 7", "group/a 1", "group/b 1"]);
  });

  test("that names a group of which the node is only by that other one", () => {
    const node = aNode();
    node.node(1, "web", { groups: [{ name: "a" }] });
    node.node(2, "web", { groups: [{ name: "a" }], ...needsGroup });
    expect(node.answers).toEqual(["node 1 412", "group/a 0"]);
    node.group("a", 3);
    expect(node.answers).toEqual(["node 2", "group/a 3"]);
  });

  test("two that wait for each other both stay out", () => {
    const node = aNode({ groups: ["a"] });
    node.node(7, "web", needsGroup);
    node.group("a", 3, needsNode);
    expect(node.answers).toEqual(["node 0 412", "group/a 0 412"]);
  });

  test("is not judged again for what another document cannot mend", () => {
    let judged = 0;
    const look = (): Keyring => {
      judged += 1;
      return NO_KEYRING;
    };
    const trust = { look, receive: () => undefined, verify: () => false };
    const node = aNode({ groups: ["a"], trust });
    node.node(1, "web", { expiresAt: "1970-01-01T00:00:00Z" });
    node.group("a", 3);
    expect(node.answers).toEqual(["node 0 408", "group/a 3"]);
    expect(judged).toBe(2);
  });
});

test("after a reset of trust documents of any version follow, of groups too", () => {
  const node = aNode({ groups: ["a"] });
  node.node(5, "web");
  node.group("a", 5);
  node.group("a", 4);
  expect(node.answers).toEqual(["node 5", "group/a 5 410"]);
  node.source.forgetVersion();
  node.source.judgeAgain();
  expect(node.answers).toEqual(["node 5", "group/a 4"]);
});

describe("where signatures are required", () => {
  const [root, ofKiosks] = [aSigner(), aSigner()];
  const keyring = {
    required: true,
    bundleVersion: 1,
    roots: rootKeysOf([root.pub], sha256),
    signers: signersOf(
      [
        { pub: root.pub, roles: ["desired"], nodes: ["*"] },
        { pub: ofKiosks.pub, roles: ["desired"], groups: ["kiosks"] },
      ],
      sha256,
    ),
  };
  const trust = { look: () => keyring, receive: () => undefined, verify: verifyEd25519 };
  const text = (target: object, more: object): string => written({ target, ...more });

  test("only a signed node document joins, and a key speaks to its own groups only", () => {
    const node = aNode({ trust });
    const groups = [{ name: "kiosks" }, { name: "doors" }];
    node.node(7, "web", { groups });
    expect(node.answers).toEqual(["node 0 401"]);
    const toNode = text({ node: "pi-1" }, { groups });
    node.send("node/pi-1", signed("desired", toNode, ofKiosks));
    expect(node.answers).toEqual(["node 0 401"]);
    node.send("node/pi-1", signed("desired", toNode, root));
    expect(node.answers).toEqual(["node 7", "group/doors 0", "group/kiosks 0"]);
    for (const group of ["kiosks", "doors"])
      node.send(`group/${group}`, signed("desired", text({ group }, {}), ofKiosks));
    expect(node.answers).toEqual(["node 7", "group/doors 0 401", "group/kiosks 7"]);
    // A document for one group counts in no other.
    node.send("group/doors", signed("desired", text({ group: "kiosks" }, {}), ofKiosks));
    expect(node.answers[1]).toBe("group/doors 0 401");
  });
});
