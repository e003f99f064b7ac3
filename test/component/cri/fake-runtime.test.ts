import { expect, test } from "bun:test";
import { isNameReserved, isNetworkNotReady } from "../../../src/cri/cri-error.ts";
import { ContainerState } from "../../../src/cri/gen/runtime/v1/api_pb.ts";
import { ManualClock } from "../../fakes/fake-cri-clock.ts";
import { revocable } from "../../fakes/fake-cri-revocable.ts";
import { FakeRuntime, type FakeRuntimeOptions } from "../../fakes/fake-runtime.ts";
import { CONTAINER, rejectionOf, SANDBOX } from "./served-runtime.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";

// What a private containerd 1.6.20 was seen to do, asked of the model.

async function aContainer(
  options: Omit<FakeRuntimeOptions, "clock"> = {},
): Promise<{ clock: ManualClock; runtime: FakeRuntime; sandboxId: string; id: string }> {
  const clock = new ManualClock();
  const runtime = new FakeRuntime({ clock, images: ["local/app:1"], ...options });
  const sandboxId = await runtime.runPodSandbox({ config: SANDBOX });
  const id = await runtime.createContainer({
    sandboxId,
    config: CONTAINER,
    sandboxConfig: SANDBOX,
  });
  return { clock, runtime, sandboxId, id };
}

async function stateOf(runtime: FakeRuntime, id: string): Promise<readonly unknown[]> {
  const { status } = await runtime.containerStatus(id);
  return [status?.state, status?.exitCode, status?.reason];
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("names stay reserved until the container or sandbox is removed", async () => {
  const { runtime, sandboxId, id } = await aContainer();
  const again = { sandboxId, config: CONTAINER, sandboxConfig: SANDBOX };
  expect(isNameReserved(await rejectionOf(runtime.runPodSandbox({ config: SANDBOX })))).toBe(true);
  expect(isNameReserved(await rejectionOf(runtime.createContainer(again)))).toBe(true);
  await runtime.removeContainer(id);
  expect(await runtime.createContainer(again)).toBeString();
  await runtime.removePodSandbox(sandboxId);
  expect(await runtime.runPodSandbox({ config: SANDBOX })).toBeString();
  expect(await runtime.listContainers()).toEqual([]);
});

test("a container starts once, in a sandbox that is ready", async () => {
  const { runtime, sandboxId, id } = await aContainer();
  await runtime.startContainer(id);
  expect(await rejectionOf(runtime.startContainer(id))).toMatchObject({ outcome: "refused" });
  await runtime.stopPodSandbox(sandboxId);
  expect(await stateOf(runtime, id)).toEqual([ContainerState.CONTAINER_EXITED, 137, "Error"]);
  const config = { ...CONTAINER, metadata: { name: "app", attempt: 3 } };
  const late = runtime.createContainer({ sandboxId, config, sandboxConfig: SANDBOX });
  expect(await rejectionOf(late)).toMatchObject({ code: GrpcCode.NOT_FOUND });
});

test("stops within the grace period, or is killed at its end", async () => {
  const program = { stopsAfterMs: 5000, stopCode: 0 };
  const { clock, runtime, id } = await aContainer({ program: () => program });
  await runtime.startContainer(id);
  const killed = runtime.stopContainer(id, 2);
  await Promise.resolve();
  clock.advance(1999);
  expect(runtime.running()).toHaveLength(1);
  clock.advance(1);
  await killed;
  expect(await stateOf(runtime, id)).toEqual([ContainerState.CONTAINER_EXITED, 137, "Error"]);

  const obedient = await aContainer({ program: () => program });
  await obedient.runtime.startContainer(obedient.id);
  const stopped = obedient.runtime.stopContainer(obedient.id, 30);
  await Promise.resolve();
  obedient.clock.advance(5000);
  await stopped;
  expect(await stateOf(obedient.runtime, obedient.id)).toEqual([
    ContainerState.CONTAINER_EXITED,
    0,
    "Completed",
  ]);
});

test("the status lags behind the event of an exit", async () => {
  const { clock, runtime, id } = await aContainer({
    statusLagMs: 20,
    program: () => ({ exitsAfterMs: 100, exitCode: 7 }),
  });
  const events: unknown[] = [];
  const stop = new AbortController();
  const reading = (async () => {
    for await (const event of runtime.events.subscribe(stop.signal)) events.push(event);
  })();
  await runtime.startContainer(id);
  clock.advance(100);
  await turn();
  expect(events.slice(-2)).toEqual([
    { type: "Exited", id, exit: { code: 7, at: clock.now() } },
    { type: "Deleted", id },
  ]);
  expect((await stateOf(runtime, id))[0]).toBe(ContainerState.CONTAINER_RUNNING);
  clock.advance(20);
  expect(await stateOf(runtime, id)).toEqual([ContainerState.CONTAINER_EXITED, 7, "Error"]);
  stop.abort();
  await reading;
});

test("without a network only sandboxes on the host's network start, and others do not stop", async () => {
  const { runtime, sandboxId } = await aContainer();
  runtime.networkReady = false;
  const other = { ...SANDBOX, metadata: { ...SANDBOX.metadata, attempt: 1 } };
  expect(isNetworkNotReady(await rejectionOf(runtime.runPodSandbox({ config: other })))).toBe(true);
  expect(isNetworkNotReady(await rejectionOf(runtime.stopPodSandbox(sandboxId)))).toBe(true);
  const linux = { securityContext: { namespaceOptions: { network: 2 } } } as const;
  const onHost = { ...other, hostname: "", linux };
  const id = await runtime.runPodSandbox({ config: onHost });
  expect((await runtime.podSandboxStatus(id)).status?.network?.ip).toBe("");
});

test("a lost answer has happened all the same", async () => {
  const clock = new ManualClock();
  const runtime = new FakeRuntime({ clock });
  const code = GrpcCode.UNAVAILABLE;
  const lost = { type: "fail", code, details: "gone", effect: "happens" } as const;
  runtime.faults.order("runPodSandbox", lost);
  expect(await rejectionOf(runtime.runPodSandbox({ config: SANDBOX }))).toMatchObject({
    outcome: "unknown",
  });
  expect(await runtime.listPodSandbox()).toHaveLength(1);
});

test("a reboot stops everything and tells nobody; a stopped daemon refuses", async () => {
  const { runtime, id } = await aContainer();
  await runtime.startContainer(id);
  runtime.stop();
  expect(await rejectionOf(runtime.version())).toMatchObject({ code: GrpcCode.UNAVAILABLE });
  runtime.start();
  expect(runtime.running()).toHaveLength(1);
  runtime.reboot();
  expect(runtime.running()).toEqual([]);
  expect((await runtime.listPodSandbox())[0]?.state).toBe(1);
});

test("a revoked handle starts nothing and hears nothing, what had begun goes on", async () => {
  const { clock, runtime, id } = await aContainer({ latencyMs: { startContainer: 50 } });
  const handle = revocable(runtime, runtime.events);
  let heard = false;
  const begun = handle.cri.startContainer(id).finally(() => (heard = true));
  handle.revoke();
  void handle.cri.removeContainer(id).finally(() => (heard = true));
  clock.advance(50);
  await turn();
  expect(begun).toBeInstanceOf(Promise);
  expect([heard, runtime.running().length, runtime.containers.size]).toEqual([false, 1, 1]);
});
