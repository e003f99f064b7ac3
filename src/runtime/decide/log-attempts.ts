// Reads restart counts off log file names: the runtime may have forgotten a container, its log has not. kubelet: calcRestartCountByLogDir

/** Highest `<n>` of the files named `<n>.log` (also rotated, `<n>.log.<time>`); −1 = none. */
export function highestLogAttempt(entries: readonly { readonly name: string }[]): number {
  return entries.reduce((highest, { name }) => {
    const match = /^(\d{1,9})\.log(?:\.|$)/.exec(name);
    return match === null ? highest : Math.max(highest, Number(match[1]));
  }, -1);
}
