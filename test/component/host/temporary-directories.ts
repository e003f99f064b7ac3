// Directories that go away with the test.

import { afterEach } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Each call of the answer makes a directory of its own (below `parent`), removed after the test. */
export function temporaryDirectories(): (parent?: string) => string {
  const made: string[] = [];
  afterEach(() => {
    for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
  });
  return (parent = tmpdir()) => {
    const path = mkdtempSync(join(parent, "agent-host-"));
    made.push(path);
    return path;
  };
}

/** A directory with these files, as root of a machine. */
export function writeTree(root: string, content: Readonly<Record<string, string>>): string {
  for (const [path, text] of Object.entries(content)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}
