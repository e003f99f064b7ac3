import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  MAX_TOPIC_BYTES,
  isTopicName,
  isTopicRoot,
  parseTopic,
  subscriptionsFor,
  topicFor,
  type Topic,
} from "../../../src/protocol/mqtt-topics.ts";

const root = "agent/v1";
const node = "pi-1";
const sha256 = "9b".repeat(32);

const table: Readonly<Record<string, Topic>> = {
  "agent/v1/node/pi-1/state": { type: "NodeState", root, node },
  "agent/v1/node/pi-1/desired": { type: "NodeDesired", root, node },
  "agent/v1/node/pi-1/reported": { type: "NodeReported", root, node },
  "agent/v1/node/pi-1/reported/pod/default/web": {
    type: "PodReported",
    root,
    node,
    namespace: "default",
    pod: "web",
  },
  "agent/v1/node/pi-1/event": { type: "NodeEvent", root, node },
  "agent/v1/node/pi-1/command": { type: "NodeCommand", root, node },
  "agent/v1/node/pi-1/response": { type: "NodeResponse", root, node },
  "agent/v1/node/pi-1/log/default/web/nginx": {
    type: "ContainerLog",
    root,
    node,
    namespace: "default",
    pod: "web",
    container: "nginx",
  },
  "agent/v1/group/kiosks/desired": { type: "GroupDesired", root, group: "kiosks" },
  "agent/v1/group/kiosks/rollout": { type: "GroupRollout", root, group: "kiosks" },
  "agent/v1/group/kiosks/command": { type: "GroupCommand", root, group: "kiosks" },
  [`agent/v1/blob/${sha256}`]: { type: "Blob", root, sha256 },
  "agent/v1/trust": { type: "Trust", root },
};

describe("the topics of the contract", () => {
  test.each(Object.entries(table))("%s", (text, topic) => {
    expect(topicFor(topic)).toBe(text);
    expect(parseTopic(root, text)).toEqual(topic);
  });

  test.each([
    "agent/v1",
    "agent/v1/",
    "agent/v1/node/pi-1",
    "agent/v1/node/pi-1/",
    "agent/v1/node/pi-1/desired/",
    "agent/v1/node/pi-1/desired/more",
    "agent/v1/node/PI/desired",
    "agent/v1/node//desired",
    "agent/v1/node/+/desired",
    "agent/v1/node/pi-1/toString",
    "agent/v1/node/pi-1/reported/pod/default",
    "agent/v1/node/pi-1/reported/pot/default/web",
    "agent/v1/group/kiosks/reported",
    "agent/v1/blob/9B",
    `agent/v1/blob/${sha256}/x`,
    "agent/v1/trust/x",
    "agent/v2/node/pi-1/desired",
    "agent/v1x/node/pi-1/desired",
    "other/agent/v1/node/pi-1/desired",
    "",
  ])("%j means nothing", (text) => {
    expect(parseTopic(root, text)).toBeUndefined();
  });

  test("a topic with an invalid name is not made", () => {
    for (const name of ["", "Pi", "a/b", "-a", "a-", ".a", "a".repeat(64), "ä", "a+", "#", "a\n"])
      expect(() => topicFor({ type: "NodeDesired", root, node: name })).toThrow("invalid name");
    expect(() => topicFor({ type: "Blob", root, sha256: "xyz" })).toThrow("invalid name");
  });

  test("a topic over 256 bytes is not made", () => {
    const long = "a".repeat(63);
    const topic: Topic = {
      type: "ContainerLog",
      root,
      node: long,
      namespace: long,
      pod: long,
      container: long,
    };
    expect(() => topicFor(topic)).toThrow("over 256 bytes");
    expect(
      topicFor({ type: "PodReported", root, node: long, namespace: long, pod: long }),
    ).toHaveLength(root.length + 3 * 63 + "/node//reported/pod//".length);
  });

  test("the root has one or two levels without wildcards", () => {
    for (const good of ["agent", "agent/v1", "Fleet_7/x"]) expect(isTopicRoot(good)).toBe(true);
    for (const bad of ["", "/", "a/", "/a", "a/b/c", "a/+", "#", "$aws/x", "a b", "ä", "a\u0000"])
      expect(isTopicRoot(bad)).toBe(false);
    expect(() => topicFor({ type: "Trust", root: "a/b/c" })).toThrow("mqtt.topicRoot");
  });
});

