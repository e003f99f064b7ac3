import { expect, test } from "bun:test";
import { messageOf } from "../../../../src/lib/errors.ts";
import { runtimeAddress } from "../../../../src/server/stream/runtime-url.ts";

test.each([
  ["http://127.0.0.1:41/exec/t", { host: "127.0.0.1", port: 41, target: "/exec/t" }],
  ["http://[::1]:41/exec/t?x=1", { host: "::1", port: 41, target: "/exec/t?x=1" }],
  ["http://localhost/exec/t", { host: "localhost", port: 80, target: "/exec/t" }],
])("%s is used", (url, expected) => {
  expect(runtimeAddress(url)).toEqual(expected);
});

test.each([
  ["http://10.0.0.1:41/exec/t", "loopback"],
  ["http://127.0.0.1.example.org/exec/t", "loopback"],
  ["http://127.0.0.1@example.org/exec/t", "loopback"],
  ["https://127.0.0.1:41/exec/t", "enable_tls_streaming"],
  ["/exec/t", "invalid"],
])("%s is refused", (url, why) => {
  let message = "";
  try {
    runtimeAddress(url);
  } catch (error) {
    message = messageOf(error);
  }
  expect(message).toContain(why);
});
