// A fault of a step in the fake runtime's words.

import { GrpcCode } from "../../src/cri/cri-error.ts";
import type { Fault } from "../fakes/fake-cri-faults.ts";
import type { SimAct } from "./sim-steps.ts";

export function faultOf(act: Extract<SimAct, { type: "Fault" }>): Fault {
  const unknown = { code: GrpcCode.UNKNOWN, details: "ttrpc: closed: unknown" };
  const away = { code: GrpcCode.UNAVAILABLE, details: "connection reset by peer" };
  switch (act.kind) {
    case "fail":
      return { type: "fail", ...unknown };
    case "unavailable":
      return { type: "fail", ...away };
    case "failHappened":
      return { type: "fail", ...away, effect: "happens" };
    case "hang":
      return { type: "hang" };
    case "hangHappened":
      return { type: "hang", effect: "happens" };
    case "leaked":
      return { type: "hang", keepsName: true };
    case "delay":
      return { type: "delay", ms: act.ms };
    case "reserved": {
      const kind = act.call === "runPodSandbox" ? "sandbox" : "container";
      const details = `failed to reserve ${kind} name "x": name "x" is reserved for "y"`;
      return { type: "fail", code: GrpcCode.UNKNOWN, details };
    }
  }
}
