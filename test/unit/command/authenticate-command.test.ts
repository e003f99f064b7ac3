import { describe, expect, test } from "bun:test";
import { aCommand, GROUP_TOPIC, signed, verdict } from "../upstream/a-command.ts";
import type { CommandTrust } from "../../../src/command/authenticate-command.ts";
import { MAX_COMMAND_BYTES } from "../../../src/command/judge-command.ts";

describe("once signatures are required", () => {
  const facts = { signaturesRequired: () => true };

  test("unsigned commands are ping and get, and they return no more than the reports contain", () => {
    expect(verdict(aCommand(), facts)).toBe("run, status only");
    expect(verdict(aCommand({ verb: "get" }), facts)).toBe("run, status only");
    for (const verb of ["describe", "explain", "logs", "restart", "pull", "hold"])
      expect(verdict(aCommand({ verb }), facts)).toBe("denied 401 verb");
  });

  test("a signed one is obeyed in the session it was made for", () => {
    expect(verdict(signed(aCommand({ verb: "restart", session: 7 })), facts)).toBe("run");
  });

  test("an invalid signature is 401, whatever the payload contains", () => {
    const distrust = { ...facts, verify: () => "unknown key" };
    expect(verdict(signed(aCommand({ session: 7 })), distrust)).toBe("denied 401");
    expect(verdict(signed(aCommand({ verb: "exec" })), distrust)).toBe("denied 401");
    expect(verdict(signed(aCommand({ target: { node: "pi-2" } })), distrust)).toBe("denied 401");
    expect(verdict(signed("no object"), distrust)).toBe("ignored");
  });

  test("a repetition is not reported to a sender who is not authorised", () => {
    const repeated = { ...facts, codeOf: () => 200 };
    expect(verdict(aCommand({ verb: "restart" }), repeated)).toBe("denied 401 verb");
  });
});

test("the disk is not asked whether signatures count for a command without a response", () => {
  let looks = 0;
  const signaturesRequired = (): boolean => (looks += 1) > 0;
  const large = `{"id":"${"x".repeat(MAX_COMMAND_BYTES)}"}`;
  expect(verdict(aCommand(), { signaturesRequired }, { retain: true })).toBe("ignored");
  expect(verdict(large, { signaturesRequired })).toBe("ignored");
  expect(verdict("{", { signaturesRequired })).toBe("ignored");
  expect(verdict({ verb: "ping" }, { signaturesRequired })).toBe("ignored");
  expect(looks).toBe(0);
  expect(verdict(aCommand(), { signaturesRequired })).toBe("run, status only");
  expect(looks).toBe(1);
});

test("the signature is asked for the topic's group", () => {
  const asked: unknown[] = [];
  const verify: CommandTrust["verify"] = (_, group) => void asked.push(group);
  verdict(signed(aCommand({ session: 7 })), { verify });
  verdict(signed(aCommand({ target: { group: "kiosks" } })), { verify }, { topic: GROUP_TOPIC });
  expect(asked).toEqual([undefined, "kiosks"]);
});
