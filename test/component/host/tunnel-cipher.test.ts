import { describe, expect, test } from "bun:test";

import { TunnelCipher, tunnelKey } from "../../../src/host/tunnel/tunnel-cipher.ts";
import { systemRandom } from "../../../src/lib/system-clock.ts";

const bytes = (written: string): Uint8Array => new TextEncoder().encode(written);

/** Both sides of one session. */
function pair(change: { readonly id?: string } = {}) {
  const [operator, node] = [tunnelKey(systemRandom), tunnelKey(systemRandom)];
  const keys = { operatorKey: operator.publicKey, nodeKey: node.publicKey };
  const facts = { node: "pi-1", id: "01ABC", ...keys };
  const near = TunnelCipher.agree("operator", operator, facts);
  const far = TunnelCipher.agree("node", node, { ...facts, ...change });
  if (near === undefined || far === undefined) throw new Error("no keys");
  return { near, far };
}

describe("the packets of a session", () => {
  test("are opened by the other side only", () => {
    const { near, far } = pair();
    const packet = near.seal(bytes("hello"));
    expect(Buffer.from(packet).includes("hello")).toBe(false);
    expect(pair().far.open(packet)).toBeUndefined();
    expect(near.open(packet)).toBeUndefined();
    expect(far.open(packet)).toEqual(bytes("hello"));
    expect(near.open(far.seal(bytes("and back")))).toEqual(bytes("and back"));
  });

  test("count once, and not behind a newer one", () => {
    const { near, far } = pair();
    const [first, second] = [near.seal(bytes("1")), near.seal(bytes("2"))];
    expect(far.open(second)).toEqual(bytes("2"));
    expect(far.open(second)).toBeUndefined();
    expect(far.open(first)).toBeUndefined();
  });

  test("that were changed at any byte are not opened, and those after them are", () => {
    const { near, far } = pair();
    const packet = near.seal(bytes("hello"));
    for (const [index] of packet.entries())
      expect(far.open(packet.map((byte, at) => (at === index ? byte ^ 1 : byte)))).toBeUndefined();
    expect(far.open(new Uint8Array(3))).toBeUndefined();
    expect(far.open(packet)).toEqual(bytes("hello"));
  });

  test("of another command are not opened", () => {
    const { near, far } = pair({ id: "01ABD" });
    expect(far.open(near.seal(bytes("x")))).toBeUndefined();
  });

  test("need a key that is one", () => {
    const own = tunnelKey(systemRandom);
    const facts = { node: "pi-1", id: "01ABC", operatorKey: new Uint8Array(32) };
    expect(TunnelCipher.agree("node", own, { ...facts, nodeKey: own.publicKey })).toBeUndefined();
  });
});
