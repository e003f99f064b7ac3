// Performs: checks the plain files beside the database, without changing them.

import { join } from "node:path";
import { messageOf } from "../../lib/errors.ts";
import type { PlainFiles } from "../../lib/files/plain-files.ts";
import { parseJson } from "../../lib/json.ts";
import { checkedContent, textOf } from "../checked-file.ts";
import { readRolloutRows } from "../checkpoint-schemas.ts";
import { ROLLOUTS_MAGIC } from "../document/rollouts.ts";
import { decodeDocumentFile } from "../document/stored-document.ts";
import { lookAtSecretKey, NODE_KEY, SECRET_KEY } from "../secret-key.ts";
import { decodeTrust } from "../trust-file.ts";
import type { StateProblem } from "./state-problem.ts";

export interface StateFilesCheck {
  readonly stateDir: string;
  readonly files: PlainFiles;
}

/** Larger than any of them. */
const MAX_BYTES = 64 * 1024 * 1024;
const STOPPED = "agent fsck --repair with the agent stopped";

export function checkStateFiles({ stateDir, files }: StateFilesCheck): readonly StateProblem[] {
  const desired = join(stateDir, "desired");
  const documents = files.info(desired) === undefined ? [] : files.list(desired);
  const names = documents
    .map(({ name }) => name)
    .filter((name) => /^[^.].*\.(doc|prev)$/.test(name));
  const look = looker(files);
  return [
    ...names.flatMap((name) => look(join(desired, name), documentProblem(name))),
    ...look(join(desired, "rollouts"), {
      isWhole: (bytes) => {
        const content = checkedContent(ROLLOUTS_MAGIC, bytes);
        return content !== undefined && readRolloutRows(textOf(content)) !== undefined;
      },
      remedy: `${STOPPED} removes it; the next change of an update writes it anew from the database`,
      repair: { type: "ForgetFile" },
    }),
    ...look(join(stateDir, "trust.json"), {
      isWhole: (bytes) => decodeTrust(textOf(bytes)) !== undefined,
      remedy:
        "from the next start on documents must be signed; if they need not be: agent trust reset",
    }),
    ...look(join(stateDir, "identity.json"), {
      isWhole: (bytes) => parseJson(textOf(bytes)) !== undefined,
      remedy: `write nodeName to the configuration if the name must stay, then ${STOPPED} removes it, and the next start makes it anew`,
      repair: { type: "ForgetFile" },
    }),
    ...keyProblems(stateDir, files),
  ];
}

type Judged = Pick<StateProblem, "remedy" | "repair"> & {
  readonly isWhole: (bytes: Uint8Array) => boolean;
};

function documentProblem(name: string): Judged {
  const isWhole = (bytes: Uint8Array): boolean => decodeDocumentFile(bytes) !== undefined;
  return name.endsWith(".doc")
    ? {
        isWhole,
        remedy: `${STOPPED} writes it anew from the database`,
        repair: { type: "Reopen" },
      }
    : {
        isWhole,
        remedy: `${STOPPED} removes it; it is the document before the present one`,
        repair: { type: "ForgetFile" },
      };
}

/** A file that is not there is no problem. */
function looker(files: PlainFiles) {
  return (path: string, { isWhole, ...rest }: Judged): readonly StateProblem[] => {
    try {
      if (files.info(path) === undefined) return [];
      if (isWhole(files.read(path, MAX_BYTES))) return [];
      const what = "it is torn or was changed: it cannot be read, or does not match its checksum";
      return [{ part: "state", file: path, what, ...rest }];
    } catch (error) {
      const what = messageOf(error);
      return [{ part: "state", file: path, what, remedy: rest.remedy, isUnchecked: true }];
    }
  };
}

const KEY_FILES: Readonly<Record<string, string>> = {
  [SECRET_KEY]: "stored Secrets come again with their documents and manifests",
  [NODE_KEY]: "what was sealed to it has to be sealed again",
};

function keyProblems(stateDir: string, files: PlainFiles): readonly StateProblem[] {
  return Object.entries(KEY_FILES).flatMap(([name, loss]) =>
    keyProblem(join(stateDir, name), { stateDir, files, name, loss }),
  );
}

interface KeyFile {
  readonly stateDir: string;
  readonly files: PlainFiles;
  readonly name: string;
  /** What a new key costs. */
  readonly loss: string;
}

function keyProblem(
  file: string,
  { stateDir, files, name, loss }: KeyFile,
): readonly StateProblem[] {
  const remedy = `restore it from a backup; else ${STOPPED} sets it aside and makes a new one, and ${loss}`;
  try {
    const key = lookAtSecretKey(stateDir, files, name);
    if (key === undefined || "bytes" in key) return [];
    return [{ part: "state", file, what: `it ${key.damage}`, remedy, repair: { type: "Reopen" } }];
  } catch (error) {
    return [{ part: "state", file, what: messageOf(error), remedy, isUnchecked: true }];
  }
}
