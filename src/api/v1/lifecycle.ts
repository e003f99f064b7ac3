// Lifecycle hooks of a container, postStart and preStop, and its stopSignal. k8s: validateLifecycle

import { hinted, type Message } from "../decode/field-errors.ts";
import { refused } from "../decode/field-rules.ts";
import {
  converted,
  fieldOf,
  integer,
  objectType,
  string,
  unread,
  type Decoded,
  type ObjectOf,
} from "../schema/codec.ts";
import type { Type } from "../schema/type.ts";
import { exactlyOne, tagged, untagged, type Tagged } from "../schema/union.ts";
import { EXEC_HANDLER, HTTP_GET } from "./probe.ts";
import { didYouMean } from "../../lib/suggest.ts";

/** Validated against the pod's grace period. */
const SLEEP = objectType("SleepAction", {
  seconds: integer({ about: "Duration of the sleep, in seconds.", default: 0, marked: true }),
});

const HOOK_HANDLERS = {
  exec: EXEC_HANDLER,
  httpGet: fieldOf(HTTP_GET)({ about: "Sends an HTTP request." }),
  sleep: fieldOf(SLEEP)({ about: "Waits." }),
};

export type LifecycleHandler = Tagged<ObjectOf<typeof HOOK_HANDLERS>>;

export type SleepHandler = Extract<LifecycleHandler, { type: "sleep" }>;

const HOOK_FIELDS = {
  ...HOOK_HANDLERS,
  // Kubernetes accepts it and lets each hook fail at run time.
  tcpSocket: unread(
    "TCPSocketAction",
    "Opens a TCP connection; Kubernetes never does it either.",
    refused({
      code: "Unsupported",
      message: "TCPSocket is NOT supported as a LifecycleHandler; use exec, httpGet or sleep",
    }),
  ),
};

export const LIFECYCLE_HANDLER: Type<LifecycleHandler> = converted(
  objectType("LifecycleHandler", HOOK_FIELDS, {
    union: Object.keys(HOOK_FIELDS),
    check: (_, node) => exactlyOne(node, Object.keys(HOOK_FIELDS), "handler type"),
  }),
  { to: tagged, from: untagged<ObjectOf<typeof HOOK_HANDLERS>> },
);

const NAMED_SIGNALS =
  "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS " +
  "TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ";

/** `SIGTERM`, …, `SIGRTMIN`, `SIGRTMIN+1` to `+15`, `SIGRTMAX-14` to `-1`, `SIGRTMAX`. */
export const STOP_SIGNALS: ReadonlySet<string> = new Set([
  ...NAMED_SIGNALS.split(" ").map((name) => `SIG${name}`),
  "SIGRTMIN",
  ...Array.from({ length: 15 }, (_, index) => `SIGRTMIN+${index + 1}`),
  ...Array.from({ length: 14 }, (_, index) => `SIGRTMAX-${14 - index}`),
  "SIGRTMAX",
]);

function signalError(signal: string): Message | undefined {
  if (STOP_SIGNALS.has(signal)) return undefined;
  const meant = STOP_SIGNALS.has(`SIG${signal}`) ? `SIG${signal}` : signal;
  const message = 'must be a Linux signal such as "SIGTERM" or "SIGUSR1"';
  return hinted(message, () => didYouMean(meant, [...STOP_SIGNALS]));
}

export const LIFECYCLE = objectType("Lifecycle", {
  postStart: fieldOf(LIFECYCLE_HANDLER)({
    about: "Runs right after the container's start; if it fails, the container is stopped.",
  }),
  preStop: fieldOf(LIFECYCLE_HANDLER)({
    about: "Runs before the container is stopped, within the grace period.",
  }),
  stopSignal: string({
    about: "Signal that stops the container, such as SIGUSR1. Default: the image's, else SIGTERM.",
    keep: true,
    check: signalError,
    schema: { enum: [...STOP_SIGNALS, null] },
  }),
});

export type Lifecycle = Decoded<typeof LIFECYCLE>;
