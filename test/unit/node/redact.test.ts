import { expect, test } from "bun:test";

import { Redactor, redact } from "../../../src/node/redact.ts";
import type { Secret } from "../../../src/api/v1/object/secret.ts";
import type { ContainerStatus, PodStatus } from "../../../src/api/v1/pod-status.ts";

const SECRETS = new Set(["hunter2", "hunter2-long"]);

function aSecret(...values: readonly string[]): Secret {
  const data = Object.fromEntries(
    values.map((value) => [value, new TextEncoder().encode(value)] as const),
  );
  const metadata = { name: "s", namespace: "default", labels: {}, annotations: {} };
  return { kind: "Secret", metadata, type: "Opaque", data, immutable: false };
}

test("hides every secret, the longest first", () => {
  expect(redact("a hunter2-long b hunter2 c hunter2", SECRETS)).toBe(
    "a <hidden> b <hidden> c <hidden>",
  );
});

function said(message: string): ContainerStatus {
  return {
    name: "hunter2",
    image: "local/busybox:1",
    imageID: "",
    ready: false,
    started: false,
    restartCount: 0,
    state: { terminated: { exitCode: 1, reason: "Error", message } },
    lastState: { waiting: { reason: "CrashLoopBackOff", message } },
  } as ContainerStatus;
}

test("in every message of a status, and in nothing else", () => {
  const status = {
    phase: "Failed",
    message: "pod: hunter2",
    reason: "hunter2",
    conditions: [{ type: "Ready", status: "False", message: "condition: hunter2" }],
    initContainerStatuses: [said("init: hunter2")],
    containerStatuses: [said("app: hunter2")],
  } as unknown as PodStatus;
  const redactor = new Redactor();
  expect(redactor.forStatuses()(status)).toBe(status);
  const secrets = [aSecret("hunter2", "hunter2-long")];
  redactor.follow({ objects: () => secrets, pods: () => [] });
  const told = redactor.forStatuses()(status);
  const messages = JSON.stringify(told).match(/"message":"[^"]*"/g) ?? [];
  expect(messages).toHaveLength(6);
  for (const message of messages) expect(message).toContain("<hidden>");
  expect(told.reason).toBe("hunter2");
  expect(told.containerStatuses[0]?.name).toBe("hunter2");
  expect(redactor.forStatuses()(status)).toBe(told);
});

test("what was a Secret before is still hidden, the latest three hundred", () => {
  const redactor = new Redactor();
  const withSecrets = (...values: readonly string[]): ReadonlySet<string> => {
    const secret = aSecret(...values);
    redactor.follow({ objects: () => [secret], pods: () => [] });
    return redactor.secrets();
  };
  withSecrets("first-value");
  withSecrets("other-value");
  expect(redactor.redact("was first-value, is other-value")).toBe("was <hidden>, is <hidden>");
  // Each value is remembered as text and in base64.
  for (let value = 0; value < 150; value += 1) withSecrets(`value-${value}-value`);
  expect(withSecrets().has("first-value")).toBe(false);
  expect(withSecrets().size).toBe(300);
});

test("a status is redacted with the secrets of this moment, and only once with the same ones", () => {
  const redactor = new Redactor();
  let secrets = [aSecret("hunter2")];
  redactor.follow({ objects: () => secrets, pods: () => [] });
  const status = { message: "hunter2 other-value" } as PodStatus;
  const before = redactor.forStatuses()(status);
  expect(before.message).toBe("<hidden> other-value");
  expect(redactor.forStatuses()(status)).toBe(before);
  secrets = [...secrets, aSecret("other-value")];
  expect(redactor.forStatuses()(status).message).toBe("<hidden> <hidden>");
  expect(redactor.redact("other-value")).toBe("<hidden>");
});
