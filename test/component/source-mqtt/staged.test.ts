// A staged document of a group waits for a Rollout that releases it for this node.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { verifyEd25519 } from "../../../src/host/crypto/ed25519.ts";
import { signersOf } from "../../../src/trust/verify-signature.ts";
import { aSigner, signed } from "../../fakes/a-signer.ts";
import { written } from "../../unit/source/desired-arrival.ts";
import { placeOf } from "../../../src/protocol/rollout-order.ts";
import { sha256 } from "../../unit/api/digest.ts";
import { GroupNode } from "./group-node.ts";

const STAGED = { policy: { staged: true } };
/** Above it, this node takes part. */
const PLACE = placeOf("pi-1", "s", sha256);

let stateDir: string;
let node: GroupNode;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "agent-staged-"));
  node = new GroupNode(stateDir, { groups: ["kiosks"] });
});

afterEach(() => {
  node[Symbol.dispose]();
  rmSync(stateDir, { recursive: true });
});

const answer = (): string | undefined => node.answers[1];
const refusedRollouts = () =>
  node.said("mqtt:group/kiosks")?.rejected.filter(({ kind }) => kind === "Rollout");
const message = (): string | undefined => node.source.states()[1]?.lastRejected?.message;

test("a node that has nothing of the group takes the newest", () => {
  node.group("kiosks", 3, STAGED);
  expect(answer()).toBe("group/kiosks 3");
});

test("the next generation waits, and runs once the percent has reached the node", () => {
  node.group("kiosks", 1);
  node.group("kiosks", 2, STAGED);
  expect(answer()).toBe("group/kiosks 1 423");
  expect(message()).toContain("waits for a Rollout that names it");
  node.rollout("kiosks", { generation: 2, percent: PLACE });
  expect(answer()).toBe("group/kiosks 1 423");
  expect(message()).toContain(`this node follows above ${PLACE} %`);
  node.rollout("kiosks", { generation: 2, percent: PLACE + 0.01 });
  expect(answer()).toBe("group/kiosks 2");
});

test("a Rollout that was there first releases what arrives later", () => {
  node.group("kiosks", 1);
  node.rollout("kiosks", { generation: 2, percent: 100 });
  node.group("kiosks", 2, STAGED);
  expect(answer()).toBe("group/kiosks 2");
});

test.each([
  ["paused", { generation: 2, percent: 100, paused: true }, "is paused at 100 %"],
  ["for another generation", { generation: 1, percent: 100 }, "waits for a Rollout"],
  ["for a newer generation", { generation: 3, percent: 100 }, "names generation 3"],
  ["for another epoch", { epoch: "e", generation: 2, percent: 100 }, "waits for a Rollout"],
  ["for other labels", { generation: 2, percent: 100, match: { at: "home" } }, "label at=home"],
])("a Rollout that is %s releases nothing", (_, order, why) => {
  node.group("kiosks", 1);
  node.group("kiosks", 2, STAGED);
  node.rollout("kiosks", order);
  expect(answer()).toBe("group/kiosks 1 423");
  expect(message()).toContain(why);
});

test("labels of the node's document count from its acceptance on", () => {
  node.group("kiosks", 1);
  node.group("kiosks", 2, STAGED);
  node.rollout("kiosks", { generation: 2, percent: 100, match: { at: "home" } });
  expect(answer()).toBe("group/kiosks 1 423");
  node.node(1, "own", { labels: { at: "home" } });
  expect(answer()).toBe("group/kiosks 2");
});

test("a pause or a lower percent takes back nothing", () => {
  node.group("kiosks", 1);
  node.group("kiosks", 2, STAGED);
  node.rollout("kiosks", { generation: 2, percent: 100 });
  node.rollout("kiosks", { generation: 2, percent: 0, paused: true });
  node.source.receive("agent/v1/group/kiosks/rollout", new Uint8Array());
  expect(answer()).toBe("group/kiosks 2");
});

test("what was released runs after a restart without a broker", () => {
  node.group("kiosks", 1);
  node.rollout("kiosks", { generation: 2, percent: 100 });
  node.group("kiosks", 2, STAGED);
  node[Symbol.dispose]();
  node = new GroupNode(stateDir, { groups: ["kiosks"] });
  expect(answer()).toBe("group/kiosks 2");
  expect(node.pods).toEqual(["of-kiosks"]);
});

test("a wrong Rollout is listed, changes nothing, and a right one ends it", () => {
  node.group("kiosks", 1);
  node.group("kiosks", 2, STAGED);
  node.rollout("kiosks", { generation: 2, percent: 101 });
  expect(refusedRollouts()).toMatchObject([
    { kind: "Rollout", ref: "agent/v1/group/kiosks/rollout", path: "percent" },
  ]);
  node.rollout("kiosks", { group: "others", generation: 2, percent: 100 });
  expect(refusedRollouts()).toMatchObject([{ path: "group", code: "Forbidden" }]);
  expect(answer()).toBe("group/kiosks 1 423");
  node.rollout("kiosks", { generation: 2, percent: 100 });
  expect(refusedRollouts()).toEqual([]);
  expect(answer()).toBe("group/kiosks 2");
});

