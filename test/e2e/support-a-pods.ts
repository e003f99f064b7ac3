// Pods that keep a journal: each start and each stop appends a line to a file of the host.

/** What the containers of a recipe do after SIGTERM: end, end after two seconds, or nothing. */
export type OnTerm = "exit" | "slowly" | "ignore";

export interface PodRecipe {
  readonly name: string;
  /** In every line of the journal: tells which spec ran. */
  readonly tag?: string;
  /** Shell lines between the start and the long sleep. */
  readonly script?: readonly string[];
  readonly onTerm?: OnTerm;
  readonly graceSeconds?: number;
  readonly restartPolicy?: "Always" | "OnFailure" | "Never";
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly image?: string;
  readonly hostNetwork?: boolean;
}

/** Where the journals and the scratch directory are inside the container. */
export const JOURNAL_MOUNT = "/journal";
export const SCRATCH_MOUNT = "/scratch";

/** A Pod as a manifest says it; `journals` is the host's directory of journals. */
export function podManifest(journals: string, recipe: PodRecipe): object {
  const { name, labels, annotations, restartPolicy, hostNetwork } = recipe;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, ...optional({ labels, annotations }) },
    spec: {
      terminationGracePeriodSeconds: recipe.graceSeconds ?? 5,
      ...optional({ restartPolicy, hostNetwork }),
      containers: [
        {
          name: "main",
          image: recipe.image ?? "local/busybox:1",
          command: ["sh", "-c", shellScript(recipe)],
          volumeMounts: [
            { name: "journal", mountPath: JOURNAL_MOUNT },
            { name: "scratch", mountPath: SCRATCH_MOUNT },
          ],
        },
      ],
      volumes: [
        { name: "journal", hostPath: { path: journals, type: "Directory" } },
        { name: "scratch", emptyDir: {} },
      ],
    },
  };
}

/** `say WORD` appends `WORD TAG` to the pod's journal. */
function shellScript(recipe: PodRecipe): string {
  const { name, tag = "a", script = [], onTerm = "exit" } = recipe;
  const journal = `${JOURNAL_MOUNT}/${name}`;
  return [
    `say() { echo "$1 ${tag}" >>${journal}; }`,
    trap(onTerm),
    "say start",
    ...script,
    "while true; do sleep 1000 & wait $!; done",
  ].join("\n");
}

function trap(onTerm: OnTerm): string {
  switch (onTerm) {
    case "exit":
      return `trap 'say stop; exit 0' TERM`;
    case "slowly":
      return `trap 'say stopping; sleep 2; say stop; exit 0' TERM`;
    case "ignore":
      return `trap '' TERM`;
  }
}

function optional(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
