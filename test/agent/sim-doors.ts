// Where the probes and hooks of a simulated container knock: each has a command and a port of its own, so that whoever
// hears the question knows whose it is.

import { PROBE_KINDS } from "../../src/prober/probed-instances.ts";
import type { ProbeKind } from "../../src/api/v1/probe.ts";

export type HookKind = "postStart" | "preStop";
export type Door =
  | { readonly type: "Probe"; readonly kind: ProbeKind }
  | { readonly type: "Hook"; readonly kind: HookKind };

/** A container of a pod: by the position of the pod's name and its own in the spec. */
export interface Place {
  readonly slot: number;
  readonly index: number;
}

const HOOK_KINDS: readonly HookKind[] = ["postStart", "preStop"];
const FIRST_PORT = 20_000;
/** Begin every command that a probe or a hook runs; the next word names the kind. */
const PROBE_COMMAND = "probe";
const HOOK_COMMAND = "hook";

export function probeHandler(
  how: "exec" | "httpGet" | "tcpSocket" | "grpc",
  place: Place,
  kind: ProbeKind,
): object {
  if (how === "exec") return { exec: { command: [PROBE_COMMAND, kind] } };
  return { [how]: { port: portOf(place, PROBE_KINDS.indexOf(kind)) } };
}

export function hookHandler(how: "exec" | "httpGet", place: Place, kind: HookKind): object {
  if (how === "exec") return { exec: { command: [HOOK_COMMAND, kind] } };
  return { httpGet: { port: portOf(place, PROBE_KINDS.length + HOOK_KINDS.indexOf(kind)) } };
}

export function doorOfCommand([word, kind]: readonly string[]): Door | undefined {
  const probe = PROBE_KINDS.find((one) => one === kind);
  if (word === PROBE_COMMAND && probe !== undefined) return { type: "Probe", kind: probe };
  const hook = HOOK_KINDS.find((one) => one === kind);
  return word === HOOK_COMMAND && hook !== undefined ? { type: "Hook", kind: hook } : undefined;
}

export function doorOfPort(port: number): (Place & { readonly door: Door }) | undefined {
  const number = port - FIRST_PORT;
  const slot = Math.floor(number / 100);
  const index = Math.floor((number % 100) / 10);
  const probe = PROBE_KINDS[number % 10];
  if (probe !== undefined) return { slot, index, door: { type: "Probe", kind: probe } };
  const hook = HOOK_KINDS[(number % 10) - PROBE_KINDS.length];
  return hook === undefined ? undefined : { slot, index, door: { type: "Hook", kind: hook } };
}

function portOf({ slot, index }: Place, door: number): number {
  return FIRST_PORT + slot * 100 + index * 10 + door;
}
