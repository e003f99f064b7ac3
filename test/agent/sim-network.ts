// What probes and hooks of the agent hear of the pods of a simulated machine: over its network, and from commands.

import { LABEL } from "../../src/api/pod/labels.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";
import type { ProbeEdge } from "../../src/host/probe/probe-edge.ts";
import { AgentError } from "../../src/lib/errors.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import type { FakeRuntime } from "../fakes/fake-runtime.ts";
import { doorOfCommand, doorOfPort, type Door } from "./sim-doors.ts";
import type { Mortal } from "./sim-mortal.ts";
import { NAMES, type SimSpec } from "./sim-specs.ts";

/** One question that the agent has put, and what came of it; undefined = it is under way. */
export interface Knock {
  readonly containerId: string;
  readonly door: Door;
  readonly good: boolean | undefined;
}

export interface NetworkOptions {
  readonly runtime: FakeRuntime;
  readonly mortal: Mortal;
  readonly specs: ReadonlyMap<string, SimSpec>;
  readonly isWell: (container: FakeContainer) => boolean;
  readonly onKnock: (knock: Knock) => void;
}

/** Whoever has the address and lives answers at once. */
export function simNetwork(options: NetworkOptions): ProbeEdge {
  const { runtime, mortal, isWell, onKnock } = options;
  const ask = async (host: string, port: number): Promise<boolean> => {
    if (!mortal.act()) return new Promise(() => undefined);
    const door = doorOfPort(port)?.door;
    const there = door === undefined ? [] : behind(options, host, port);
    const [container] = there;
    if (door === undefined || container === undefined || !runtime.isAlive(container.id)) {
      // Whoever still believes in one of them hears that it is gone.
      if (door !== undefined)
        for (const { id } of there) onKnock({ containerId: id, door, good: false });
      const message = `${host}: connection refused`;
      const refused = new AgentError({ reason: "ConnectionFailed", message });
      return mortal.answer(Promise.reject(refused));
    }
    const containerId = container.id;
    onKnock({ containerId, door, good: undefined });
    const good = await mortal.answer(Promise.resolve(isWell(container)));
    onKnock({ containerId, door, good });
    return good;
  };
  return {
    httpGet: async ({ host, port }) => ({
      status: (await ask(host, port)) ? 200 : 500,
      location: "",
      body: "",
    }),
    tcpConnect: async ({ host, port }) => {
      if (await ask(host, port)) return;
      throw new AgentError({ reason: "Timeout", message: `${host}: no answer` });
    },
    grpcHealth: async ({ host, port }) => ((await ask(host, port)) ? "SERVING" : "NOT_SERVING"),
  };
}

/** The same client; commands of probes and hooks are overheard. */
export function overheard(cri: CriClient, onKnock: (knock: Knock) => void): CriClient {
  const execSync: CriClient["execSync"] = async (containerId, args, options) => {
    const door = doorOfCommand(args.cmd);
    const tell = (good: boolean | undefined): void => {
      if (door !== undefined) onKnock({ containerId, door, good });
    };
    tell(undefined);
    try {
      const answer = await cri.execSync(containerId, args, options);
      tell(answer.exitCode === 0);
      return answer;
    } catch (error) {
      tell(false);
      throw error;
    }
  };
  return new Proxy(cri, {
    get: (target, name): unknown =>
      name === "execSync" ? execSync : (Reflect.get(target, name, target) as unknown),
  });
}

/** Every instance that has had this door, the newest first. */
function behind(
  { runtime, specs }: NetworkOptions,
  host: string,
  port: number,
): readonly FakeContainer[] {
  const place = doorOfPort(port);
  if (place === undefined) return [];
  const all = [...runtime.containers.values()].filter(({ sandboxId, config }) => {
    const sandbox = runtime.sandboxes.get(sandboxId);
    const spec = specs.get(config.labels[LABEL.podUID] ?? "");
    if (sandbox === undefined || spec?.name !== NAMES[place.slot]) return false;
    const isThere = spec?.hostNetwork === true ? sandbox.ip === "" : sandbox.ip === host;
    return isThere && spec?.containers[place.index]?.name === config.metadata?.name;
  });
  return all.toSorted((x, y) => attemptOf(y) - attemptOf(x));
}

function attemptOf({ config }: FakeContainer): number {
  return config.metadata?.attempt ?? 0;
}
