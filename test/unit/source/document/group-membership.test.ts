// Which groups a node is in: its configuration's word, its document's, and the limit.

import { describe, expect, test } from "bun:test";

import type { GroupMember } from "../../../../src/protocol/groups.ts";
import { membership } from "../../../../src/source/document/group-membership.ts";
import { ADDRESS, judge, storedFrom, written } from "../desired-arrival.ts";
import { decodeAccepted } from "../../../../src/source/document/decode-accepted.ts";
import { sha256 } from "../../api/digest.ts";

const group = (name: string, priority = 0): GroupMember => ({ name, priority });
const many = (count: number, priority = 0): readonly GroupMember[] =>
  Array.from({ length: count }, (_, index) =>
    group(`g${String(index).padStart(2, "0")}`, priority),
  );
const names = (groups: readonly GroupMember[]): readonly string[] => groups.map(({ name }) => name);

describe("the groups of a node", () => {
  test("are the configuration's, then the document's, each by priority and name", () => {
    const { members, surplus } = membership(
      [group("b", 1), group("a", 1), group("c", 9)],
      [group("z", 99), group("y"), group("x")],
    );
    expect(names(members)).toEqual(["c", "a", "b", "z", "x", "y"]);
    expect(surplus).toEqual([]);
  });

  test("one that both name has the configuration's priority", () => {
    expect(membership([group("a", -5)], [group("a", 7), group("b")]).members).toEqual([
      group("a", -5),
      group("b"),
    ]);
  });

  test("are fifteen at most: those of lowest priority of the document are left out", () => {
    const { members, surplus } = membership(many(14, -1), [group("low", 1), group("high", 2)]);
    expect(members).toHaveLength(15);
    expect(members.at(-1)).toEqual(group("high", 2));
    expect(surplus).toEqual([group("low", 1)]);
  });

  test("are fifteen at most, also in the configuration", () => {
    const { members, surplus } = membership(many(17), [group("high", 99)]);
    expect(members).toHaveLength(15);
    expect(names(surplus)).toEqual(["g15", "g16", "high"]);
  });
});

const WORD = {
  groups: [{ name: "kiosks", priority: 10 }, { name: "berlin" }],
  labels: { site: "berlin", "shop.example/floor": "" },
};

describe("the groups and labels in a node document", () => {
  test("counts", () => {
    expect(judge(written(WORD))).toMatchObject({
      type: "Accepted",
      document: { groups: [group("kiosks", 10), group("berlin")], labels: WORD.labels },
      notices: [],
    });
  });

  test("is still known after a restart", () => {
    const { document, intact } = decodeAccepted(storedFrom(written(WORD)), ADDRESS, { sha256 });
    expect(intact).toBe(true);
    expect(document).toMatchObject({
      groups: [group("kiosks", 10), group("berlin")],
      labels: WORD.labels,
    });
  });

  test("is refused with its path where it is no name, no number, no label, or there twice", () => {
    const verdict = judge(
      written({
        groups: [{ name: "a/b" }, { priority: 1 }, { name: "a", priority: "1" }, { name: "a" }, 7],
        labels: { "-": "x", site: "a b" },
      }),
    );
    expect(verdict).toMatchObject({ type: "Refused", code: 400 });
    const paths = verdict.type === "Refused" ? verdict.rejections.map(({ path }) => path) : [];
    expect(paths.toSorted()).toEqual([
      "groups[0].name",
      "groups[1].name",
      "groups[2].priority",
      "groups[3].name",
      "groups[4]",
      "labels[-]",
      "labels[site]",
    ]);
  });

  test("an unknown field of a membership stops nothing and is listed", () => {
    expect(judge(written({ groups: [{ name: "a", prio: 7 }] }))).toMatchObject({
      type: "Accepted",
      document: { groups: [group("a")] },
      notices: [{ code: "Ignored", path: "groups[0].prio" }],
    });
  });
});

describe("a group document", () => {
  const address = {
    source: "mqtt:group/kiosks",
    ref: "agent/v1/group/kiosks/desired",
    node: "pi-1",
  } as const;

  test("cannot add a node to a group, nor name it, whatever it writes", () => {
    const text = written({
      target: { group: "kiosks" },
      groups: [{ name: "No Name" }],
      labels: { site: "berlin" },
    });
    const verdict = judge(text, { address });
    expect(verdict).toMatchObject({
      type: "Accepted",
      notices: [
        { code: "Ignored", path: "groups" },
        { code: "Ignored", path: "labels" },
      ],
    });
    const document = verdict.type === "Accepted" ? verdict.document : undefined;
    expect([document?.groups, document?.labels]).toEqual([undefined, undefined]);
    const restored = decodeAccepted(storedFrom(text, { source: address.source }), address, {
      sha256,
    });
    expect([restored.document.groups, restored.document.labels]).toEqual([undefined, undefined]);
  });
});