describe("what a node subscribes to", () => {
  test("trust, which comes before what it permits, and its own desired and command", () => {
    expect(subscriptionsFor(root, node, [])).toEqual([
      "agent/v1/trust",
      "agent/v1/node/pi-1/desired",
      "agent/v1/node/pi-1/command",
    ]);
  });

  test("the topics of each of its groups once, at most 15 groups", () => {
    expect(subscriptionsFor(root, node, ["kiosks", "kiosks"]).slice(3)).toEqual([
      "agent/v1/group/kiosks/desired",
      "agent/v1/group/kiosks/rollout",
      "agent/v1/group/kiosks/command",
    ]);
    const many = Array.from({ length: 20 }, (_, index) => `g${index}`);
    expect(subscriptionsFor(root, node, many)).toHaveLength(3 + 15 * 3);
  });
});

const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?$/);
const level = fc.stringMatching(/^[A-Za-z0-9_:.-]{1,12}$/);
const anyRoot = fc.oneof(
  level,
  fc.tuple(level, level).map((levels) => levels.join("/")),
);
const anyTopic: fc.Arbitrary<Topic> = anyRoot.chain((at) => {
  const ofNode = <T extends string>(...types: readonly T[]) =>
    fc.record({ type: fc.constantFrom(...types), root: fc.constant(at), node: name });
  return fc.oneof(
    ofNode("NodeState", "NodeDesired", "NodeReported", "NodeEvent", "NodeCommand", "NodeResponse"),
    fc.record({
      type: fc.constant("PodReported" as const),
      root: fc.constant(at),
      node: name,
      namespace: name,
      pod: name,
    }),
    fc.record({
      type: fc.constant("ContainerLog" as const),
      root: fc.constant(at),
      node: name,
      namespace: name,
      pod: name,
      container: name,
    }),
    fc.record({
      type: fc.constantFrom(
        "GroupDesired" as const,
        "GroupRollout" as const,
        "GroupCommand" as const,
      ),
      root: fc.constant(at),
      group: name,
    }),
    fc.record({
      type: fc.constant("Blob" as const),
      root: fc.constant(at),
      sha256: fc.stringMatching(/^[0-9a-f]{64}$/),
    }),
    fc.record({ type: fc.constant("Trust" as const), root: fc.constant(at) }),
  );
});

describe("topicFor and parseTopic", () => {
  test("are inverse", () => {
    fc.assert(
      fc.property(anyTopic, (topic) => {
        const text = topicFor(topic);
        expect(parseTopic(topic.root, text)).toEqual(topic);
        expect(new TextEncoder().encode(text).length).toBeLessThanOrEqual(MAX_TOPIC_BYTES);
        expect(text.split("/").length).toBeLessThanOrEqual(8);
      }),
    );
  });

  test("agree on every text that is parsed at all", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "node",
        "group",
        "blob",
        "trust",
        "desired",
        "reported",
        "pod",
        "log",
        "a",
        "",
      ),
      fc.string({ maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 7 }), (pieces) => {
        const text = [root, ...pieces].join("/");
        const topic = parseTopic(root, text);
        if (topic !== undefined) expect(topicFor(topic)).toBe(text);
      }),
    );
  });

  test("a name has the form of the contract", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 70 }), (text) => {
        expect(isTopicName(text)).toBe(
          /^[a-z0-9.-]{1,63}$/.test(text) && !/^[.-]|[.-]$/.test(text) && !text.includes("\n"),
        );
      }),
    );
  });
});
