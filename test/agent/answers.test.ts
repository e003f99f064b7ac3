// What a node answers to a document, row by row (docs/mqtt-api.md, Answers): the whole agent in a simulated world, killed
// after each answer.

import { totalChanges } from "../fakes/in-the-store.ts";
import { describe, expect, test } from "bun:test";
import {
  AnswerStage,
  DB,
  documentOf,
  LATE,
  NEXT,
  running,
  signedDocument,
  tamperedDocument,
  trusting,
  WEB,
} from "./answer-stage.ts";
import { writtenPod } from "./sim-manifest.ts";
import { GrpcCode } from "../../src/lib/grpc-code.ts";

const HOUR_MS = 3_600_000;
const SERVICE = { apiVersion: "v1", kind: "Service", metadata: { name: "web", namespace: "shop" } };

describe("a newer generation", () => {
  test("is kept before it acts, and told step by step until its pods are well", async () => {
    using stage = new AnswerStage({ latencyMs: { pullImage: 25_000, startContainer: 15_000 } });
    await stage.start();
    await stage.act({ type: "Images", there: false }, 0);
    await stage.act({ type: "Images", there: true }, 0);
    await stage.publish(documentOf(1, [LATE]), 120_000);
    const way = ["Received", "Downloading", "Applying", "Progressing", "Healthy"];
    const steps = stage.answers.map(({ phase }) => way.indexOf(phase));
    expect(steps).toEqual(steps.toSorted((a, b) => a - b));
    expect(steps.length).toBeGreaterThanOrEqual(3);
    await stage.stays({ generation: 1, observedGeneration: 1, phase: "Healthy", code: 200 });
  });

  test("that was accepted in the last moment before a kill runs, and nobody sends it again", async () => {
    using stage = await running();
    const { store } = stage.agent;
    const accept = store.documents.accept.bind(store.documents);
    store.documents.accept = (document) => {
      accept(document);
      stage.world.process.kill();
    };
    await stage.publish(documentOf(4, [DB]));
    await stage.act({ type: "Broker", how: "wiped" }, 0);
    await stage.act({ type: "Start" });
    expect(stage.running()).toEqual([expect.stringMatching(/^db-1 /)]);
    await stage.stays({ generation: 4, observedGeneration: 4, code: 200 });
  });
});

test("the same generation and digest once more changes nothing", async () => {
  using stage = await running();
  const before = stage.answer;
  const changes = totalChanges(stage.agent.store.database);
  await stage.publish(documentOf(3));
  expect(stage.answer).toEqual(before);
  expect(totalChanges(stage.agent.store.database)).toBe(changes);
  await stage.stays({ generation: 3, code: 200 });
});

test("the same generation with other content is refused with 409", async () => {
  using stage = await running();
  await stage.refuses(documentOf(3, [NEXT]), 409, /generation 3 was accepted .* generation 4/);
});

test("an older generation is refused with 410, which names the accepted one", async () => {
  using stage = await running();
  await stage.refuses(documentOf(2, [NEXT]), 410, /older than the accepted generation 3/);
});

describe("another epoch is adopted", () => {
  const adopts = async (stage: AnswerStage, payload: string | object): Promise<void> => {
    // A new incarnation of the authority counts from the beginning.
    stage.world.reports.forgetDocuments();
    await stage.publish(payload);
    await stage.stays({ epoch: "new", generation: 1, observedGeneration: 1, code: 200 });
    expect(stage.running()).toEqual([expect.stringMatching(/^web-2 /)]);
  };
  const next = (more: object): object => documentOf(1, [NEXT], { epoch: "new", ...more });

  test("by a node that has nothing yet", async () => {
    using stage = new AnswerStage({ roots: ["root"] });
    await stage.start();
    await adopts(stage, signedDocument(next({}), "root"));
  });

  test("by a node whose epoch is the empty one", async () => {
    using stage = new AnswerStage({ roots: ["root"] });
    await stage.start();
    await stage.publish(signedDocument(documentOf(3), "root"));
    await adopts(stage, signedDocument(next({}), "root"));
  });

  test("where it names its predecessor and a root key has signed that", async () => {
    using stage = new AnswerStage({ roots: ["root"] });
    await stage.start();
    await stage.publish(signedDocument(documentOf(3, [WEB], { epoch: "old" }), "root"));
    await adopts(stage, signedDocument(next({ previousEpoch: "old" }), "root"));
  });

  test("where signatures are not required", async () => {
    using stage = new AnswerStage();
    await stage.start();
    await stage.publish(documentOf(3, [WEB], { epoch: "old" }));
    await adopts(stage, next({}));
  });
});

