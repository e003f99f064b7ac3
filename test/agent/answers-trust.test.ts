// Which senders a node trusts (docs/mqtt-api.md, Trust): replayed and forged documents are refused, and lost keys stop no pod.

import { describe, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  AnswerStage,
  BUNDLE,
  DB,
  documentOf,
  NEXT,
  running,
  signedDocument,
  trusting,
  WEB,
} from "./answer-stage.ts";
import { TOPIC } from "./sim-authority.ts";
import { uidOfWritten, writtenPod } from "./sim-manifest.ts";
import { CLAIM, writtenObject } from "./sim-objects.ts";
import { READS_NOTHING } from "./sim-reads.ts";
import type { SimSpec } from "./sim-specs.ts";
import { TRUST_TOPIC, type TrustTrouble } from "./sim-trust.ts";

const HOUR_MS = 3_600_000;
const epoch = "old";

describe("a replay is refused", () => {
  test("of an older signed document, also with a clock at 1970 and without the database", async () => {
    using stage = await trusting();
    const old = signedDocument(documentOf(4, [NEXT], { epoch }), "desk");
    await stage.publish(old);
    await stage.publish(signedDocument(documentOf(5, [WEB], { epoch }), "desk"));
    await stage.stays({ generation: 5, code: 200 });
    await stage.refuses(old, 410, /generation 5/);
    stage.world.machine.clockSynchronised = false;
    await stage.act({ type: "Wall", to: "1970" });
    await stage.refuses(old, 410, /generation 5/);
    await stage.act({ type: "Kill", acts: 0 }, 0);
    await stage.act({ type: "Database", how: "lost" }, 0);
    await stage.act({ type: "Start" });
    expect(stage.answer).toMatchObject({ generation: 5, code: 200, lastRejected: { code: 410 } });
    expect(stage.running()).toEqual([expect.stringMatching(/^web-1 /)]);
  });

  test("of another node's document, and of another fleet's", async () => {
    using stage = await trusting();
    for (const target of [{ node: "sim-2" }, { node: "sim-1", fleet: "south" }])
      await stage.refuses(
        signedDocument({ ...documentOf(9, [NEXT], { epoch }), target }, "desk"),
        403,
        /target/,
      );
  });

  test("of a document that was issued before the day of the TrustBundle", async () => {
    using stage = await trusting();
    await stage.trust({ ...BUNDLE, version: 2, notBefore: "2026-11-21T07:00:00Z" }, ["root"]);
    const early = documentOf(4, [NEXT], { epoch, issuedAt: "2026-11-21T06:59:59Z" });
    await stage.refuses(signedDocument(early, "desk"), 410, /notBefore/);
    await stage.refuses(signedDocument(documentOf(4, [NEXT], { epoch }), "desk"), 410, /issuedAt/);
    const since = { epoch, issuedAt: "2026-11-21T07:00:00Z" };
    await stage.publish(signedDocument(documentOf(4, [NEXT], since), "desk"));
    await stage.stays({ generation: 4, code: 200 });
  });

  test("of an older TrustBundle: the key that it names stays out", async () => {
    using stage = await trusting();
    const keys = [{ key: "laterDesk", roles: ["desired"] }] as const;
    await stage.trust({ ...BUNDLE, version: 2, keys }, ["root"]);
    await stage.trust(BUNDLE, ["root"]);
    await stage.refuses(signedDocument(documentOf(4, [NEXT], { epoch }), "desk"), 401, /key/);
    await stage.publish(signedDocument(documentOf(4, [NEXT], { epoch }), "laterDesk"));
    await stage.stays({ generation: 4, code: 200 });
  });
});

describe("a key that a TrustBundle has removed", () => {
  const keys = [{ key: "laterDesk", roles: ["desired"] }] as const;

  test("stops nothing that it has signed, and signs nothing more", async () => {
    using stage = await trusting();
    const before = stage.running();
    await stage.trust({ ...BUNDLE, version: 2, keys }, ["root"]);
    await stage.stays({ generation: 3, code: 200 });
    expect(stage.running()).toEqual(before);
    await stage.refuses(signedDocument(documentOf(4, [NEXT], { epoch }), "desk"), 401, /key/);
  });

  test("counts no more for a node that has lost its database and heard the bundle once", async () => {
    using stage = await trusting();
    await stage.trust({ ...BUNDLE, version: 2, keys }, ["root"]);
    await stage.act({ type: "Broker", how: "wiped" }, 0);
    await stage.act({ type: "Kill", acts: 0 }, 0);
    await stage.act({ type: "Database", how: "lost" }, 0);
    await stage.act({ type: "Start" });
    await stage.refuses(signedDocument(documentOf(4, [NEXT], { epoch }), "desk"), 401, /key/);
    expect(stage.world.machine.broker.retained(TRUST_TOPIC)).toBeUndefined();
  });

  test("was a root: the later one alone decides from then on", async () => {
    using stage = await trusting();
    await stage.trust({ ...BUNDLE, version: 2, root: ["laterRoot"] }, ["root", "laterRoot"]);
    await stage.trust({ ...BUNDLE, version: 3, keys }, ["root"]);
    await stage.publish(signedDocument(documentOf(4, [NEXT], { epoch }), "desk"));
    await stage.stays({ generation: 4, code: 200 });
    await stage.trust({ ...BUNDLE, version: 3, root: ["laterRoot"], keys }, ["laterRoot"]);
    await stage.refuses(signedDocument(documentOf(5, [WEB], { epoch }), "desk"), 401, /key/);
  });
});

