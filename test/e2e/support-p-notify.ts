// A service manager's socket, as systemd gives it to a service: what the agent says there. Python's, because Bun has no
// datagram sockets of this kind.

import { existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { eventually } from "../harness/eventually.ts";
import type { TempDirectory } from "../harness/temp-directory.ts";

const RECEIVER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode(), flush=True)
`;

export interface NotifySocket {
  /** For NOTIFY_SOCKET. */
  readonly path: string;
  /** So far, such as `READY=1`. */
  readonly lines: () => readonly string[];
}

export async function startNotifySocket(temp: TempDirectory): Promise<NotifySocket> {
  const directory = temp.directory("notify");
  const path = join(directory, "s");
  const said = join(directory, "said");
  const out = openSync(said, "w");
  const child = Bun.spawn(["/usr/bin/python3", "-c", RECEIVER, path], { stdout: out });
  temp.adopt(child.pid);
  await eventually("the service manager's socket is there", () => existsSync(path));
  return { path, lines: () => readFileSync(said, "utf8").trimEnd().split("\n") };
}
