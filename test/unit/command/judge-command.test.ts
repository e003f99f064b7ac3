import { describe, expect, test } from "bun:test";
import {
  aCommand,
  arriving,
  GROUP_TOPIC,
  OWN,
  signed,
  someFacts,
  ulid,
  verdict,
} from "../upstream/a-command.ts";
import type { CommandMessage } from "../../../src/command/authenticate-command.ts";
import { judgeCommand, MAX_COMMAND_BYTES } from "../../../src/command/judge-command.ts";

const at = (iso: string): { issuedAt: string } => ({ issuedAt: iso });

const inGroup = { topic: GROUP_TOPIC };
const kiosks = { target: { group: "kiosks" } };

describe("commands without a response", () => {
  test.each([
    ["no JSON", "{", {}],
    ["a list", [], {}],
    ["no id", { verb: "ping" }, {}],
    ["an id that is no ULID", aCommand({ id: "1" }), {}],
    ["an id with letters a ULID does not have", aCommand({ id: `${ulid(1).slice(1)}U` }), {}],
    ["a retained command", aCommand(), { retain: true }],
    ["a command too large", `{"id":"${"x".repeat(MAX_COMMAND_BYTES)}"}`, {}],
    ["correlation data too long", aCommand(), { correlationData: new Uint8Array(257) }],
    ["an envelope that cannot be read", { payloadType: "x", payload: "!" }, {}],
  ])("%s", (_, value, more) => {
    expect(verdict(value, {}, more)).toBe("ignored");
  });

  test("but not correlation data of a usual length", () => {
    expect(verdict(aCommand(), {}, { correlationData: new Uint8Array(256) })).toBe("run");
  });

  test("an empty message", () => {
    expect(verdict("")).toBe("ignored");
  });
});

describe("a command that cannot be read", () => {
  test.each([
    [{ verb: "reformat" }, "failed 400 verb"],
    [{ verb: 7 }, "failed 400 verb"],
    [{ verb: "constructor" }, "failed 400 verb"],
    [{ verb: "reboot" }, "denied 501 verb"],
    [{ target: "pi-1" }, "failed 400 target"],
    [{ target: { nodes: "pi-1" } }, "failed 400 target.nodes"],
    [{ target: { node: 1 } }, "failed 400 target.node"],
    [{ session: "7" }, "failed 400 session"],
    [{ session: -1 }, "failed 400 session"],
    [{ args: [] }, "failed 400 args"],
    [{ issuedAt: "yesterday" }, "failed 400 issuedAt"],
    [{ issuedAt: 5 }, "failed 400 issuedAt"],
    [{ ttl: 0 }, "failed 400 ttl"],
    [{ ttl: 86_401 }, "failed 400 ttl"],
    [{ ttl: 1.5 }, "failed 400 ttl"],
    [{ replyTo: "a/+" }, "failed 400 replyTo"],
    [{ replyTo: "x".repeat(257) }, "failed 400 replyTo"],
  ])("%j", (fields, expected) => {
    expect(verdict(aCommand(fields))).toBe(expected);
  });
});

describe("whom it is for", () => {
  test.each([
    ["this node", { target: { node: "pi-1" } }, {}, "run"],
    ["no target", { target: undefined }, {}, "run"],
    ["another node", { target: { node: "pi-2" } }, {}, "denied 403 target.node"],
    ["another fleet", { target: { node: "pi-1", fleet: "south" } }, {}, "denied 403 target.fleet"],
    ["this fleet", { target: { node: "pi-1", fleet: "north" } }, {}, "run"],
    ["a group on the node's topic", kiosks, {}, "denied 403 target.node"],
    ["its group", kiosks, inGroup, "run"],
    ["a group it is not in", { target: { group: "bars" } }, inGroup, "denied 403 target.group"],
    ["the node on the group's topic", {}, inGroup, "denied 403 target.group"],
  ])("%s", (_, fields, more, expected) => {
    expect(verdict(aCommand(fields), {}, more)).toBe(expected);
  });

  test("a fleet means nothing to a node that has none", () => {
    const target = { node: "pi-1", fleet: "south" };
    expect(verdict(aCommand({ target }), { fleet: undefined })).toBe("run");
  });

  test("a signed command must name its target: a recording for another topic is refused", () => {
    const facts = { signaturesRequired: () => true };
    expect(verdict(signed(aCommand({ session: 7, target: undefined })), facts)).toBe(
      "denied 403 target.node",
    );
    expect(verdict(signed(aCommand({ session: 7, ...kiosks })), facts)).toBe(
      "denied 403 target.node",
    );
    expect(verdict(signed(aCommand({ session: 7 })), facts, inGroup)).toBe(
      "denied 403 target.group",
    );
  });
});

