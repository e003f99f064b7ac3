// The protocol of sd_notify(3) on a real datagram socket: Python's, because Bun has none.

import { expect, test } from "bun:test";
import { join } from "node:path";

import { serviceManager } from "../../../src/host/service-manager.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";

const RECEIVER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1].replace("@", "\\0", 1))
print("bound", flush=True)
for _ in range(int(sys.argv[2])):
    print(s.recv(4096).decode(), flush=True)
`;

async function received(
  socket: string,
  count: number,
  send: () => void,
): Promise<readonly string[]> {
  const child = Bun.spawn(["/usr/bin/python3", "-c", RECEIVER, socket, String(count)], {
    stdout: "pipe",
  });
  let text = "";
  for await (const part of child.stdout) {
    if (text === "") send();
    text += new TextDecoder().decode(part);
  }
  return text.trimEnd().split("\n").slice(1);
}

for (const kind of ["path", "abstract"] as const)
  test(`speaks to a socket that has a name of the kind ${kind}`, async () => {
    using temp = makeTempDirectory();
    const socket =
      kind === "path" ? join(temp.directory("notify"), "s") : `@agent-test-${process.pid}`;
    const environment = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: "180000000", WATCHDOG_PID: "7" };
    const manager = serviceManager(environment, 7);
    expect(manager?.watchdogMs).toBe(180_000);
    const lines = await received(socket, 4, () => {
      manager?.ready();
      manager?.status("two\nlines");
      manager?.alive();
      manager?.stopping();
    });
    expect(lines).toEqual(["READY=1", "STATUS=two lines", "WATCHDOG=1", "STOPPING=1"]);
  });

test("nothing listens, or another process is watched", () => {
  expect(serviceManager({})).toBeUndefined();
  expect(serviceManager({ NOTIFY_SOCKET: "relative" })).toBeUndefined();
  expect(serviceManager({ NOTIFY_SOCKET: `/${"x".repeat(200)}` })).toBeUndefined();
  const other = { NOTIFY_SOCKET: "/nonexistent", WATCHDOG_USEC: "1000", WATCHDOG_PID: "8" };
  expect(serviceManager(other, 7)?.watchdogMs).toBeUndefined();
  // A manager that has ended: the agent goes on.
  serviceManager(other, 7)?.ready();
});