describe("another epoch is refused with 409 EpochConflict", () => {
  test("where it names no predecessor", async () => {
    using stage = await trusting();
    const next = documentOf(9, [NEXT], { epoch: "new" });
    await stage.refuses(signedDocument(next, "desk"), 409, /EpochConflict.*agent trust reset/);
  });

  test("where no root key has signed the predecessor, or it is another", async () => {
    using stage = await trusting();
    const byDesk = documentOf(9, [NEXT], { epoch: "new", previousEpoch: "old" });
    await stage.refuses(signedDocument(byDesk, "desk"), 409, /EpochConflict/);
    const ofOther = documentOf(9, [NEXT], { epoch: "new", previousEpoch: "older" });
    await stage.refuses(signedDocument(ofOther, "desk", "root"), 409, /EpochConflict/);
  });

  test("until trust is reset", async () => {
    using stage = await trusting();
    const next = documentOf(1, [NEXT], { epoch: "new" });
    await stage.refuses(signedDocument(next, "root", "desk"), 409, /EpochConflict/);
    stage.world.reports.forgetDocuments();
    stage.agent.facts.resetTrust();
    await stage.pass(HOUR_MS);
    await stage.stays({ epoch: "new", generation: 1, code: 200 });
  });
});

describe("what is no document is refused with 400", () => {
  test("not parseable", async () => {
    using stage = await running();
    await stage.refuses("{ apiVersion: agent/v1, kind: Desi", 400, /line 1/);
  });

  test("of another kind", async () => {
    using stage = await running();
    await stage.refuses({ ...documentOf(4), kind: "Desired" }, 400, /kind/);
  });

  test("with resources that are wrong: each error with its document, object and path", async () => {
    using stage = await running();
    const spec = { containers: [{ name: "x", image: "local/busybox:1", imagePullPolicy: "Now" }] };
    const broken = { apiVersion: "v1", kind: "Pod", metadata: { name: "bad" }, spec };
    const data = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "conf" }, data: 3 };
    const resources = [writtenPod(NEXT, 1), broken, data];
    await stage.refuses(
      { ...documentOf(4), resources },
      400,
      /Pod default\/bad: .*imagePullPolicy/,
    );
    const listed = stage.reported.rejected.map(({ source, kind, name, path }) => ({
      source,
      kind,
      name,
      path,
    }));
    const bad = { source: "node", kind: "Pod", name: "bad" };
    expect(listed).toEqual([
      { ...bad, path: "spec.containers[0].imagePullPolicy" },
      { source: "node", kind: "ConfigMap", name: "conf", path: "data" },
    ]);
  });
});

test("a kind that one node does not run is listed, also after a restart, and the rest runs", async () => {
  using stage = await running();
  const deployment = { ...SERVICE, apiVersion: "apps/v1", kind: "ReplicaSet" };
  const resources = [SERVICE, writtenPod(NEXT, 1), deployment];
  await stage.publish({ ...documentOf(4), resources });
  const at = { source: "node", namespace: "shop", name: "web", code: "Ignored", path: "kind" };
  const expected = [
    { ...at, kind: "Service", message: expect.stringContaining("use hostPort") as string },
    { ...at, kind: "ReplicaSet", message: expect.stringContaining("as a Deployment") as string },
  ];
  expect(stage.reported.rejected).toMatchObject(expected);
  expect(stage.running()).toEqual([expect.stringMatching(/^web-2 /)]);
  await stage.stays({ generation: 4, observedGeneration: 4, phase: "Healthy", code: 200 });
  expect(stage.reported.rejected).toMatchObject(expected);
});

describe("what nobody vouches for is refused with 401", () => {
  const next = documentOf(4, [NEXT], { epoch: "old" });

  test.each([
    ["unsigned", next, /not signed/],
    ["signed by a key that nobody knows", signedDocument(next, "stranger"), /key/],
    ["with a signature of something else", tamperedDocument(next), /./],
    ["signed by a key that may sign commands only", signedDocument(next, "herald"), /desired/],
    ["signed by a key of other nodes", signedDocument(next, "elsewhere"), /sim-1/],
    ["signed by a root key, which signs bundles now", signedDocument(next, "root"), /./],
    ["whose envelope is broken", signedDocument(next, "desk").replace('"sig":"', '"sig":"!'), /./],
  ])("%s", async (_, payload, words) => {
    using stage = await trusting();
    await stage.refuses(payload, 401, words);
  });
});

