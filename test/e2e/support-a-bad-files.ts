// Everything that somebody may put into the directory of manifests and that must not stop a pod.

import { randomBytes } from "node:crypto";
import { renameSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { stringify } from "yaml";

import { runSync } from "../harness/run-command.ts";

export interface BadFile {
  /** Name of the case, also of its pod. */
  readonly name: string;
  /** Puts it at `path`, in the place of whatever is there. `pod` is a good manifest. */
  readonly put: (path: string, pod: object) => void;
  /** What `agent get pods`, /rejected and upstream have to say: the field, or why. */
  readonly says: RegExp;
  /** The field, where one is to blame. */
  readonly field?: string;
}

export const BAD_FILES: readonly BadFile[] = [
  {
    name: "syntax-error",
    put: (path, pod) => place(path, stringify(pod).replace("spec:", "spec: [")),
    says: /implicit key|flow sequence/i,
  },
  {
    name: "unknown-field",
    put: (path, pod) =>
      place(
        path,
        stringify(pod).replace("    - name: main", "    - livenesProbe: {}\n      name: main"),
      ),
    says: /unknown field \(did you mean livenessProbe\?\)/,
    field: "spec.containers[0].livenesProbe",
  },
  {
    name: "empty",
    put: (path) => place(path, ""),
    says: /no object, .*delete the file to stop them/,
  },
  { name: "binary", put: (path) => place(path, randomBytes(4096)), says: /UTF-8|binary/ },
  {
    name: "fifo",
    put: (path) => instead(path, (temp) => runSync(["mkfifo", temp])),
    says: /not a regular file/,
  },
  {
    name: "huge",
    // It would be a pod if anybody read it all.
    put: (path, pod) => place(path, `${stringify(pod)}${"# padding\n".repeat(1024 * 1024)}`),
    says: /has 10,\d{3},\d{3} bytes, at most 4,194,304/,
  },
  {
    name: "symlink-loop",
    put: (path) => instead(path, (temp) => symlinkSync(basename(path), temp)),
    says: /symbolic link/,
  },
  { name: "bomb", put: (path) => place(path, bomb()), says: /aliases/ },
];

/** Renames new content into place. */
function place(path: string, content: string | Uint8Array): void {
  instead(path, (temp) => writeFileSync(temp, content));
}

function instead(path: string, make: (temp: string) => void): void {
  const temp = join(dirname(path), `.${basename(path)}.tmp`);
  make(temp);
  renameSync(temp, path);
}

/** A billion laughs: ten of ten of ten … */
function bomb(): string {
  const letters = "abcdefghij".split("");
  const lines = letters.map((letter, index) => {
    const before = letters[index - 1];
    const item = before === undefined ? "x" : `*${before}`;
    return `  ${letter}: &${letter} [${Array.from({ length: 10 }, () => item).join(", ")}]`;
  });
  return `apiVersion: v1\nkind: Pod\nmetadata:\n${lines.join("\n")}\n`;
}
