// What is carried to the device on a stick: the agent for arm64, archives of images, a broker's unit.

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";

import { ARM64, dockerEntries } from "../harness/image-archives.ts";
import { tar, type TarEntry } from "../harness/tar.ts";
import type { BaseImage } from "./base-image.ts";

const FILES = resolve(import.meta.dir, "stick");
const APPLETS = [
  "sh",
  "sleep",
  "cat",
  "date",
  "echo",
  "httpd",
  "wget",
  "id",
  "ls",
  "touch",
  "true",
];

/** The binary under test. */
export function agentBinary(): string {
  return (
    process.env["AGENT_BINARY_ARM64"] ?? resolve(import.meta.dir, "../../dist/agent-linux-arm64")
  );
}

export function makePayload(directory: string, image: BaseImage): void {
  const binary = agentBinary();
  if (!existsSync(binary))
    throw new Error(`${binary} is not there: ./build.sh --target linux-arm64 makes it`);
  mkdirSync(join(directory, "images"), { recursive: true });
  copyFileSync(binary, join(directory, "agent"));
  for (const name of readdirSync(FILES)) copyFileSync(join(FILES, name), join(directory, name));
  const busybox = readFileSync(image.busybox);
  for (const version of ["1", "2"])
    writeFileSync(join(directory, `images/busybox-${version}.tar`), archive(busybox, version));
}

/** `local/busybox:VERSION`, for arm64. */
function archive(busybox: Uint8Array, version: string): Uint8Array {
  const layer: readonly TarEntry[] = [
    ...["bin", "etc", "www", "tmp"].map((path): TarEntry => ({
      type: "directory",
      path,
      mode: 0o755,
    })),
    { type: "file", path: "bin/busybox", mode: 0o755, data: busybox },
    ...APPLETS.map((applet): TarEntry => ({
      type: "symlink",
      path: `bin/${applet}`,
      target: "busybox",
    })),
    { type: "file", path: "etc/image-version", mode: 0o644, data: Buffer.from(`${version}\n`) },
    {
      type: "file",
      path: "www/index.html",
      mode: 0o644,
      data: Buffer.from(`version ${version}\n`),
    },
  ];
  const config = { Env: ["PATH=/bin"], Cmd: ["sh"] };
  const tags = [`local/busybox:${version}`];
  return tar(dockerEntries([{ tags, layers: [tar(layer)], platform: ARM64, config: { config } }]));
}
