// Where containers log, as Kubernetes names it: log shippers and `crictl` expect these paths.

interface LogPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** `<podLogsDir>/<namespace>_<name>_<uid>` */
export function podLogDirectory(podLogsDir: string, { namespace, name, uid }: LogPod): string {
  return `${podLogsDir.replace(/\/+$/, "")}/${namespace}_${name}_${uid}`;
}

/** Relative to the pod's log directory: `<container>/<attempt>.log`. */
export function containerLogPath(container: string, attempt: number): string {
  return `${container}/${attempt}.log`;
}

/** In the log directory of a pod that was replaced: its spec and last status, and the mark that its logs are kept. */
export const REPLACED_MARK = ".replaced.json";

/** The pod a directory below podLogsDir belongs to; undefined = it is not a pod's. Inverse of podLogDirectory. */
export function parsePodLogDirectory(entry: string): LogPod | undefined {
  // Neither names nor UIDs contain an underscore.
  const [namespace, name, uid, ...more] = entry.split("_");
  if (namespace === undefined || name === undefined || uid === undefined) return undefined;
  if (more.length > 0 || namespace === "" || name === "" || uid === "") return undefined;
  return { namespace, name, uid };
}