test("a Rollout that is too large is refused", () => {
  node.group("kiosks", 1);
  node.group("kiosks", 2, STAGED);
  node.rollout("kiosks", { generation: 2, percent: 100, more: "x".repeat(16 * 1024) });
  expect(refusedRollouts()).toMatchObject([{ code: "TooLarge" }]);
  expect(answer()).toBe("group/kiosks 1 423");
});

describe("where signatures are required", () => {
  const [writer, raiser] = [aSigner(), aSigner()];
  const keyring = {
    required: true,
    bundleVersion: 1,
    roots: [],
    signers: signersOf(
      [
        { pub: writer.pub, roles: ["desired"] },
        { pub: raiser.pub, roles: ["rollout"], groups: ["kiosks"] },
      ],
      sha256,
    ),
  };
  const trust = { look: () => keyring, receive: () => undefined, verify: verifyEd25519 };
  const order = (fields: object): string =>
    JSON.stringify({
      apiVersion: "agent/v1",
      kind: "Rollout",
      group: "kiosks",
      salt: "s",
      generation: 2,
      percent: 100,
      issuedAt: "2026-11-21T08:00:00Z",
      ...fields,
    });
  const send = (message: string): void =>
    node.source.receive("agent/v1/group/kiosks/rollout", new TextEncoder().encode(message));
  const document = (generation: number, more: object = {}): void => {
    const text = written({ target: { group: "kiosks" }, generation, ...more });
    node.send("group/kiosks", signed("desired", text, writer));
  };

  beforeEach(() => {
    node[Symbol.dispose]();
    node = new GroupNode(stateDir, { groups: ["kiosks"], trust });
    document(1);
    document(2, STAGED);
    expect(answer()).toBe("group/kiosks 1 423");
  });

  test.each([
    ["unsigned", (): string => order({}), "Unauthorized"],
    ["of a key for documents", (): string => signed("rollout", order({}), writer), "Unauthorized"],
    ["of an unknown key", (): string => signed("rollout", order({}), aSigner()), "Unauthorized"],
    ["signed as a document", (): string => signed("desired", order({}), raiser), "Unauthorized"],
    [
      "without its time",
      (): string => signed("rollout", order({ issuedAt: null }), raiser),
      "Invalid",
    ],
    [
      "for another group",
      (): string => signed("rollout", order({ group: "doors" }), raiser),
      "Forbidden",
    ],
  ])("a Rollout that is %s counts for nothing", (_, message, code) => {
    send(message());
    expect(refusedRollouts()).toMatchObject([{ kind: "Rollout", code }]);
    expect(answer()).toBe("group/kiosks 1 423");
  });

  test("the role rollout releases it, and writes no documents", () => {
    node.send(
      "group/kiosks",
      signed("desired", written({ target: { group: "kiosks" }, generation: 9 }), raiser),
    );
    expect(answer()).toBe("group/kiosks 1 401");
    document(2, STAGED);
    send(signed("rollout", order({}), raiser));
    expect(answer()).toBe("group/kiosks 2");
  });

  test("nor can one of the same second, and the same one may come again", () => {
    const paused = signed("rollout", order({ paused: true }), raiser);
    send(paused);
    send(signed("rollout", order({}), raiser));
    expect(refusedRollouts()).toMatchObject([{ code: "Outdated" }]);
    send(paused);
    expect(refusedRollouts()).toEqual([]);
    expect(answer()).toBe("group/kiosks 1 423");
  });

  test("an older one cannot be brought back, also after a restart", () => {
    const whole = signed("rollout", order({}), raiser);
    send(signed("rollout", order({ paused: true, issuedAt: "2026-11-21T08:05:00Z" }), raiser));
    send(whole);
    expect(refusedRollouts()).toMatchObject([{ code: "Outdated" }]);
    node[Symbol.dispose]();
    node = new GroupNode(stateDir, { groups: ["kiosks"], trust });
    document(2, STAGED);
    send(whole);
    expect(answer()).toBe("group/kiosks 1 423");
  });
});

test("of a flood of Rollouts the newest is judged, with the turns of documents", () => {
  node.group("kiosks", 1);
  node.group("kiosks", 2, STAGED);
  const before = node.log.length;
  for (let percent = 0; percent < 1_000; percent += 1)
    node.rollout("kiosks", { generation: 2, percent: 0, more: percent });
  node.rollout("kiosks", { generation: 2, percent: 100 });
  expect(node.log.length - before).toBeLessThan(20);
  expect(answer()).toBe("group/kiosks 1 423");
});

test("and it releases the document in its turn", async () => {
  node.group("kiosks", 1);
  node.group("kiosks", 2, STAGED);
  for (let percent = 0; percent < 100; percent += 1)
    node.rollout("kiosks", { generation: 2, percent: 0 });
  node.rollout("kiosks", { generation: 2, percent: 100 });
  await node.clock.advance(2_000);
  expect(answer()).toBe("group/kiosks 2");
});
