// Performs: the table of the verbs of `agent`, by theme. Each loads its work only when it runs, so that every verb starts at once.

import type { Verb } from "./define-verb.ts";
import { STREAM_VERBS } from "./stream/stream-verbs.ts";
import { FILE_VERBS } from "./verbs/file-verbs.ts";
import { IMAGE_VERBS } from "./verbs/image-verbs.ts";
import { INSTALL_VERBS } from "./verbs/install-verbs.ts";
import { NODE_VERBS } from "./verbs/node-verbs.ts";
import { PROGRAM_VERBS } from "./verbs/program-verbs.ts";
import { SHOW_VERBS } from "./verbs/show-verbs.ts";
import { WRITE_VERBS } from "./verbs/write-verbs.ts";

/** By the headings of the help, in its order. */
const THEMES: readonly (readonly [heading: string, verbs: readonly Verb[]])[] = [
  ["Show what is there:", SHOW_VERBS],
  ["Change what runs:", WRITE_VERBS],
  ["Into containers:", STREAM_VERBS],
  ["Images:", IMAGE_VERBS],
  ["Manifests and configuration:", FILE_VERBS],
  ["The node and its agent:", NODE_VERBS],
  ["Installation:", INSTALL_VERBS],
  ["This program:", PROGRAM_VERBS],
];

export const VERBS: readonly Verb[] = THEMES.flatMap(([heading, verbs]) =>
  verbs.map((verb) => ({ ...verb, heading })),
);
