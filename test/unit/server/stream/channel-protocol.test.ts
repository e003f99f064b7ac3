import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  chooseProtocol,
  oldStatus,
  readMessage,
  TUNNEL,
  writeMessage,
} from "../../../../src/server/stream/channel-protocol.ts";

describe("the subprotocol", () => {
  test.each([
    ["exec", undefined, undefined],
    ["exec", "", undefined],
    ["exec", "v5.channel.k8s.io, v4.channel.k8s.io", "v5.channel.k8s.io"],
    ["exec", "v9.channel.k8s.io, v4.channel.k8s.io", "v4.channel.k8s.io"],
    ["attach", "base64.channel.k8s.io", "base64.channel.k8s.io"],
    ["portforward", TUNNEL, TUNNEL],
    ["portforward", "v4.channel.k8s.io", "v4.channel.k8s.io"],
  ] as const)("of %s offered as %p is %p", (verb, offered, expected) => {
    expect(chooseProtocol(verb, offered)).toMatchObject({ name: expected });
  });

  test("that is unknown is none", () => {
    expect(chooseProtocol("exec", "chat")).toBeUndefined();
    expect(chooseProtocol("exec", TUNNEL)).toBeUndefined();
  });
});

describe("a message", () => {
  test.each(["v5.channel.k8s.io", "v4.base64.channel.k8s.io"])(
    "of %s is read as it was written",
    (name) => {
      const protocol = chooseProtocol("exec", name);
      if (protocol === undefined) throw new Error("unknown");
      fc.assert(
        fc.property(fc.integer({ min: 0, max: 4 }), fc.uint8Array(), (channel, data) => {
          const written = writeMessage(protocol, channel, data);
          const bytes = typeof written === "string" ? new TextEncoder().encode(written) : written;
          const read = readMessage(protocol, bytes);
          expect(read?.channel).toBe(channel);
          expect([...(read?.data ?? [])]).toEqual([...data]);
        }),
      );
    },
  );

  test("that names no channel is none", () => {
    const base64 = chooseProtocol("exec", "base64.channel.k8s.io");
    const binary = chooseProtocol("exec", undefined);
    if (base64 === undefined || binary === undefined) throw new Error("unknown");
    expect(readMessage(binary, new Uint8Array())).toBeUndefined();
    expect(readMessage(base64, new TextEncoder().encode("xAAAA"))).toBeUndefined();
  });
});

test("an older protocol has the message of a failure, and nothing of a success", () => {
  const old = (status: object) =>
    new TextDecoder().decode(oldStatus(new TextEncoder().encode(JSON.stringify(status))));
  expect(old({ status: "Success" })).toBe("");
  expect(old({ status: "Failure", message: "exit code 3" })).toBe("exit code 3");
});
