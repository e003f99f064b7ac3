import { describe, expect, test } from "bun:test";

import { decodeAccepted } from "../../../../src/source/document/decode-accepted.ts";
import { sha256 } from "../../api/digest.ts";
import { ADDRESS, aWrittenPod, judge, storedFrom, written } from "../desired-arrival.ts";

const restore = (text: string) => decodeAccepted(storedFrom(text), ADDRESS, { sha256 });

describe("decodeAccepted", () => {
  test("gives exactly the document that was accepted", () => {
    const text = written({
      policy: { minReadySeconds: 3 },
      resources: [aWrittenPod("a"), aWrittenPod("b", { restartPolicy: "Never" })],
    });
    const verdict = judge(text);
    if (verdict.type !== "Accepted") throw new Error(verdict.type);
    expect(decodeAccepted(verdict.accepted, ADDRESS, { sha256 })).toEqual({
      document: verdict.document,
      rejected: [],
      intact: true,
    });
  });

  test("marks document and pods as signed, without a key", () => {
    const stored = storedFrom(written(), { signed: true });
    const { document } = decodeAccepted(stored, ADDRESS, { sha256 });
    expect(document).toMatchObject({ signed: true, pods: [{ signed: true }] });
    const plain = restore(written()).document;
    expect([plain.signed, plain.pods[0]?.signed]).toEqual([undefined, undefined]);
  });

  test("gives the same UIDs for text that YAML reads as a boolean, and that was accepted as text", () => {
    const text = (value: string) => `
apiVersion: agent/v1
kind: DesiredState
generation: 7
resources:
  - apiVersion: v1
    kind: Pod
    metadata: {name: web}
    spec: {containers: [{name: a, image: "local/busybox:1", env: [{name: COLOUR, value: ${value}}]}]}
`;
    expect(judge(text("yes"))).toMatchObject({ type: "Refused", code: 400 });
    const verdict = judge(text('"yes"'));
    if (verdict.type !== "Accepted") throw new Error(verdict.type);
    expect(restore(text("yes")).document.pods).toEqual(verdict.document.pods);
  });

  test("does not judge again: target, requirements, expiry, policy and pod policy of another agent count for nothing", () => {
    const { document, rejected, intact } = restore(
      written({
        target: { node: "another" },
        requires: { agent: ">=99" },
        expiresAt: "2000-01-01T00:00:00Z",
        policy: { staged: true, minReadySeconds: "soon" },
        sealed: {},
        resources: [aWrittenPod("web", { hostNetwork: true })],
      }),
    );
    expect(rejected).toEqual([]);
    expect(intact).toBe(true);
    expect(document.policy.minReadySeconds).toBe(10);
    expect(document.pods.map(({ pod }) => pod.metadata.name)).toEqual(["web"]);
  });

  test("lists again what means nothing on one node, and is whole all the same", () => {
    const service = { apiVersion: "v1", kind: "Service", metadata: { name: "web" } };
    const text = written({ resources: [aWrittenPod("web"), service] });
    const verdict = judge(text);
    const { rejected, intact } = restore(text);
    expect(intact).toBe(true);
    expect(rejected).toMatchObject([{ code: "Ignored", kind: "Service", name: "web" }]);
    expect(verdict).toMatchObject({ type: "Accepted", notices: [{ kind: "Service" }] });
  });

  test("gives its Services, signed as the document is", () => {
    const service = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { selector: { app: "web" } },
    };
    const text = written({ resources: [aWrittenPod("web"), service] });
    const verdict = judge(text);
    if (verdict.type !== "Accepted") throw new Error(verdict.type);
    const { document } = restore(text);
    expect(document.services).toMatchObject([{ name: "web", selector: { app: "web" } }]);
    expect(document).toEqual(verdict.document);
    expect(document.services?.[0]?.signed).toBeUndefined();
    const signed = decodeAccepted(storedFrom(text, { signed: true }), ADDRESS, { sha256 });
    expect(signed.document.services).toMatchObject([{ signed: true }]);
  });

  test("passes over fields that would be refused today", () => {
    const text = written({ resources: [aWrittenPod("web", { fieldOfAnotherAgent: true })] });
    expect(judge(text)).toMatchObject({ type: "Refused", code: 400 });
    const { document, intact } = restore(text);
    expect(intact).toBe(true);
    expect(document.pods.map(({ pod }) => pod.metadata.name)).toEqual(["web"]);
  });

  test("keeps a pod it cannot read out, visible, and does not take the rest for the whole truth", () => {
    const { document, rejected, intact } = restore(
      written({ resources: [aWrittenPod("good"), aWrittenPod("bad", { containers: [] })] }),
    );
    expect(document.pods.map(({ pod }) => pod.metadata.name)).toEqual(["good"]);
    expect(rejected).toMatchObject([{ source: "mqtt:node", ref: ADDRESS.ref, name: "bad" }]);
    expect(intact).toBe(false);
  });

  test.each(["", "{", "[]", "{}", '{"resources": 5}'])(
    "a checkpoint of %j declares nothing and removes nothing",
    (text) => {
      const { document, rejected, intact } = restore(text);
      expect(document).toMatchObject({ generation: 7, pods: [] });
      expect(rejected.length).toBeGreaterThan(0);
      expect(intact).toBe(false);
    },
  );
});
