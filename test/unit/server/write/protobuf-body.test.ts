import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readProtobuf } from "../../../../src/server/kube/write/protobuf-body.ts";
import { joined, messageField, textField } from "../../../../src/server/openapi/protobuf-fields.ts";

/** An object of this kind, as runtime.Unknown. */
function envelope(kind: string, ...fields: readonly Uint8Array[]): Uint8Array {
  const type = messageField(1, [...textField(1, "v1"), ...textField(2, kind)]);
  const body = joined([...type, ...messageField(2, fields)]);
  return new Uint8Array([0x6b, 0x38, 0x73, 0, ...body]);
}

const entry = (number: number, key: string, value: string) =>
  messageField(number, [...textField(1, key), ...textField(2, value)]);

describe("an object in protobuf", () => {
  test("is what its JSON would be, with the last of a field that is there twice", () => {
    const name = messageField(1, [...textField(1, "old"), ...textField(1, "new")]);
    const object = envelope("ConfigMap", ...name, ...entry(2, "a", "1"), ...entry(2, "b", ""));
    expect(readProtobuf(object)).toMatchObject({
      ok: true,
      value: {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "new" },
        data: { a: "1", b: "" },
      },
    });
  });

  test("of a Secret has its bytes in base64", () => {
    const object = envelope("Secret", ...entry(2, "password", "s3cret"), ...textField(3, "Opaque"));
    expect(readProtobuf(object)).toMatchObject({
      value: { kind: "Secret", data: { password: "czNjcmV0" }, type: "Opaque" },
    });
  });

  test("of another kind is refused with what to send", () => {
    expect(readProtobuf(envelope("Pod"))).toMatchObject({
      ok: false,
      errors: [{ message: expect.stringContaining("send it as application/json") as unknown }],
    });
    expect(readProtobuf(envelope("toString"))).toMatchObject({ ok: false });
  });

  test("that is cut anywhere is refused or read, and never throws", () => {
    const whole = envelope(
      "ConfigMap",
      ...messageField(1, textField(1, "web")),
      ...entry(2, "a", "1"),
    );
    for (let length = 0; length < whole.length; length += 1)
      expect(() => readProtobuf(whole.subarray(0, length))).not.toThrow();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const hostile = new Uint8Array([...whole.subarray(0, 20), ...bytes]);
        expect(() => readProtobuf(hostile)).not.toThrow();
      }),
    );
  });
});
