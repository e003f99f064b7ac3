// A command in a container by CRI's ExecSync, in bytes: `ctr tasks exec` may lose what a command says at its end.

import type { PrivateContainerd } from "./private-containerd.ts";
import { rawCall } from "./raw-grpc.ts";

const METHOD = "/runtime.v1.RuntimeService/ExecSync";
const SECONDS = 30;
const VARINT = 0;
const BYTES = 2;

export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** Rejects when the runtime refuses or the command takes more than half a minute; any exit code is an answer. */
export async function execSync(
  containerd: Pick<PrivateContainerd, "socket">,
  containerId: string,
  command: readonly string[],
): Promise<ExecResult> {
  const request = Buffer.concat([
    text(1, containerId),
    ...command.map((word) => text(2, word)),
    Buffer.concat([varint((3 << 3) | VARINT), varint(SECONDS)]),
  ]);
  const timeout = (SECONDS + 5) * 1000;
  return result(await rawCall(containerd.socket, METHOD, { request, timeout }));
}

function text(field: number, value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([varint((field << 3) | BYTES), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** ExecSyncResponse: stdout = 1, stderr = 2, exit_code = 3. */
function result(response: Buffer): ExecResult {
  const said = new Map<number, string>();
  let exitCode = 0;
  let at = 0;
  const next = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = response[at] ?? 0;
      at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  while (at < response.length) {
    const tag = next();
    const value = next();
    if ((tag & 7) === VARINT) {
      exitCode = value;
      continue;
    }
    said.set(tag >> 3, response.toString("utf8", at, at + value));
    at += value;
  }
  return { stdout: said.get(1) ?? "", stderr: said.get(2) ?? "", exitCode };
}
