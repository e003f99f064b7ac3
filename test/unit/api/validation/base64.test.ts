import { expect, test } from "bun:test";
import fc from "fast-check";

import { bytesOfBase64 } from "../../../../src/api/validation/base64.ts";

test("bytes come back as they went, also over several lines", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const text = bytes.toBase64();
      expect(bytesOfBase64(text)).toEqual(bytes);
      expect(bytesOfBase64(text.replace(/(.{4})/g, "$1\r\n"))).toEqual(bytes);
    }),
  );
});

test.each(["YQ", "YQ=", "YQ===", "Y", "_-8=", "YQ ==", "YQ==YQ==", "é", "="])(
  "%j is not base64",
  (text) => {
    expect(bytesOfBase64(text)).toBeUndefined();
  },
);
