import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { checkVersion } from "../../../src/cri/check-version.ts";
import { grpcCriClient } from "../../../src/cri/cri-client.ts";
import { VersionResponseSchema } from "../../../src/cri/gen/runtime/v1/api_pb.ts";
import { until } from "../../fakes/fake-cri-clock.ts";
import { rejectionOf, serveRuntime } from "./served-runtime.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";

test("accepts a runtime that speaks v1", async () => {
  using served = await serveRuntime();
  const { client, endpoint } = served;
  expect(await checkVersion(client, { endpoint })).toMatchObject({ runtimeApiVersion: "v1" });
});

test("refuses any other version, naming both", async () => {
  const version = (): Promise<ReturnType<typeof create<typeof VersionResponseSchema>>> =>
    Promise.resolve(
      create(VersionResponseSchema, {
        runtimeName: "containerd",
        runtimeVersion: "1.5.9",
        runtimeApiVersion: "v1alpha2",
      }),
    );
  expect(await rejectionOf(checkVersion({ version }, { endpoint: "unix:///x" }))).toMatchObject({
    reason: "UnsupportedCRIVersion",
    message:
      'containerd 1.5.9 at unix:///x serves CRI "v1alpha2", the agent requires "v1"; install containerd 1.6 or newer',
  });
});

test("a containerd with its CRI plugin disabled is told apart, with the line to change", async () => {
  using served = await serveRuntime({}, { cri: false });
  const { client, endpoint } = served;
  const rejection = await rejectionOf(checkVersion(client, { endpoint }));
  expect(rejection).toMatchObject({ reason: "CRINotServed" });
  expect(rejection).toHaveProperty(
    "message",
    expect.stringContaining('disabled_plugins = ["cri"]'),
  );
});

test("no socket, nobody behind it, and a silent runtime are three sentences", async () => {
  using served = await serveRuntime();
  const { clock, client, endpoint, runtime } = served;

  using absent = grpcCriClient({ endpoint: "unix:///nonexistent/c.sock", clock });
  const nothing = await rejectionOf(
    checkVersion(absent, { endpoint: "unix:///nonexistent/c.sock" }),
  );
  expect(nothing).toHaveProperty("reason", "RuntimeUnavailable");
  expect(String(nothing)).toContain("there is no socket unix:///nonexistent/c.sock; install and");

  runtime.faults.order("version", { type: "hang" });
  const silent = rejectionOf(checkVersion(client, { endpoint }));
  await until(() => runtime.calls.length === 1);
  clock.advance(10_000);
  expect(await silent).toHaveProperty("reason", "RuntimeUnavailable");
  expect(String(await silent)).toContain("accepts connections but does not answer");
});

test("a refusal of another kind is passed on as it is", async () => {
  using served = await serveRuntime();
  const { client, endpoint, runtime } = served;
  const code = GrpcCode.PERMISSION_DENIED;
  runtime.faults.order("version", { type: "fail", code, details: "no" });
  expect(await rejectionOf(checkVersion(client, { endpoint }))).toMatchObject({ code });
});
