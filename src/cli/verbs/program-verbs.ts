// Performs: the table of the verbs about this program itself.

import type { Verb } from "../define-verb.ts";
import { outputFlag } from "../flags.ts";

export const PROGRAM_VERBS: readonly Verb[] = [
  {
    usage: "version",
    description: "print the version; with --socket or --config also that of the running agent",
    flags: outputFlag("json", "yaml"),
    run: async (call) => (await import("../version.ts")).printVersion(call),
  },
  {
    usage: "completion <shell>",
    description: "print a script that makes bash, zsh or fish complete command lines of agent",
    completes: [["bash", "zsh", "fish"]],
    run: async (call) => (await import("../completion/completion.ts")).printCompletion(call),
  },
  {
    usage: "man",
    description: "print the manual page of agent; to read it: agent man | man -l -",
    run: async (call) => (await import("../man/man.ts")).printManPage(call),
  },
];