describe("what is not for this node is refused with 403", () => {
  const next = documentOf(4, [NEXT], { epoch: "old" });

  test.each([
    ["another node's", { node: "sim-2" }, /target\.node.*sim-2/],
    ["a group's", { group: "kiosks" }, /target\.group/],
    ["another fleet's", { node: "sim-1", fleet: "south" }, /target\.fleet.*south/],
    ["nobody's", {}, /target/],
  ])("signed: %s", async (_, target, words) => {
    using stage = await trusting();
    await stage.refuses(signedDocument({ ...next, target }, "desk"), 403, words);
  });

  test("unsigned: another node's", async () => {
    using stage = await running();
    await stage.refuses({ ...documentOf(4), target: { node: "sim-2" } }, 403, /sim-2/);
  });

  test("a pod that may not have what it asks for, with the path and the remedy", async () => {
    using stage = await running();
    const spec = { hostNetwork: true, containers: [{ name: "x", image: "local/busybox:1" }] };
    const bad = { apiVersion: "v1", kind: "Pod", metadata: { name: "bad" }, spec };
    const document = { ...documentOf(4), resources: [writtenPod(NEXT, 1), bad] };
    await stage.refuses(document, 403, /Pod default\/bad: spec\.hostNetwork: .*hostPort/);
  });
});

describe("a document that has expired when it arrives", () => {
  const past = { expiresAt: "2026-11-21T07:59:00Z" };

  test("is refused with 408", async () => {
    using stage = await running();
    await stage.refuses(documentOf(4, [NEXT], past), 408, /expired at 2026-11-21T07:59/);
  });

  test("counts on a node that does not trust its clock", async () => {
    using stage = await running();
    stage.world.machine.clockSynchronised = false;
    await stage.publish(documentOf(4, [NEXT], past));
    await stage.stays({ generation: 4, code: 200 });
    expect(stage.reported.clockTrusted).toBe(false);
  });

  test("stops nothing where it expires later", async () => {
    using stage = await running();
    await stage.publish(documentOf(4, [NEXT], { expiresAt: "2026-11-21T09:00:00Z" }));
    expect(stage.conditions()).not.toContain("DesiredStale");
    await stage.pass(2 * HOUR_MS);
    await stage.stays({ generation: 4, code: 200 });
    expect(stage.conditions()).toContain("DesiredStale");
  });
});

test.each([
  ["another agent", { requires: { agent: ">=99.0" } }, /requires\.agent.*>=99/],
  ["another machine", { requires: { arch: ["s390x"] } }, /requires\.arch.*s390x/],
  ["a feature", { requires: { features: ["levitation"] } }, /requires\.features.*levitation/],
  ["a newer document beside it", { requires: { documents: { "group/kiosks": 2 } } }, /documents/],
  ["a staged rollout", { policy: { staged: true } }, /policy\.staged/],
  ["content elsewhere", { resources: [{ ref: { sha256: "9b", size: 1 } }] }, /resources\[0\]\.ref/],
])("412: a document that demands %s, which is not there", async (_, more, words) => {
  using stage = await running();
  await stage.refuses(documentOf(4, [NEXT], more), 412, words);
});

test("401: an unsigned document with sealed Secrets", async () => {
  using stage = await running();
  const spec = { content: "YWJj", keys: [{ keyid: "0123456789abcdef", wrapped: "YWJj" }] };
  const metadata = { name: "login" };
  const sealed = [{ apiVersion: "agent/v1", kind: "SealedSecret", metadata, spec }];
  await stage.refuses(documentOf(4, [NEXT], { sealed }), 401, /^sealed: an unsigned document/);
});

test("401: an unsigned document that changes the version of the agent", async () => {
  using stage = await running();
  const agent = { version: "2" };
  await stage.refuses(documentOf(4, [NEXT], { agent }), 401, /sign the document/);
});

test("413: a document that is too large", async () => {
  using stage = await running();
  const labels = { text: "x".repeat(48 * 1024) };
  await stage.refuses(documentOf(4, [NEXT], { labels }), 413, /at most 49152/);
});

