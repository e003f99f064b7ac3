import { describe, expect, test } from "bun:test";

import { judgeAgentUpdate } from "../../../../src/source/document/agent-update.ts";
import { judge, written } from "../desired-arrival.ts";

const artifacts = {
  "linux-arm64": { url: "https://h/agent", sha256: "a".repeat(64), size: 5 },
};
/** Typed: the library's own is `any`. */
function containing(text: string): unknown {
  return expect.stringContaining(text);
}

const FACTS = { agentVersion: "1.0.0", arch: "arm64", features: new Set(["agent-update"]) };
const agent = { version: "2.0.0", artifacts };

describe("an update of the agent in a document", () => {
  test("is accepted if the document is signed, the node can go back, and its binary is there", () => {
    expect(judgeAgentUpdate({ agent }, FACTS, true)).toBeUndefined();
    expect(judgeAgentUpdate({}, { ...FACTS, features: new Set() }, false)).toBeUndefined();
  });

  test("is accepted by every node that runs that version already", () => {
    const facts = { agentVersion: "2.0.0", arch: "riscv64", features: new Set<string>() };
    expect(judgeAgentUpdate({ agent }, facts, true)).toBeUndefined();
  });

  test("is refused if the document is not signed", () => {
    expect(judgeAgentUpdate({ agent }, FACTS, false)).toMatchObject({ code: 401 });
    const payload = written({ agent });
    expect(judge(payload)).toMatchObject({
      type: "Refused",
      code: 401,
      message: containing("sign the document"),
    });
  });

  test("is refused by a node that the launcher has not started", () => {
    expect(judgeAgentUpdate({ agent }, { ...FACTS, features: new Set() }, true)).toMatchObject({
      code: 412,
      message: containing("agent install"),
    });
  });

  test("is refused without a binary for the node", () => {
    expect(judgeAgentUpdate({ agent }, { ...FACTS, arch: "amd64" }, true)).toMatchObject({
      code: 412,
      message: containing("no binary for linux-x64"),
    });
  });

  test.each([
    ["version", { ...agent, version: "../x" }],
    ["url", { ...agent, artifacts: { "linux-arm64": { ...artifacts["linux-arm64"], url: "x" } } }],
    [
      "sha256",
      { ...agent, artifacts: { "linux-arm64": { ...artifacts["linux-arm64"], sha256: "x" } } },
    ],
    ["size", { ...agent, artifacts: { "linux-arm64": { ...artifacts["linux-arm64"], size: 0 } } }],
  ])("is refused with a wrong %s", (field, wrong) => {
    expect(judge(written({ agent: wrong }))).toMatchObject({
      code: 400,
      message: containing(field),
    });
  });
});
