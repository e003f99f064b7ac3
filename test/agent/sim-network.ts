// The network between the agent and the pods of a simulated machine, as probes and hooks use it.

import type { ProbeEdge } from "../../src/host/probe-edge.ts";
import { AgentError } from "../../src/lib/errors.ts";
import type { FakeRuntime } from "../fakes/fake-runtime.ts";
import type { Mortal } from "./sim-mortal.ts";

export interface NetworkOptions {
  readonly runtime: FakeRuntime;
  readonly mortal: Mortal;
  /** Whether the pod of this sandbox answers well. */
  readonly isWell: (sandboxId: string) => boolean;
}

/** Whoever has a sandbox's address and lives answers at once. */
export function simNetwork({ runtime, mortal, isWell }: NetworkOptions): ProbeEdge {
  const ask = (host: string): Promise<boolean> => {
    if (!mortal.act()) return new Promise(() => undefined);
    const sandbox = [...runtime.sandboxes.values()].find(({ ip, ready }) => ready && ip === host);
    const runs = runtime.running().some(({ id, sandboxId }) => {
      return sandboxId === sandbox?.id && runtime.isAlive(id);
    });
    if (sandbox !== undefined && runs) return mortal.answer(Promise.resolve(isWell(sandbox.id)));
    const message = `${host}: connection refused`;
    return mortal.answer(Promise.reject(new AgentError({ reason: "ConnectionFailed", message })));
  };
  return {
    httpGet: async ({ host }) => ({
      status: (await ask(host)) ? 200 : 500,
      location: "",
      body: "",
    }),
    tcpConnect: async ({ host }) => {
      if (await ask(host)) return;
      throw new AgentError({ reason: "Timeout", message: `${host}: no answer` });
    },
    grpcHealth: async ({ host }) => ((await ask(host)) ? "SERVING" : "NOT_SERVING"),
  };
}
