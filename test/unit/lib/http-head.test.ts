import { describe, expect, test } from "bun:test";
import {
  closingResponse,
  MAX_HEAD,
  readResponseHead,
  requestHead,
} from "../../../src/lib/http-head.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("a response head", () => {
  test("has status, headers and what follows", () => {
    const head = readResponseHead(bytes("HTTP/1.1 101 Switching\r\nUpgrade: SPDY/3.1\r\n\r\nrest"));
    if (head === undefined || head === "Invalid") throw new Error("not read");
    expect(head.status).toBe(101);
    expect(head.headers.get("upgrade")).toBe("SPDY/3.1");
    expect(new TextDecoder().decode(head.rest)).toBe("rest");
  });

  test("that has not come as a whole is awaited, to a limit", () => {
    expect(readResponseHead(bytes("HTTP/1.1 101 Swi"))).toBeUndefined();
    expect(readResponseHead(new Uint8Array(MAX_HEAD + 1))).toBe("Invalid");
  });

  test("that is no HTTP is invalid", () => {
    expect(readResponseHead(bytes("SSH-2.0-x\r\n\r\n"))).toBe("Invalid");
  });
});

test("a request leaves out a header with a line break", () => {
  const headers = [
    ["Host", "a"],
    ["X", "b\r\nEvil: 1"],
  ] as const;
  expect(requestHead("POST", "/exec/t", headers)).toBe("POST /exec/t HTTP/1.1\r\nHost: a\r\n\r\n");
});

test("a refusal says its length in bytes", () => {
  expect(closingResponse(404, "text/plain", "ä")).toContain("404 Not Found\r\n");
  expect(closingResponse(404, "text/plain", "ä")).toContain("Content-Length: 2\r\n");
});
