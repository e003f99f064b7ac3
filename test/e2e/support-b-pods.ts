// Pods that keep a ledger: each start appends a line to a file of the host, and a pipe tells when two are up at once.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { BUSYBOX_1 } from "../harness/images.ts";
import { readText } from "../harness/processes.ts";

/** What a container does after it has written its line. */
export type Behaviour = "Stay" | "Exit";

export interface LedgerPod {
  readonly name: string;
  /** Part of the command: another variant is another pod. */
  readonly variant: string;
  readonly behaviour?: Behaviour;
  readonly restartPolicy?: "Always" | "OnFailure" | "Never";
  readonly hostNetwork?: boolean;
}

export interface LedgerLine {
  /** `both`: another container of this pod name was still alive. */
  readonly kind: "start" | "stop" | "both";
  readonly name: string;
  readonly variant: string;
  /** Seconds since boot, in hundredths. */
  readonly at: number;
}

/**
 * What lies in a pipe is gone when its last process is, before containerd learns of the container's end:
 * a word in it means that another container of this pod name is alive.
 */
const SCRIPT = `
name=$1 variant=$2 behaviour=$3
note() { read -r at rest </proc/uptime; echo "$1 $name $variant $at" >>/ledger/lines; }
[ -p "/ledger/$name.pipe" ] || mkfifo "/ledger/$name.pipe"
exec 9<>"/ledger/$name.pipe"
read -r -t 0 word <&9 && note both
echo alive >&9
trap 'note stop; exit 0' TERM
note start
[ "$behaviour" = Exit ] && exit 0
sleep 2147483647 &
wait $!
`;

export class Ledger {
  readonly directory: string;

  constructor(directory: string) {
    mkdirSync(directory, { recursive: true });
    this.directory = directory;
  }

  /** The manifest of a pod that writes here. */
  pod(options: LedgerPod): object {
    const { name, variant, behaviour = "Stay", restartPolicy = "Always" } = options;
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: {
        restartPolicy,
        terminationGracePeriodSeconds: 2,
        ...(options.hostNetwork === true ? { hostNetwork: true } : {}),
        containers: [
          {
            name: "main",
            image: BUSYBOX_1.name,
            command: ["sh", "-c", SCRIPT, "sh", name, variant, behaviour],
            volumeMounts: [{ name: "ledger", mountPath: "/ledger" }],
          },
        ],
        volumes: [{ name: "ledger", hostPath: { path: this.directory, type: "Directory" } }],
      },
    };
  }

  lines(name?: string): readonly LedgerLine[] {
    return (readText(join(this.directory, "lines")) ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map(parseLine)
      .filter((line) => name === undefined || line.name === name);
  }

  starts(name: string, variant?: string): number {
    return this.lines(name).filter(
      (line) => line.kind === "start" && (variant === undefined || line.variant === variant),
    ).length;
  }

  /** Lines of pods that found their predecessor alive; must stay empty. */
  overlaps(): readonly LedgerLine[] {
    return this.lines().filter(({ kind }) => kind === "both");
  }
}

function parseLine(line: string): LedgerLine {
  const [kind, name = "", variant = "", at = ""] = line.split(" ");
  if (kind !== "start" && kind !== "stop" && kind !== "both")
    throw new Error(`the ledger has a line that no pod wrote: ${line}`);
  return { kind, name, variant, at: Number(at) };
}

/** A pod without volumes, as an unsigned document may ask for; it ends at once on TERM. */
export function plainPod(name: string, variant = "1", fields: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      terminationGracePeriodSeconds: 2,
      containers: [
        {
          name: "main",
          image: BUSYBOX_1.name,
          command: ["sh", "-c", "trap 'exit 0' TERM; sleep 2147483647 & wait $!", "sh", variant],
        },
      ],
      ...fields,
    },
  };
}
