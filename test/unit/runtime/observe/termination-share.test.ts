import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { sharedMessage } from "../../../../src/runtime/observe/termination-message.ts";

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

describe("sharedMessage", () => {
  test("leaves a message of 4096 bytes alone up to three containers, and halves it for six", () => {
    const message = "x".repeat(4096);
    expect(sharedMessage(message, 3)).toBe(message);
    expect(sharedMessage(message, 6)).toBe("x".repeat(2048));
  });

  test("cuts no character in two", () => {
    expect(sharedMessage(`${"x".repeat(1023)}é`, 12)).toBe("x".repeat(1023));
    expect(sharedMessage(`${"x".repeat(1022)}é`, 12)).toBe(`${"x".repeat(1022)}é`);
  });

  test("all together never take more than 12 KiB, and each is a beginning", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme", maxLength: 3000 }), { minLength: 1, maxLength: 9 }),
        (messages) => {
          const shared = messages.map((message) => sharedMessage(message, messages.length));
          expect(shared.reduce((sum, text) => sum + bytesOf(text), 0)).toBeLessThanOrEqual(12_288);
          expect(shared.every((text, index) => messages[index]?.startsWith(text) === true)).toBe(
            true,
          );
        },
      ),
    );
  });
});