describe("what asks for nothing is refused with 417", () => {
  test("an empty list that does not say that it is meant", async () => {
    using stage = await running();
    await stage.refuses(documentOf(4, []), 417, /allowEmpty: true/);
  });

  test("nothing but kinds that one node does not run", async () => {
    using stage = await running();
    await stage.refuses(
      { ...documentOf(4), resources: [SERVICE] },
      417,
      /Service shop\/web: .*hostPort/,
    );
  });

  test("an empty payload: nothing is deleted, and nothing is retained that could be refused again", async () => {
    using stage = await running();
    const before = stage.running();
    await stage.publish("");
    expect(stage.answer).toMatchObject({ generation: 3, code: 200, lastRejected: { code: 417 } });
    await stage.restart();
    expect(stage.answer).toMatchObject({ generation: 3, code: 200 });
    expect(stage.running()).toEqual(before);
  });

  test("but where it says so, everything goes", async () => {
    using stage = await running();
    await stage.publish(documentOf(4, [], { allowEmpty: true }));
    await stage.stays({ generation: 4, code: 200 });
    expect(stage.running()).toEqual([]);
  });
});

describe("what the disk does not take", () => {
  test("507 while there is no space, and accepted as soon as there is some, also by the next process", async () => {
    using stage = await running();
    await stage.act({ type: "Disk", failures: 1 }, 0);
    await stage.publish(documentOf(4, [NEXT]), 15_000);
    expect(stage.answer).toMatchObject({ generation: 3, code: 200, lastRejected: { code: 507 } });
    expect(stage.running()).toEqual([expect.stringMatching(/^web-1 /)]);
    await stage.restart();
    await stage.stays({ generation: 4, code: 200 });
    expect(stage.running()).toEqual([expect.stringMatching(/^web-2 /)]);
  });

  test("500 for any other trouble, and it is tried again by itself", async () => {
    using stage = await running();
    const { documents } = stage.agent.store;
    const accept = documents.accept.bind(documents);
    documents.accept = () => {
      throw new Error("the disk answers nonsense");
    };
    await stage.publish(documentOf(4, [NEXT]), 15_000);
    expect(stage.answer).toMatchObject({ generation: 3, code: 200, lastRejected: { code: 500 } });
    expect(stage.answer?.lastRejected?.message).toContain("answers nonsense");
    documents.accept = accept;
    await stage.pass(60_000);
    expect(stage.answer?.lastRejected).toBeUndefined();
    await stage.stays({ generation: 4, code: 200 });
  });
});

test("202 Downloading while the registry does not answer, however long, and well as soon as it does", async () => {
  using stage = new AnswerStage();
  await stage.start();
  const { runtime } = stage.world.machine;
  const details = "dial tcp 192.0.2.9:443: i/o timeout";
  await stage.act({ type: "Images", there: false }, 0);
  await stage.act({ type: "Images", there: true }, 0);
  const fault = { type: "fail", code: GrpcCode.UNKNOWN, details } as const;
  runtime.faults.order("pullImage", fault, { times: Number.POSITIVE_INFINITY });
  await stage.publish(documentOf(1, [LATE]), 2 * HOUR_MS);
  expect(stage.answer).toMatchObject({ generation: 1, phase: "Downloading", code: 202 });
  const pulls = runtime.calls.filter(({ call }) => call === "pullImage").length;
  expect(pulls).toBeGreaterThan(2 * 10);
  await stage.restart();
  expect(stage.answer).toMatchObject({ generation: 1, phase: "Downloading", code: 202 });
  runtime.faults.clear("pullImage");
  await stage.pass(6 * 60_000);
  await stage.stays({ generation: 1, observedGeneration: 1, phase: "Healthy", code: 200 });
}, 30_000);

test("junk in between hides nothing, and is forgotten with the next good document", async () => {
  using stage = await running();
  for (let generation = 4; generation < 30; generation += 1)
    await stage.publish({ ...documentOf(generation), kind: "Junk" }, 0);
  await stage.pass(20_000);
  expect(stage.answer).toMatchObject({ generation: 3, phase: "Healthy", code: 200 });
  await stage.publish(documentOf(4, [NEXT]));
  expect(stage.answer?.lastRejected).toBeUndefined();
  await stage.stays({ generation: 4, code: 200 });
});

test("401, 412 and 400: settings of an unsigned document, on an agent that cannot try them, and others than those of the connection", async () => {
  using unsigned = await running();
  const config = { mqtt: { keepAliveSeconds: 30 } };
  await unsigned.refuses(documentOf(4, [WEB], { config }), 401, /^config: an unsigned document/);
  using stage = await trusting();
  const signed = (more: object): string =>
    signedDocument(documentOf(4, [WEB], { epoch: "old", ...more }), "desk");
  await stage.refuses(signed({ config }), 412, /this agent cannot try settings/);
  await stage.refuses(
    signed({ config: { logLevel: "debug" } }),
    400,
    /config\.logLevel: no document/,
  );
});
