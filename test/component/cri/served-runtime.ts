// A client, a fake runtime and the socket between them.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { grpcCriClient, type GrpcCriClient } from "../../../src/cri/cri-client.ts";
import { GrpcChannel } from "../../../src/cri/grpc-connection.ts";
import { ManualClock } from "../../fakes/fake-cri-clock.ts";
import {
  startFakeCriServer,
  type FakeCriServer,
  type FakeCriServerOptions,
} from "../../fakes/fake-cri-server.ts";
import { FakeRuntime, type FakeRuntimeOptions } from "../../fakes/fake-runtime.ts";

export interface ServedRuntime extends Disposable {
  readonly clock: ManualClock;
  readonly runtime: FakeRuntime;
  readonly client: GrpcCriClient;
  readonly channel: GrpcChannel;
  readonly endpoint: string;
  /** Breaks all connections, as a killed daemon does. */
  killServer(): void;
  /** Listens again on the same path. */
  restartServer(): Promise<void>;
}

export async function serveRuntime(
  options: Omit<FakeRuntimeOptions, "clock"> = {},
  serverOptions: Omit<FakeCriServerOptions, "runtime" | "socket"> = {},
): Promise<ServedRuntime> {
  const directory = mkdtempSync(join(tmpdir(), "cri-"));
  const socket = join(directory, "c.sock");
  const clock = new ManualClock();
  const runtime = new FakeRuntime({ clock, ...options });
  const listen = (): Promise<FakeCriServer> =>
    startFakeCriServer({ runtime, socket, ...serverOptions });
  let server = await listen();
  const { endpoint } = server;
  const client = grpcCriClient({ endpoint, clock });
  const channel = new GrpcChannel({ endpoint, clock });
  return {
    clock,
    runtime,
    client,
    channel,
    endpoint,
    killServer: () => server[Symbol.dispose](),
    restartServer: async () => {
      rmSync(socket, { force: true });
      server = await listen();
    },
    [Symbol.dispose]: (): void => {
      client[Symbol.dispose]();
      channel[Symbol.dispose]();
      server[Symbol.dispose]();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** What a promise was rejected with; throws if it was not. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (thrown) {
    return thrown;
  }
  throw new Error("expected a rejection");
}

export const SANDBOX = {
  metadata: { name: "web", namespace: "default", uid: "u-1", attempt: 0 },
  hostname: "web",
  logDirectory: "/var/log/pods/default_web_u-1",
  labels: { "io.kubernetes.pod.uid": "u-1" },
  annotations: { "agent/source": "file" },
};

export const CONTAINER = {
  metadata: { name: "app", attempt: 2 },
  image: { image: "local/app:1" },
  envs: [{ key: "A", value: new TextEncoder().encode("b=c\n") }],
  logPath: "app/2.log",
  linux: { resources: { memoryLimitInBytes: 2n ** 40n, cpuShares: 2n } },
  cdiDevices: [{ name: "vendor.com/class=0" }],
};
