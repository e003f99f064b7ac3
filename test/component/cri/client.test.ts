import { expect, test } from "bun:test";
import { grpcCriClient } from "../../../src/cri/cri-client.ts";
import {
  ContainerState,
  ImageService,
  PodSandboxState,
  RuntimeService,
} from "../../../src/cri/gen/runtime/v1/api_pb.ts";
import { until, ManualClock } from "../../fakes/fake-cri-clock.ts";
import type { CallName, Fault } from "../../fakes/fake-cri-faults.ts";
import { CONTAINER, rejectionOf, SANDBOX, serveRuntime } from "./served-runtime.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";

const IMAGES = ["local/app:1"];
const HANG: Fault = { type: "hang" };

// Lists in pieces and whole-pod checkpoints: nobody above asks for them.
const UNUSED = [
  "StreamPodSandboxes",
  "StreamContainers",
  "StreamContainerStats",
  "StreamPodSandboxStats",
  "StreamPodSandboxMetrics",
  "StreamImages",
  "CheckpointPod",
  "RestorePod",
];

test("every rpc of CRI but the listed ones has a method of the same name", () => {
  const rpcs = [...RuntimeService.methods, ...ImageService.methods].map(({ name }) => name);
  using client = grpcCriClient({
    endpoint: "unix:///nonexistent/c.sock",
    clock: new ManualClock(),
  });
  const methods = Object.keys(client);
  const missing = rpcs.filter((name) => !methods.includes(name[0]!.toLowerCase() + name.slice(1)));
  expect(missing.toSorted()).toEqual(UNUSED.toSorted());
});

test("carries the life of a pod over the wire without losing a field", async () => {
  using served = await serveRuntime({ images: IMAGES });
  const { client, runtime } = served;
  const sandboxId = await client.runPodSandbox({ config: SANDBOX, runtimeHandler: "kata" });
  const id = await client.createContainer({
    sandboxId,
    config: CONTAINER,
    sandboxConfig: SANDBOX,
  });
  await client.startContainer(id);

  expect(runtime.sandboxes.get(sandboxId)).toMatchObject({
    runtimeHandler: "kata",
    config: SANDBOX,
  });
  const { envs, ...config } = CONTAINER;
  expect(runtime.containers.get(id)?.config).toMatchObject(config);
  expect([...runtime.containers.get(id)!.config.envs[0]!.value]).toEqual([...envs[0]!.value]);
  expect((await client.podSandboxStatus(sandboxId)).status).toMatchObject({
    state: PodSandboxState.SANDBOX_READY,
    network: { ip: "10.88.0.1" },
  });
  expect((await client.containerStatus(id)).status).toMatchObject({
    state: ContainerState.CONTAINER_RUNNING,
    metadata: { name: "app", attempt: 2 },
    logPath: "/var/log/pods/default_web_u-1/app/2.log",
    startedAt: BigInt(served.clock.now()) * 1_000_000n,
  });

  await client.stopContainer(id, 30);
  expect((await client.containerStatus(id)).status).toMatchObject({
    state: ContainerState.CONTAINER_EXITED,
    exitCode: 143,
  });
  expect(runtime.calls.at(-2)).toMatchObject({ call: "stopContainer", args: [id, 30] });
  await client.removeContainer(id);
  await client.stopPodSandbox(sandboxId);
  expect(await client.listContainers({ podSandboxId: sandboxId })).toEqual([]);
  await client.removePodSandbox(sandboxId);
  expect(await client.listPodSandbox()).toEqual([]);
});

