import { describe, expect, test } from "bun:test";
import type { RecordedEvent } from "../../../src/api/v1/events.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { CreatingPlaces } from "../../../src/runtime/creating-places.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { ActionInput } from "../../../src/runtime/decide/action-input.ts";
import type { PodConfigs } from "../../../src/runtime/pod-configs.ts";
import { GracePeriod } from "../../../src/runtime/grace-period.ts";
import type { PodKiller } from "../../../src/runtime/kill-pod.ts";
import { PodRuntime } from "../../../src/runtime/pod-runtime.ts";
import { sandboxConfig } from "../../../src/runtime/cri-config/sandbox-config.ts";
import type { ContainerStarter } from "../../../src/runtime/start-container.ts";
import { aDesiredPod } from "../../fakes/a-pod.ts";
import { sandboxFacts } from "../../fakes/config-facts.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeRuntime } from "../../fakes/fake-runtime.ts";

interface World {
  readonly cri: FakeRuntime;
  readonly events: string[];
  readonly create: () => Promise<unknown>;
}

function worldOf(configs: Partial<PodConfigs>): World {
  const clock = new VirtualClock();
  const cri = new FakeRuntime({ clock });
  const events: string[] = [];
  const given: Partial<PodConfigs> = {
    sandbox: (desired) => sandboxConfig(desired, sandboxFacts()),
    runtimeHandler: () => "",
    prepareCgroup: () => undefined,
    settleCgroup: () => undefined,
    ...configs,
  };
  const runtime = new PodRuntime({
    cri,
    clock,
    log: createLogger({ clock, level: "error", write: () => undefined }),
    configs: given as PodConfigs,
    ensureImage: () => Promise.reject(new Error("nobody asks for an image")),
    creating: new CreatingPlaces({ priorityClasses: {}, places: 1 }),
    starter: undefined as unknown as ContainerStarter,
    killer: undefined as unknown as PodKiller,
    record: ({ reason, message }: Pick<RecordedEvent, "reason" | "message">) =>
      void events.push(`${reason}: ${message}`),
  });
  const input: ActionInput = {
    desired: aDesiredPod(),
    observed: undefined,
    sandbox: undefined,
    activeSince: 0,
    volumes: new Map(),
    images: new Map(),
    reserved: { sandbox: 0, containers: new Map() },
    signal: new AbortController().signal,
    grace: (seconds) => new GracePeriod(seconds),
    onHook: () => undefined,
    onHookFailed: () => undefined,
  };
  return {
    cri,
    events,
    create: () => runtime.perform({ type: "CreateSandbox", attempt: 0 }, input),
  };
}

describe("a new sandbox", () => {
  test("is made by the handler of its class", async () => {
    const { cri, create } = worldOf({ runtimeHandler: () => "runsc" });
    await create();
    const made = cri.calls.find(({ call }) => call === "runPodSandbox");
    expect(made?.args).toMatchObject([{ runtimeHandler: "runsc" }]);
  });

  test("that this node refuses says so in its own words, and the runtime is not asked", async () => {
    const message = "hostUsers: false needs a runtime with user namespaces";
    const { cri, events, create } = worldOf({
      sandbox: () => {
        throw new AgentError({ reason: "UnsupportedByRuntime", message });
      },
    });
    const error = await create().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: "UnsupportedByRuntime", message });
    expect(events).toEqual([`FailedCreatePodSandBox: Failed to create pod sandbox: ${message}`]);
    expect(cri.calls).toEqual([]);
  });

  test("that the runtime refuses has one reason for all of its answers", async () => {
    const { cri, create } = worldOf({});
    cri.faults.order("runPodSandbox", { type: "fail", code: 2, details: "no runc" });
    const error = await create().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: "CreatePodSandboxError" });
  });
});