describe("where the answer goes", () => {
  const replyOf = (fields: object, more: Partial<CommandMessage> = {}): unknown => {
    const judged = judgeCommand(arriving(aCommand({ ...fields }), more), someFacts());
    return judged.type === "Ignore" ? judged.why : [judged.type, judged.replyTo];
  };

  test("to the node's own topic, or below it", () => {
    expect(replyOf({})).toEqual(["Run", OWN]);
    expect(replyOf({ replyTo: OWN })).toEqual(["Run", OWN]);
    expect(replyOf({ replyTo: `${OWN}/me` })).toEqual(["Run", `${OWN}/me`]);
    expect(replyOf({}, { responseTopic: `${OWN}/you` })).toEqual(["Run", `${OWN}/you`]);
  });

  test.each([
    "agent/v1/node/pi-2/response",
    "agent/v1/node/pi-1/desired",
    `${OWN}s`,
    `${OWN}//x`,
    "other",
  ])("never to %s, and the refusal goes home", (topic) => {
    expect(verdict(aCommand({ replyTo: topic }))).toBe("denied 403 replyTo");
    expect(verdict(aCommand(), {}, { responseTopic: topic })).toBe("denied 403 replyTo");
    expect(replyOf({ replyTo: topic })).toEqual(["Refuse", OWN]);
    expect(replyOf({ replyTo: `${OWN}/me` }, { responseTopic: topic })).toEqual(["Refuse", OWN]);
  });

  test("a response topic with a wildcard is none", () => {
    expect(verdict(aCommand(), {}, { responseTopic: `${OWN}/#` })).toBe("denied 403 replyTo");
  });
});

describe("when it is too late", () => {
  const old = at("2026-11-21T07:58:59Z");

  test("a recording of an earlier session, or one without any, is expired", () => {
    const facts = { signaturesRequired: () => true };
    expect(verdict(signed(aCommand({ verb: "restart", session: 6 })), facts)).toBe(
      "expired 408 session",
    );
    expect(verdict(signed(aCommand({ verb: "restart" })), facts)).toBe("expired 408 session");
    expect(verdict(signed(aCommand({ session: 7 })), { ...facts, session: undefined })).toBe(
      "expired 408 session",
    );
  });

  test("its time to live counts where the clock is right, and only there", () => {
    expect(verdict(aCommand(old))).toBe("expired 408 ttl");
    expect(verdict(aCommand({ ...old, ttl: 62 }))).toBe("run");
    expect(verdict(aCommand(old), { clockTrusted: false })).toBe("run");
    expect(verdict(aCommand())).toBe("run");
  });

  test("an unsigned one with a session is held to it", () => {
    expect(verdict(aCommand({ session: 7 }))).toBe("run");
    expect(verdict(aCommand({ session: 8 }))).toBe("expired 408 session");
  });

  test("what changes a whole group needs a clock that is right, a time, and a short life", () => {
    const change = { verb: "restart", ...kiosks };
    const now = at("2026-11-21T07:59:30Z");
    expect(verdict(aCommand({ ...change, ...now }), {}, inGroup)).toBe("run");
    expect(verdict(aCommand(change), {}, inGroup)).toBe("denied 403 issuedAt");
    expect(verdict(aCommand({ ...change, ...now }), { clockTrusted: false }, inGroup)).toBe(
      "denied 403 issuedAt",
    );
    expect(verdict(aCommand({ ...change, ...now, ttl: 601 }), {}, inGroup)).toBe("denied 403 ttl");
    expect(verdict(aCommand({ ...change, ...at("2026-11-21T08:02:00Z") }), {}, inGroup)).toBe(
      "expired 408 issuedAt",
    );
    expect(verdict(aCommand({ ...change, ...at("2026-11-21T07:50:00Z") }), {}, inGroup)).toBe(
      "expired 408 ttl",
    );
    expect(verdict(aCommand(kiosks), { clockTrusted: false }, inGroup)).toBe("run");
  });
});

describe("twice the same", () => {
  test("is answered with the result of the first, or that it is running", () => {
    expect(verdict(aCommand(), { codeOf: () => 200 })).toBe("duplicate 200 id");
    expect(verdict(aCommand(), { codeOf: () => 0 })).toBe("duplicate 202 id");
  });
});

test("whatever arrives, judging never throws", () => {
  const odd: readonly unknown[] = [
    null,
    1,
    "x",
    [],
    {},
    { id: ulid(1) },
    { payload: 1, payloadType: 2 },
  ];
  for (const value of odd) expect(() => verdict(value)).not.toThrow();
  for (const field of ["id", "verb", "target", "session", "args", "issuedAt", "ttl", "replyTo"])
    for (const value of [...odd, -1, true])
      expect(() => verdict(aCommand({ [field]: value }))).not.toThrow();
});
