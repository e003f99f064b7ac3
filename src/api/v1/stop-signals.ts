// The signals by which a container may ask to be stopped, spelt as Kubernetes spells them.

const NAMED =
  "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS " +
  "TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ";

/** `SIGTERM`, …, `SIGRTMIN`, `SIGRTMIN+1` to `+15`, `SIGRTMAX-14` to `-1`, `SIGRTMAX`. */
export const STOP_SIGNALS: ReadonlySet<string> = new Set([
  ...NAMED.split(" ").map((name) => `SIG${name}`),
  "SIGRTMIN",
  ...Array.from({ length: 15 }, (_, index) => `SIGRTMIN+${index + 1}`),
  ...Array.from({ length: 14 }, (_, index) => `SIGRTMAX-${14 - index}`),
  "SIGRTMAX",
]);