test("gives plain answers to every other call", async () => {
  using served = await serveRuntime({
    images: IMAGES,
    exec: (_, cmd) => ({ exitCode: 3, stdout: cmd.join(" "), stderr: "oops" }),
  });
  const { client, runtime } = served;
  const sandboxId = await client.runPodSandbox({ config: SANDBOX });
  const id = await client.createContainer({
    sandboxId,
    config: CONTAINER,
    sandboxConfig: SANDBOX,
  });
  await client.startContainer(id);

  const done = await client.execSync(id, { cmd: ["echo", "hi"], timeoutSeconds: 1 });
  const text = new TextDecoder();
  expect([done.exitCode, text.decode(done.stdout), text.decode(done.stderr)]).toEqual([
    3,
    "echo hi",
    "oops",
  ]);
  expect(await client.exec({ containerId: id, cmd: ["sh"], stdin: true })).toContain("/exec/");
  expect(await client.attach({ containerId: id, stdout: true })).toContain("/attach/");
  expect(await client.portForward(sandboxId, [80])).toContain("/portforward/");
  expect((await client.status({ verbose: true })).info["config"]).toContain("pause");
  expect((await client.runtimeConfig()).linux?.cgroupDriver).toBe(1);
  await client.updateRuntimeConfig("10.1.0.0/16");
  expect(runtime.podCIDR).toBe("10.1.0.0/16");
  await client.updateContainerResources(id, { linux: { cpuShares: 3n }, annotations: { a: "b" } });
  expect(runtime.calls.at(-1)).toMatchObject({
    call: "updateContainerResources",
    args: [id, { linux: { cpuShares: 3n }, annotations: { a: "b" } }],
  });
  await client.updatePodSandboxResources(sandboxId, { resources: { cpuShares: 3n } });
  await client.reopenContainerLog(id);
  expect((await client.containerStats(id))?.attributes?.metadata?.name).toBe("app");
  expect(await client.listContainerStats({ podSandboxId: sandboxId })).toHaveLength(1);
  expect((await client.podSandboxStats(sandboxId))?.linux?.containers).toHaveLength(1);
  expect(await client.listPodSandboxStats({ id: "another" })).toHaveLength(0);
  expect(await client.listMetricDescriptors()).toEqual([]);
  expect(await client.listPodSandboxMetrics()).toEqual([]);

  const image = { image: "local/new:1" };
  expect(await client.imageStatus(image)).toBeUndefined();
  const reference = await client.pullImage({ image, auth: { username: "u", password: "p" } });
  expect(await client.imageStatus({ image: reference })).toMatchObject({
    repoTags: ["local/new:1"],
  });
  expect(runtime.calls.find(({ call }) => call === "pullImage")?.args[0]).toMatchObject({
    auth: { username: "u", password: "p" },
  });
  expect(await client.listImages(image)).toHaveLength(1);
  expect(await client.listImages()).toHaveLength(3);
  await client.removeImage(image);
  expect(await client.listImages(image)).toEqual([]);
  expect((await client.imageFsInfo()).imageFilesystems[0]?.usedBytes?.value).toBe(2000n);

  const checkpoint = { location: "/tmp/c.tar", timeoutSeconds: 5 };
  expect(await rejectionOf(client.checkpointContainer(id, checkpoint))).toMatchObject({
    code: GrpcCode.UNIMPLEMENTED,
  });
});

test("stopping and removing what is not there succeeds, anything else is an error", async () => {
  using served = await serveRuntime();
  const { client, runtime } = served;
  const calls: readonly [CallName, () => Promise<void>][] = [
    ["stopPodSandbox", () => client.stopPodSandbox("x")],
    ["removePodSandbox", () => client.removePodSandbox("x")],
    ["stopContainer", () => client.stopContainer("x", 1)],
    ["removeContainer", () => client.removeContainer("x")],
    ["removeImage", () => client.removeImage({ image: "x" })],
  ];
  for (const [call, run] of calls) {
    runtime.faults.order(call, { type: "fail", code: GrpcCode.NOT_FOUND, details: "not found" });
    await run();
    runtime.faults.order(call, { type: "fail", code: GrpcCode.UNKNOWN, details: "disk on fire" });
    expect(await rejectionOf(run())).toMatchObject({ outcome: "refused", details: "disk on fire" });
  }
  expect(await rejectionOf(client.startContainer("x"))).toMatchObject({
    code: GrpcCode.NOT_FOUND,
    reason: "NotFound",
    call: "StartContainer",
  });
});

test("a call without an answer ends at its own deadline, its outcome unknown", async () => {
  using served = await serveRuntime();
  const { client, clock, runtime } = served;
  const cases: readonly [CallName, number, () => Promise<unknown>][] = [
    ["version", 10, () => client.version()],
    ["status", 120, () => client.status()],
    ["runPodSandbox", 240, () => client.runPodSandbox({ config: SANDBOX })],
    ["stopContainer", 150, () => client.stopContainer("x", 30)],
    ["execSync", 15, () => client.execSync("x", { cmd: ["true"], timeoutSeconds: 5 })],
    ["imageStatus", 120, () => client.imageStatus({ image: "x" })],
    ["startContainer", 1.5, () => client.startContainer("x", { timeoutMs: 1500 })],
  ];
  for (const [call, seconds, run] of cases) {
    runtime.faults.order(call, HANG);
    let settled = false;
    const rejection = rejectionOf(run()).finally(() => (settled = true));
    await until(() => runtime.calls.at(-1)?.call === call);
    clock.advance(seconds * 1000 - 1);
    await client.version();
    expect([call, settled]).toEqual([call, false]);
    clock.advance(1);
    expect(await rejection).toMatchObject({
      code: GrpcCode.DEADLINE_EXCEEDED,
      outcome: "unknown",
      details: `no answer within ${seconds} s`,
    });
  }
});