test("a TrustBundle that nobody in force has signed changes nothing", async () => {
  using stage = await trusting();
  const keys = [{ key: "stranger", roles: ["desired"] }] as const;
  for (const by of ["stranger", "desk", "laterRoot"] as const)
    await stage.trust({ ...BUNDLE, version: 7, keys }, [by]);
  await stage.trust({ ...BUNDLE, version: 7, root: ["laterRoot"], keys }, ["root"]);
  await stage.refuses(signedDocument(documentOf(4, [NEXT], { epoch }), "stranger"), 401, /key/);
  await stage.publish(signedDocument(documentOf(4, [NEXT], { epoch }), "desk"));
  await stage.stays({ generation: 4, code: 200 });
});

describe("trust.d", () => {
  const troubles: readonly TrustTrouble[] = ["emptied", "unreadable", "mistyped"];

  test.each(troubles)("%s, then a restart: pods run, and every document gets 401", async (how) => {
    using stage = new AnswerStage({ roots: ["root"] });
    await stage.start();
    await stage.publish(signedDocument(documentOf(3), "root"));
    const before = stage.running();
    stage.world.machine.trust.trouble(how);
    await stage.restart();
    expect(stage.running()).toEqual(before);
    expect(stage.conditions()).toContain("TrustUnavailable");
    await stage.refuses(documentOf(4, [NEXT]), 401, /NoTrustedKey/);
    await stage.refuses(signedDocument(documentOf(4, [NEXT]), "root"), 401, /NoTrustedKey/);
    stage.world.machine.trust.mend();
    await stage.pass(2 * 60_000);
    expect(stage.conditions()).not.toContain("TrustUnavailable");
    // The broker does not send it twice, and nobody has to.
    await stage.stays({ generation: 4, signed: true, code: 200 });
    expect(stage.running()).toEqual([expect.stringMatching(/^web-2 /)]);
  });

  test.each(troubles)("%s, and the database lost: nothing plain counts", async (how) => {
    using stage = new AnswerStage({ roots: ["root"] });
    await stage.start();
    await stage.publish(signedDocument(documentOf(3), "root"));
    stage.world.machine.trust.trouble(how);
    await stage.act({ type: "Kill", acts: 0 }, 0);
    await stage.act({ type: "Database", how: "lost" }, 0);
    await stage.act({ type: "Start" });
    expect(stage.answer).toMatchObject({ generation: 3, code: 200 });
    await stage.refuses(documentOf(4, [NEXT]), 401, /NoTrustedKey/);
  });

  test("emptied, and both trust records lost: what was signed still requires signatures", async () => {
    using stage = new AnswerStage({ roots: ["root"] });
    await stage.start();
    await stage.publish(signedDocument(documentOf(3), "root"));
    const before = stage.running();
    await stage.act({ type: "Kill", acts: 0 }, 0);
    stage.world.machine.trust.lay([]);
    await stage.act({ type: "Database", how: "lost" }, 0);
    rmSync(join(stage.world.machine.state, "trust.json"));
    await stage.act({ type: "Start" });
    expect(stage.running()).toEqual(before);
    await stage.refuses(documentOf(4, [NEXT]), 401, /NoTrustedKey/);
    expect(stage.conditions()).toContain("TrustUnavailable");
  });

  test("with its first key: from then on nothing plain counts, and what runs goes on", async () => {
    using stage = await running();
    stage.world.machine.trust.lay(["root"]);
    await stage.refuses(documentOf(4, [NEXT]), 401, /not signed/);
    await stage.publish(signedDocument(documentOf(4, [NEXT]), "root"));
    await stage.stays({ generation: 4, signed: true, code: 200 });
  });
});

