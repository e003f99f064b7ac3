import { expect, test } from "bun:test";
import { ContainerEventType } from "../../../src/cri/gen/runtime/v1/api_pb.ts";
import { until } from "../../fakes/fake-cri-clock.ts";
import { rejectionOf, SANDBOX, serveRuntime } from "./served-runtime.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";

async function collect<T>(stream: AsyncIterable<T>, into: T[]): Promise<void> {
  for await (const item of stream) into.push(item);
}

test("yields CRI's events until the runtime ends the stream", async () => {
  using served = await serveRuntime({ servesContainerEvents: true });
  const { client, runtime } = served;
  const seen: unknown[] = [];
  const reading = collect(client.getContainerEvents(), seen);
  await until(() => runtime.events.subscribers === 1);
  const containerId = await client.runPodSandbox({ config: SANDBOX });
  await until(() => seen.length === 2);
  runtime.events.end();
  await reading;
  expect(seen).toMatchObject([
    { containerId, containerEventType: ContainerEventType.CONTAINER_CREATED_EVENT },
    { containerId, containerEventType: ContainerEventType.CONTAINER_STARTED_EVENT },
  ]);
});

test("leaving the loop cancels the stream on the server", async () => {
  using served = await serveRuntime({ servesContainerEvents: true });
  const { client, runtime } = served;
  const stream = client.getContainerEvents()[Symbol.asyncIterator]();
  const first = stream.next();
  await until(() => runtime.events.subscribers === 1);
  await client.runPodSandbox({ config: SANDBOX });
  await first;
  await stream.return?.();
  await until(() => runtime.events.subscribers === 0);
});

test("an abort and a dead daemon both throw, each with its own code", async () => {
  using served = await serveRuntime({ servesContainerEvents: true });
  const { client, runtime } = served;
  const stop = new AbortController();
  const aborted = rejectionOf(collect(client.getContainerEvents({ signal: stop.signal }), []));
  await until(() => runtime.events.subscribers === 1);
  stop.abort();
  expect(await aborted).toMatchObject({ code: GrpcCode.CANCELED });

  const broken = rejectionOf(collect(client.getContainerEvents(), []));
  await until(() => runtime.events.subscribers === 1);
  served.killServer();
  expect(await broken).toMatchObject({ outcome: "unknown", call: "GetContainerEvents" });
});

test("a runtime without the call says so", async () => {
  using served = await serveRuntime();
  const rejection = await rejectionOf(collect(served.client.getContainerEvents(), []));
  expect(rejection).toMatchObject({ code: GrpcCode.UNIMPLEMENTED, outcome: "refused" });
});
