import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readRetained } from "../../../src/fleet/document/retained-document.ts";
import { readAnswer } from "../../../src/fleet/command-answer.ts";
import { readEvents, readReport, readState, readSummary } from "../../../src/fleet/node-report.ts";
import { payloadTypeOf, writeSignedEnvelope } from "../../../src/protocol/dsse.ts";

const bytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
const sha256 = (data: string | Uint8Array): string =>
  new Bun.CryptoHasher("sha256").update(data).digest("hex");

describe("what nodes publish", () => {
  test("is read whatever it is, and never throws", () => {
    const anything = fc.oneof(
      fc.jsonValue().map(bytes),
      fc.uint8Array(),
      fc
        .record({
          kind: fc.constant("ReportedState"),
          desired: fc.array(fc.jsonValue()),
          pods: fc.jsonValue(),
          status: fc.jsonValue(),
        })
        .map(bytes),
    );
    fc.assert(
      fc.property(anything, (payload) => {
        readState(payload);
        readReport(payload);
        readSummary(payload);
        readEvents(payload);
        readAnswer(payload);
        readRetained(payload, sha256);
      }),
    );
  });

  test("counts only what has the right shape", () => {
    const report = readReport(
      bytes({
        kind: "ReportedState",
        desired: [{ source: 7, generation: -1, code: "200" }, 5],
        pods: [null],
      }),
    );
    expect(report?.desired).toMatchObject([{ source: "", generation: 0, code: 0, signed: false }]);
    expect(report?.pods).toEqual([]);
    expect(readReport(bytes({ kind: "Else" }))).toBeUndefined();
  });
});

test("a summary has what a row of the status shows, and no details", () => {
  const payload = bytes({
    kind: "ReportedState",
    time: "2026-11-21T08:00:00Z",
    clockTrusted: true,
    desired: [{ source: "node", generation: 3, code: 200, phase: "Healthy" }],
    pods: [{ namespace: "default", name: "web" }],
    labels: { site: "north" },
    status: {
      conditions: [{ type: "Ready", status: "False" }],
      nodeInfo: { architecture: "arm64" },
    },
  });
  const { time, clockTrusted, desired, ready } = readReport(payload) ?? {};
  expect(readSummary(payload)).toMatchObject({ time, clockTrusted, desired, ready });
  expect(readSummary(payload)).toMatchObject({
    pods: [],
    labels: {},
    conditions: [],
    nodeInfo: {},
  });
});

describe("the retained document", () => {
  const document = {
    kind: "DesiredState",
    epoch: "e1",
    generation: 4,
    resources: [{ kind: "Pod" }],
  };

  test("has the digest that nodes report, plain or signed", () => {
    const payload = bytes(document);
    const digest = `sha256:${sha256(payload)}`;
    expect(readRetained(payload, sha256)).toMatchObject({ generation: 4, digest, keyids: [] });
    const signature = { keyid: "0123456789abcdef", sig: new Uint8Array(64) };
    const envelope = writeSignedEnvelope({
      payloadType: payloadTypeOf("desired"),
      payload,
      signatures: [signature],
    });
    expect(readRetained(new TextEncoder().encode(envelope), sha256)).toMatchObject({
      epoch: "e1",
      generation: 4,
      digest,
      keyids: ["0123456789abcdef"],
      resources: [{ kind: "Pod" }],
    });
  });

  test("may be YAML", () => {
    expect(readRetained(new TextEncoder().encode("generation: 3\n"), sha256)).toMatchObject({
      generation: 3,
    });
  });

  test.each([[""], ["[]"], ["{broken"], ['{"payloadType": 1, "payload": 2}']])(
    "is none: %s",
    (text) => {
      expect(readRetained(new TextEncoder().encode(text), sha256)).toBeUndefined();
    },
  );
});

describe("an answer", () => {
  test.each([
    [{ phase: "running", code: 202 }, false],
    [{ phase: "accepted", code: 202, last: true }, false],
    [{ phase: "done", code: 200 }, true],
    [{ phase: "done", code: 200, part: 0 }, false],
    [{ phase: "done", code: 200, part: 3, last: true }, true],
    [{ phase: "expired", code: 408 }, true],
  ])("%j is the last one: %p", (fields, isLast) => {
    expect(readAnswer(bytes({ id: "x", ...fields }))).toMatchObject({ isLast });
  });

  test("without an id belongs to no command", () => {
    expect(readAnswer(bytes({ phase: "done" }))).toBeUndefined();
  });
});
