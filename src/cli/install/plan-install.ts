// Decides what `agent install` does: the difference between what an installation has and what this machine has.

/** A file or directory as it shall be. */
export type Part =
  | { readonly type: "Directory"; readonly path: string; readonly mode: number }
  | {
      readonly type: "File";
      readonly path: string;
      readonly mode: number;
      readonly content: Uint8Array;
      /** What it is, for people. */
      readonly what: string;
      /** The agent reads it at its start. */
      readonly isOfService: boolean;
      /** One that is there stays as it is. */
      readonly keeps?: boolean;
    };

export interface Present {
  readonly mode: number;
  /** Of a file: whether it has the content that it shall have. */
  readonly isSame: boolean;
}

export type Step =
  | { readonly type: "MakeDirectory"; readonly path: string; readonly mode: number }
  | {
      readonly type: "Write";
      readonly part: Extract<Part, { readonly type: "File" }>;
      readonly isNew: boolean;
    }
  | { readonly type: "SetMode"; readonly path: string; readonly mode: number }
  | { readonly type: "Keep"; readonly path: string };

export interface InstallPlan {
  readonly steps: readonly Step[];
  /** What the running agent, or its service manager, knows is older than what is written now. */
  readonly isServiceChanged: boolean;
}

/** `present` = what lies at a path; undefined = nothing. */
export function planInstall(
  parts: readonly Part[],
  present: (part: Part) => Present | undefined,
): InstallPlan {
  const steps = parts.flatMap((part): readonly Step[] => {
    const there = present(part);
    if (part.type === "Directory")
      return there === undefined
        ? [{ type: "MakeDirectory", path: part.path, mode: part.mode }]
        : [];
    if (there === undefined) return [{ type: "Write", part, isNew: true }];
    if (!there.isSame && part.keeps === true) return [{ type: "Keep", path: part.path }];
    if (!there.isSame) return [{ type: "Write", part, isNew: false }];
    return there.mode === part.mode || part.keeps === true
      ? []
      : [{ type: "SetMode", path: part.path, mode: part.mode }];
  });
  const isServiceChanged = steps.some((step) => step.type === "Write" && step.part.isOfService);
  return { steps, isServiceChanged };
}

/** One line for each step, as done or, `isDry`, as it would be. */
export function stepText(step: Step, isDry: boolean): string {
  const done = (verb: string, past: string): string => (isDry ? `would ${verb}` : past);
  switch (step.type) {
    case "MakeDirectory":
      return `${done("make", "made")} the directory ${step.path}`;
    case "Write": {
      const { what, path } = step.part;
      return step.isNew
        ? `${done("write", "wrote")} ${what}, ${path}`
        : `${done("replace", "replaced")} ${what}, ${path}`;
    }
    case "SetMode":
      return `${done("set", "set")} the mode of ${step.path} to ${step.mode.toString(8)}`;
    case "Keep":
      return `${step.path} is there and stays as it is`;
  }
}