describe("the claim of a document that is signed later", () => {
  const claim = writtenObject(CLAIM, { data: {}, immutable: false });
  const resources = (pod: SimSpec): object => ({ resources: [claim, writtenPod(pod, 1)] });

  function usingClaim(spec: SimSpec): SimSpec {
    const [container] = spec.containers;
    if (container === undefined) throw new Error("it has no container");
    const reads = { ...READS_NOTHING, mounts: ["d"] };
    const { uid: _, ...rest } = spec;
    const used = {
      ...rest,
      grace: 100,
      volumes: [{ name: "d", type: "claim", claim: CLAIM } as const],
      containers: [{ ...container, program: { stopsAfterMs: 60_000 }, reads }],
    };
    return { ...used, uid: uidOfWritten(used) };
  }

  test("is given to its pod when no pod of the unsigned one can write to it any more", async () => {
    const [former, later] = [usingClaim(DB), usingClaim(WEB)];
    using stage = new AnswerStage({ specs: [former, later] });
    await stage.start();
    await stage.publish(documentOf(3, [], resources(former)));
    expect(stage.running()).toEqual([expect.stringMatching(/^db-1 /)]);
    const { claims, trust } = stage.world.machine;
    const [own, unsigned] = ["default", ".unsigned/default"].map((at) => join(claims, at, CLAIM));
    trust.lay(["root"]);
    await stage.publish(signedDocument(documentOf(4, [], resources(later)), "root"), 30_000);
    expect(stage.running()).toEqual([expect.stringMatching(/^db-1 /)]);
    expect([own, unsigned].map((path) => existsSync(path ?? ""))).toEqual([false, true]);
    expect(stage.answer?.message).toContain(
      "still used by pods of unsigned documents (default/db)",
    );
    await stage.pass(90_000);
    expect(stage.running()).toEqual([expect.stringMatching(/^web-1 /)]);
    expect([own, unsigned].map((path) => existsSync(path ?? ""))).toEqual([true, false]);
    await stage.stays({ generation: 4, signed: true, code: 200 });
  });
});

test("mqtt.requireSignature without any key: nothing counts, and the node says so", async () => {
  using stage = new AnswerStage({ mqtt: { requireSignature: true } });
  await stage.start();
  expect(stage.conditions()).toContain("TrustUnavailable");
  await stage.refuses(documentOf(4), 401, /NoTrustedKey/);
  expect(stage.running()).toEqual([]);
  stage.world.machine.trust.lay(["root"]);
  await stage.pass(2 * 60_000);
  await stage.publish(signedDocument(documentOf(4), "root"));
  await stage.stays({ generation: 4, code: 200 });
});

test("a broker that is full of junk for an hour changes nothing on a node with keys", async () => {
  using stage = await trusting();
  const before = stage.running();
  const { broker } = stage.world.machine;
  for (let round = 0; round < 60; round += 1) {
    broker.publish(TOPIC.desired, documentOf(100 + round, [DB], { epoch }));
    broker.publish(TOPIC.desired, signedDocument(documentOf(100 + round, [DB]), "stranger"));
    broker.publish(TRUST_TOPIC, `{"payloadType": ${round}, "payload": "", "signatures": []}`);
    await stage.pass(HOUR_MS / 60);
  }
  expect(stage.running()).toEqual(before);
  expect(stage.answer).toMatchObject({ generation: 3, phase: "Healthy", code: 200 });
});

test("a clock that nobody keeps in step is behind as soon as a signature proves it, until that process ends", async () => {
  using stage = await trusting();
  stage.world.machine.clockSynchronised = false;
  await stage.act({ type: "Wall", to: "1970" });
  expect(stage.conditions()).not.toContain("ClockBehind");
  // Nobody whom the node trusts has said so.
  const issuedAt = "2026-11-21T08:00:00Z";
  const word = documentOf(4, [NEXT], { epoch, issuedAt });
  await stage.publish(signedDocument(word, "stranger"));
  expect(stage.conditions()).not.toContain("ClockBehind");
  await stage.publish(signedDocument(word, "desk"));
  expect(stage.conditions()).toContain("ClockBehind");
  const said = stage.reported.status.conditions.find(({ type }) => type === "ClockBehind");
  expect(said?.message).toContain("it is 2026-11-21T08:00:00Z at least");
  // The broker gives what is retained to the next process, which has accepted it before.
  await stage.restart();
  expect(stage.conditions()).toContain("ClockBehind");
  stage.world.machine.clockSynchronised = true;
  await stage.pass(2 * HOUR_MS);
  expect(stage.conditions()).not.toContain("ClockBehind");
});