test("a pull has no deadline, only its signal ends it", async () => {
  using served = await serveRuntime();
  const { client, clock, runtime } = served;
  runtime.faults.order("pullImage", HANG);
  const stop = new AbortController();
  const pull = client.pullImage({ image: { image: "x" } }, { signal: stop.signal });
  const rejection = rejectionOf(pull);
  await until(() => runtime.calls.length === 1);
  clock.advance(24 * 3600 * 1000);
  await client.version();
  stop.abort();
  expect(await rejection).toMatchObject({ code: GrpcCode.CANCELED, outcome: "unknown" });
});

test("no call outlives its timer: a finished call leaves nothing behind", async () => {
  using served = await serveRuntime();
  await served.client.version();
  expect(served.clock.pending).toBe(0);
});

test("a step of the wall clock ends no call", async () => {
  using served = await serveRuntime();
  const { client, clock, runtime } = served;
  runtime.faults.order("version", { type: "delay", ms: 5000 });
  const version = client.version();
  await until(() => runtime.calls.length === 1 && clock.pending >= 2);
  clock.wallOffset += 50 * 365 * 24 * 3600 * 1000;
  clock.advance(5000);
  expect((await version).runtimeName).toBe("containerd");
});

test("an aborted signal refuses the call before it is sent", async () => {
  using served = await serveRuntime();
  const rejection = await rejectionOf(served.client.version({ signal: AbortSignal.abort() }));
  expect(rejection).toMatchObject({ code: GrpcCode.CANCELED });
});

test("a daemon that dies under a call leaves its outcome unknown; the next call connects again", async () => {
  using served = await serveRuntime();
  const { client, runtime } = served;
  runtime.faults.order("runPodSandbox", { type: "hang", effect: "happens" });
  const rejection = rejectionOf(client.runPodSandbox({ config: SANDBOX }));
  await until(() => runtime.sandboxes.size === 1);
  served.killServer();
  expect(await rejection).toMatchObject({ outcome: "unknown", call: "RunPodSandbox" });
  const refusal = await rejectionOf(client.version());
  expect(refusal).toMatchObject({ code: GrpcCode.UNAVAILABLE, outcome: "unknown" });
  expect(String(refusal)).toContain(`no connection to ${served.endpoint}`);

  await served.restartServer();
  let sandboxes = await client.listPodSandbox().catch(() => undefined);
  while (sandboxes === undefined) {
    await new Promise((resolve) => setImmediate(resolve));
    sandboxes = await client.listPodSandbox().catch(() => undefined);
  }
  expect(sandboxes).toHaveLength(1);
});

test("an answer larger than gRPC's usual 4 MB comes through", async () => {
  const labels = { big: "x".repeat(5_000_000) };
  using served = await serveRuntime();
  await served.client.runPodSandbox({ config: { ...SANDBOX, labels } });
  expect((await served.client.listPodSandbox())[0]?.labels).toEqual(labels);
});

test("images can live behind another socket", async () => {
  using runtime = await serveRuntime();
  using images = await serveRuntime({ images: IMAGES });
  using client = grpcCriClient({
    endpoint: runtime.endpoint,
    imageEndpoint: images.endpoint,
    clock: runtime.clock,
  });
  expect(await client.imageStatus({ image: "local/app:1" })).toBeDefined();
  await client.version();
  expect([runtime.runtime.callNames(), images.runtime.callNames()]).toEqual([
    ["version"],
    ["imageStatus"],
  ]);
});

test("an endpoint that is no unix socket is refused in a sentence", async () => {
  using served = await serveRuntime();
  const { clock } = served;
  for (const endpoint of ["", "/run/c.sock", "tcp://127.0.0.1:1", "unix://c.sock"])
    expect(() => grpcCriClient({ endpoint, clock })).toThrow(/is not a unix socket; write/);
});

test("of a command's output it reads 1 MiB", async () => {
  let stdout = "x".repeat(1024 * 1024 - 1024);
  using served = await serveRuntime({ images: IMAGES, exec: () => ({ exitCode: 0, stdout }) });
  const { client } = served;
  const sandboxId = await client.runPodSandbox({ config: SANDBOX });
  const id = await client.createContainer({
    sandboxId,
    config: CONTAINER,
    sandboxConfig: SANDBOX,
  });
  await client.startContainer(id);
  const args = { cmd: ["yes"], timeoutSeconds: 5 };
  expect((await client.execSync(id, args)).stdout.length).toBe(stdout.length);
  stdout = "x".repeat(1024 * 1024);
  expect(await rejectionOf(client.execSync(id, args))).toMatchObject({
    reason: "ResourceExhausted",
  });
});
