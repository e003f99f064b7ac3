// Performs: writes a Debian package. The same parts give the same bytes: owners, modes, times and order are all said.

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { output } from "../harness/run-command.ts";
import {
  conffilesText,
  controlText,
  MAINTAINER_SCRIPTS,
  md5sumsText,
  type ControlFacts,
} from "./control-files.ts";
import { PACKAGE, type Entry } from "./package-tree.ts";

const MINUTES = 60_000;

export interface PackageOrder {
  readonly facts: ControlFacts;
  readonly entries: readonly Entry[];
  /** Where the package shall lie. */
  readonly directory: string;
  /** Of dpkg-deb: `xz` for people, `gzip` where it must be quick. */
  readonly compression: "xz" | "gzip";
}

/** The path of the package. */
export async function makePackage(order: PackageOrder): Promise<string> {
  const { facts, entries, directory, compression } = order;
  const tree = mkdtempSync(join(tmpdir(), "agent-package-"));
  try {
    chmodSync(tree, 0o755);
    for (const entry of entries) write(tree, entry);
    const control = join(tree, "DEBIAN");
    mkdirSync(control);
    for (const [name, text] of [
      ["control", controlText(facts, entries)],
      ["conffiles", conffilesText(entries)],
      ["md5sums", md5sumsText(entries)],
    ] as const)
      place(join(control, name), text, 0o644);
    for (const [name, text] of Object.entries(MAINTAINER_SCRIPTS))
      place(join(control, name), text, 0o755);
    settle(tree, facts.time);
    for (const { type, path, mode } of entries)
      if (type === "Directory") chmodSync(join(tree, path), mode);
    const path = join(directory, `${PACKAGE}_${facts.version}_${facts.architecture}.deb`);
    const level = compression === "xz" ? "-z6" : "-z1";
    await output(
      [
        "env",
        `SOURCE_DATE_EPOCH=${facts.time}`,
        "dpkg-deb",
        "--root-owner-group",
        `-Z${compression}`,
        level,
        "--build",
        tree,
        path,
      ],
      15 * MINUTES,
    );
    return path;
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

function write(tree: string, entry: Entry): void {
  const path = join(tree, entry.path);
  if (entry.type === "Directory") mkdirSync(path, { recursive: true });
  else {
    mkdirSync(dirname(path), { recursive: true });
    place(path, entry.content, entry.mode);
  }
}

/** The mode of a new file would be narrowed by the umask. */
function place(path: string, content: string | Uint8Array, mode: number): void {
  writeFileSync(path, content);
  chmodSync(path, mode);
}

/** Directories of mode 755 whatever the umask is, and one time for all: from the leaves up, as writing changes what is above. */
function settle(tree: string, time: number): void {
  for (const entry of readdirSync(tree, { withFileTypes: true })) {
    const path = join(tree, entry.name);
    if (entry.isDirectory()) settle(path, time);
    else utimesSync(path, time, time);
  }
  chmodSync(tree, 0o755);
  utimesSync(tree, time, time);
}
