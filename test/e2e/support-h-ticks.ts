// An app that is picky about its configuration and its image, and says ten times a second that it is alive.

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { readText } from "../harness/processes.ts";

/** How the app takes its configuration: `both` = it refuses to start unless both are good. */
export type Reads = "both" | "env" | "volume";

export interface TickingPod {
  readonly name: string;
  readonly image: string;
  readonly imagePullPolicy?: string;
  /** Part of the command; what serves is called `good…`. */
  readonly variant?: string;
  /** `crash`: it ends at once. `waits`: it works only once /data/now-it-works is there. */
  readonly behaviour?: "work" | "crash" | "waits";
  /** The ConfigMap. Default: `config`. */
  readonly config?: string;
  readonly reads?: Reads;
  /** The claim; absent = none. */
  readonly claim?: string | undefined;
  /** Merged into the spec and into the container. */
  readonly spec?: object;
  readonly container?: object;
}

export interface Tick {
  /** `mixed`: a revision found a configuration that is not its own. */
  readonly kind: "start" | "tick" | "refused" | "mixed";
  readonly variant: string;
  /** Of this one container. */
  readonly instance: string;
  /** Seconds since boot, in hundredths. */
  readonly at: number;
}

/**
 * All words are the shell's own: nothing is forked in the loop.
 * It ends half a second after TERM, so that a successor that does not wait for it is seen.
 */
const SCRIPT = `
name=$1 variant=$2 behaviour=$3 reads=$4
read -r id </proc/sys/kernel/random/uuid
note() { read -r at rest </proc/uptime; echo "$1 $variant $id $at" >>"/ticks/$name"; }
check() {
  mode=good
  case $reads in both|volume) mode=; read -r mode </config/mode ;; esac # No line break ends it.
  [ "$mode" = good ] || { note refused; exit 1; }
  [ -z "$EDITION" ] && return
  edition=; read -r edition </config/edition
  [ "$edition" = "$EDITION" ] && [ "$edition" = "\${variant##*-}" ] || note mixed
}
left=
trap 'left=5' TERM
read -r version </etc/image-version
[ "$version" = broken ] && { note refused; exit 1; }
case $reads in both|env) [ "$MODE" = good ] || { note refused; exit 1; } ;; esac
check
note start
[ "$behaviour" = crash ] && exit 3
[ "$behaviour" = waits ] && [ ! -e /data/now-it-works ] && exit 4
echo "$variant" >>/data/starts
[ -d /claim ] && echo "$variant" >>/claim/starts
mkfifo /tmp/never
exec 9<>/tmp/never
while [ "$left" != 0 ]; do
  note tick
  read -r -t 0.1 word <&9
  check
  [ -n "$left" ] && left=$((left - 1))
done
exit 0
`;

export class Ticks {
  readonly directory: string;
  /** Data of the pods on the host. */
  readonly data: string;

  constructor(directory: string) {
    this.directory = join(directory, "ticks");
    this.data = join(directory, "data");
    for (const path of [this.directory, this.data]) mkdirSync(path, { recursive: true });
  }

  pod(options: TickingPod): object {
    const { name, image, variant = "good", behaviour = "work", reads = "both" } = options;
    const { config = "config", claim, imagePullPolicy = "IfNotPresent" } = options;
    const env = {
      env: [{ name: "MODE", valueFrom: { configMapKeyRef: { name: config, key: "mode" } } }],
    };
    const path = (directory: string): object => ({ path: directory, type: "Directory" });
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default" },
      spec: {
        terminationGracePeriodSeconds: 2,
        containers: [
          {
            name: "main",
            image,
            imagePullPolicy,
            command: ["sh", "-c", SCRIPT, "sh", name, variant, behaviour, reads],
            ...(reads === "volume" ? {} : env),
            volumeMounts: [
              { name: "ticks", mountPath: "/ticks" },
              { name: "data", mountPath: "/data" },
              ...(reads === "env" ? [] : [{ name: "config", mountPath: "/config" }]),
              ...(claim === undefined ? [] : [{ name: "claim", mountPath: "/claim" }]),
            ],
            ...options.container,
          },
        ],
        volumes: [
          { name: "ticks", hostPath: path(this.directory) },
          { name: "data", hostPath: path(this.data) },
          ...(reads === "env" ? [] : [{ name: "config", configMap: { name: config } }]),
          ...(claim === undefined
            ? []
            : [{ name: "claim", persistentVolumeClaim: { claimName: claim } }]),
        ],
        ...options.spec,
      },
    };
  }

  lines(name: string): readonly Tick[] {
    const text = readText(join(this.directory, name)) ?? "";
    // The last line may be half written.
    return text.split("\n").slice(0, -1).map(parseTick);
  }

  /** Starts, those that ended at once among them. */
  starts(name: string, variant?: string): number {
    return this.lines(name).filter(
      (line) => line.kind !== "tick" && (variant === undefined || line.variant === variant),
    ).length;
  }

  /** Two containers of the pod that were alive at the same time, or one whose configuration was another's. */
  faults(name: string): readonly Tick[] {
    const lines = this.lines(name);
    const instances = new Set<string>();
    return lines.filter(({ kind, instance }, index) => {
      const isSuccessor = lines[index - 1]?.instance !== instance;
      const isBack = isSuccessor && instances.has(instance);
      instances.add(instance);
      return isBack || kind === "mixed";
    });
  }

  /** Seconds since then in which nothing that serves was alive, as far as one container took another's place. */
  downtime(names: readonly string[], since: number): number {
    const served = names
      .flatMap((name) => this.lines(name))
      .filter(({ kind, variant }) => kind === "tick" && variant.startsWith("good"))
      .toSorted((a, b) => a.at - b.at);
    let seconds = 0;
    for (const [index, tick] of served.entries()) {
      const before = served[index - 1];
      if (before === undefined || tick.at < since || before.instance === tick.instance) continue;
      seconds += tick.at - before.at;
    }
    return seconds;
  }
}

/** Seconds since boot, as the pods see them. */
export function uptime(): number {
  return Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]);
}

function parseTick(line: string): Tick {
  const [kind, variant = "", instance = "", at = ""] = line.split(" ");
  if (kind !== "start" && kind !== "tick" && kind !== "refused" && kind !== "mixed")
    throw new Error(`the ledger has a line that no pod wrote: ${line}`);
  return { kind, variant, instance, at: Number(at) };
}

export function configMap(mode: string, name = "config", more: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { mode, ...more } };
}

export function volumeClaim(name: string): object {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
  };
}
