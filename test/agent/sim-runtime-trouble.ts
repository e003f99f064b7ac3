// What may happen to the runtime of a simulated machine, and to what runs in it.

import type { Fault } from "../fakes/fake-cri-faults.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import type { SimJudge } from "./sim-judge.ts";
import type { SimMachine } from "./sim-machine.ts";
import type { SimAct } from "./sim-steps.ts";
import { GrpcCode } from "../../src/lib/grpc-code.ts";

export type RuntimeTrouble = Extract<
  SimAct,
  {
    readonly type:
      | "Exit"
      | "KillSandbox"
      | "Lose"
      | "Fault"
      | "ClearFaults"
      | "Mute"
      | "EndStream"
      | "Network"
      | "Images"
      | "Daemon"
      | "ImageDisk";
  }
>;

export function troubleRuntime(act: RuntimeTrouble, machine: SimMachine, judge: SimJudge): void {
  const { runtime } = machine;
  switch (act.type) {
    case "Exit": {
      const container = aliveOne(machine, judge, act.index);
      return container && runtime.exit(container.id, act.exitCode);
    }
    case "KillSandbox":
      return killSandbox(machine, judge, act.index);
    case "Lose": {
      const container = aliveOne(machine, judge, act.index);
      if (container === undefined) return;
      judge.onLost(container);
      return runtime.lose(container.id);
    }
    case "Fault":
      return runtime.faults.order(act.call, faultOf(act), { times: act.times });
    case "ClearFaults":
      return runtime.faults.clear();
    case "Mute":
      runtime.events.muted = act.muted;
      return;
    case "EndStream":
      return runtime.events.end(act.broken ? new Error("stream broke") : undefined);
    case "Network":
      runtime.networkReady = act.ready;
      return;
    case "Images":
      return machine.bringImages(act.there);
    case "Daemon":
      if (!act.up) return runtime.stop();
      judge.pressure.onRuntimeStart();
      return runtime.start();
    case "ImageDisk":
      return machine.imageDisk.fill(act.percent);
  }
}

function killSandbox({ runtime }: SimMachine, judge: SimJudge, index: number): void {
  const ours = [...runtime.sandboxes.values()].filter(
    ({ id, ready }) => ready && !judge.foreign.has(id),
  );
  const sandbox = ours[index % Math.max(1, ours.length)];
  if (sandbox === undefined) return;
  judge.onSandboxDeath(sandbox.id);
  runtime.killSandbox(sandbox.id);
}

function aliveOne(
  { runtime }: SimMachine,
  judge: SimJudge,
  index: number,
): FakeContainer | undefined {
  const ours = runtime.running().filter(({ id }) => runtime.isAlive(id) && !judge.foreign.has(id));
  return ours[index % Math.max(1, ours.length)];
}

function faultOf(act: Extract<SimAct, { type: "Fault" }>): Fault {
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
