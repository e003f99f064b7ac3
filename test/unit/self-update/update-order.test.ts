import { describe, expect, test } from "bun:test";

import { DEFAULT_POLICY } from "../../../src/api/pod/update-policy.ts";
import {
  judgeOrder,
  mayUpdateNow,
  orderOfDocument,
  shownSource,
  updateOfDocuments,
} from "../../../src/self-update/update-order.ts";
import {
  readOutcome,
  updateConditions,
  writeOutcome,
} from "../../../src/self-update/self-update-view.ts";

const FAILURE = { sha256: "bad", name: "2-bad", reason: "it crashes" };
const NODE = { version: "1", failures: [FAILURE] };

describe("an order", () => {
  test("of the version that runs is done", () => {
    expect(judgeOrder({ version: "1", sha256: "x", retry: true }, NODE).type).toBe("Running");
  });

  test("of a binary that has failed is not tried again", () => {
    expect(judgeOrder({ version: "2", sha256: "bad", retry: false }, NODE)).toEqual({
      type: "Failed",
      failure: FAILURE,
    });
  });

  test("of a binary that has failed is tried again when that is asked for", () => {
    expect(judgeOrder({ version: "2", sha256: "bad", retry: true }, NODE)).toEqual({ type: "Go" });
  });

  test("goes, also of an unknown version and digest", () => {
    expect(judgeOrder({ version: "2", sha256: "good", retry: false }, NODE).type).toBe("Go");
    expect(judgeOrder({ retry: false }, NODE).type).toBe("Go");
  });
});

describe("of the documents", () => {
  const artifacts = { "linux-x64": { url: "http://h/a", sha256: "d", size: 3 } };
  const document = (version: string | undefined, signed: boolean) => ({
    document: {
      source: "mqtt:node" as const,
      epoch: "",
      generation: 1,
      digest: "",
      policy: DEFAULT_POLICY,
      pods: [],
      written: new Map(),
      objects: [],
      signed,
      ...(version === undefined ? {} : { agent: { version, artifacts } }),
    },
  });

  test("the first that is signed and names a version counts", () => {
    const states = [
      { document: undefined },
      document(undefined, true),
      document("unsigned", false),
      document("2", true),
      document("3", true),
    ];
    expect(updateOfDocuments(states)?.version).toBe("2");
    expect(updateOfDocuments(states.slice(0, 3))).toBeUndefined();
  });

  test("the binary of the node's platform is ordered, signed and never as a retry", () => {
    expect(orderOfDocument({ version: "2", artifacts }, "linux-arm64")).toBeUndefined();
    expect(orderOfDocument({ version: "2", artifacts }, "linux-x64")).toEqual({
      origin: "Document",
      source: "http://h/a",
      version: "2",
      sha256: "d",
      size: 3,
      retry: false,
      allowUnsigned: false,
    });
  });
});

test("a node that shuts down is not updated", () => {
  const moment = { origin: "Document", isShuttingDown: true, window: { type: "Free" } } as const;
  expect(mayUpdateNow("Switch", moment)).toContain("shutting down");
  expect(mayUpdateNow("Switch", { ...moment, isShuttingDown: false })).toBeUndefined();
});

test("outside of its window an update by document waits for either step, and one by an operator does not", () => {
  const window = { type: "Closed", opensAt: Date.UTC(2026, 10, 22, 2) } as const;
  const moment = { isShuttingDown: false, window };
  expect(mayUpdateNow("Download", { ...moment, origin: "Document" })).toBe(
    "the download waits for its maintenance window, which opens at 2026-11-22T02:00:00Z",
  );
  expect(mayUpdateNow("Switch", { ...moment, origin: "Document" })).toStartWith("the update waits");
  expect(mayUpdateNow("Switch", { ...moment, origin: "Operator" })).toBeUndefined();
});

test("what may be a password is not shown", () => {
  expect(shownSource("https://h/a/b?token=secret#x")).toBe("https://h/a/b");
  expect(shownSource("/root/agent")).toBe("/root/agent");
});

test.each([
  { result: "Updated", version: "2", message: "done" },
  { result: "Failed", reason: "KnownBad", message: "a sentence; another one" },
] as const)("an outcome is read as it was written: %j", (outcome) => {
  expect(readOutcome(writeOutcome(outcome))).toEqual(outcome);
});

test.each([undefined, "", "Other\n\n\nx"])("an outcome that cannot be read is none: %j", (text) => {
  expect(readOutcome(text)).toBeUndefined();
});

test("conditions tell what is under way, else how the last update failed", () => {
  const last = { result: "Failed", reason: "WentBack", message: "it crashes" } as const;
  const update = { version: "2", source: "x", bytes: 5 };
  expect(updateConditions({ phase: "Idle" })).toEqual([]);
  expect(updateConditions({ phase: "Idle", last: { ...last, result: "Updated" } })).toEqual([]);
  expect(updateConditions({ phase: "Downloading", update, last })).toEqual([
    {
      type: "AgentUpdating",
      status: "True",
      reason: "Downloading",
      message: "the agent is updated to version 2",
    },
  ]);
  expect(updateConditions({ phase: "Idle", last })).toEqual([
    { type: "AgentUpdateFailed", status: "True", reason: "WentBack", message: "it crashes" },
  ]);
});
