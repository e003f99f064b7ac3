import { expect, test } from "bun:test";

import { tcpConnect } from "../../../src/host/probe/real-probe-edge.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { connecting, freePort, probeServers, rejection } from "./probe-servers.ts";

const servers = probeServers();
const call = { timeoutMs: 1000 };

test("a connection is made and closed in good order", async () => {
  const clock = new VirtualClock();
  let ended = (): void => undefined;
  const inOrder = new Promise<void>((resolve) => (ended = resolve));
  const server = await servers.plain((socket) => {
    socket.on("end", ended);
    socket.on("end", () => socket.end());
    socket.resume();
  });
  await tcpConnect(clock, { host: "127.0.0.1", port: server.port }, call);
  // A reset would be an error, not an end.
  await inOrder;
  await server.closed();
  expect(clock.pending).toBe(0);
});

test("a connection over IPv6", async () => {
  const { port } = await servers.plain((socket) => void socket.end(), "::1");
  await tcpConnect(new VirtualClock(), { host: "::1", port }, call);
});

test("nobody listens", async () => {
  const clock = new VirtualClock();
  const port = await freePort();
  expect(await rejection(tcpConnect(clock, { host: "127.0.0.1", port }, call))).toBe(
    `ConnectionFailed: dial tcp 127.0.0.1:${port}: connect: connection refused`,
  );
  expect(clock.pending).toBe(0);
});

test("a connection that is not made in time is given up", async () => {
  const clock = new VirtualClock();
  const port = await servers.deaf();
  const before = connecting(port);
  const asked = rejection(tcpConnect(clock, { host: "127.0.0.1", port }, call));
  while (connecting(port) === before) await clock.settle();
  await clock.advance(1000);
  expect(await asked).toBe(`Timeout: dial tcp 127.0.0.1:${port}: i/o timeout`);
  while (connecting(port) > before) await clock.settle();
});
