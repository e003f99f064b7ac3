// Performs: `agent port-forward`: listens on ports of this machine, and carries each connection to a port of a pod over a
// stream of its own, so that none holds up another and a restarted pod is found again.

import { createServer, isIP, type AddressInfo, type Server, type Socket } from "node:net";
import { aborted } from "../../lib/clock.ts";
import { errorCode, messageOf } from "../../lib/errors.ts";
import { statusOf } from "../../server/stream/command-channels.ts";
import { openPort } from "../../server/stream/port-channels.ts";
import { CliError, UsageError } from "../exit-codes.ts";
import type { VerbCall } from "../define-verb.ts";
import type { LocalClient } from "../local-client.ts";
import type { Terminal } from "../process-io.ts";
import { printableText } from "../terminal-text.ts";
import { openStream } from "./agent-stream.ts";
import {
  forwardedPort,
  hostPort,
  listenAddresses,
  type ForwardedPort,
  type ListenAddress,
} from "./forwarded-ports.ts";
import { containersOf, isPodView, podNameOf } from "./pod-target.ts";

interface Forward {
  readonly client: LocalClient;
  readonly namespace: string;
  readonly pod: string;
  readonly terminal: Terminal;
}

interface ForwardFlags {
  readonly namespace: string;
  readonly address: string;
}

/** Until Ctrl-C. Throws UsageError, and CliError if nothing can be listened on. */
export async function portForward(call: VerbCall): Promise<0> {
  const { args, flags, terminal, connect } = call;
  const { namespace, address } = flags<ForwardFlags>();
  const [written, ...ports] = args;
  const pod = podNameOf(written, "agent port-forward POD [LOCAL_PORT:]REMOTE_PORT");
  if (ports.length === 0) throw new UsageError("at least 1 PORT is required for port-forward");
  const client = await connect();
  const view = await client.pod({ namespace, name: pod }, isPodView);
  const wanted = ports.map((port) => forwardedPort(port, containersOf(view)));
  const addresses = listenAddresses(address, (text) => isIP(text) !== 0);
  const { phase = "Unknown" } = view.status;
  if (phase !== "Running")
    throw new CliError(
      `unable to forward port because pod is not running. Current status=${phase}`,
    );
  const interrupted = terminal.interrupted();
  const forward = { client, namespace, pod, terminal };
  const servers: Server[] = [];
  for (const port of wanted) servers.push(...(await listenAll(forward, port, addresses)));
  await aborted(interrupted);
  for (const server of servers) server.close();
  return 0;
}

/** All addresses have the same local port. Rejects with CliError if there is none to listen on. */
async function listenAll(
  forward: Forward,
  { local, remote }: ForwardedPort,
  addresses: readonly ListenAddress[],
): Promise<readonly Server[]> {
  const servers: Server[] = [];
  const problems: string[] = [];
  let port = local;
  for (const { host, isOptional } of addresses) {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      void carry(forward, socket, { local: port, remote });
    });
    try {
      port = await listening(server, host, port);
    } catch (error) {
      const problem = `unable to listen on ${hostPort(host, port)}: ${reasonOf(error)}`;
      if (!isOptional) throw new CliError(problem, error);
      problems.push(problem);
      continue;
    }
    servers.push(server);
    forward.terminal.out(`Forwarding from ${hostPort(host, port)} -> ${remote}\n`);
  }
  if (servers.length === 0)
    throw new CliError(`unable to listen on any of the requested ports: ${problems.join("; ")}`);
  return servers;
}

function listening(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      server.on("error", () => undefined);
      resolve(portOf(server.address()) ?? port);
    });
  });
}

function portOf(address: AddressInfo | string | null): number | undefined {
  return typeof address === "object" ? address?.port : undefined;
}

function reasonOf(error: unknown): string {
  switch (errorCode(error)) {
    case "EADDRINUSE":
      return "address already in use";
    case "EACCES":
      return "permission denied";
  }
  return messageOf(error);
}

async function carry(
  { client, namespace, pod, terminal }: Forward,
  socket: Socket,
  { local, remote }: ForwardedPort,
): Promise<void> {
  socket.on("error", () => socket.destroy());
  terminal.out(`Handling connection for ${local}\n`);
  try {
    const query = new URLSearchParams({ ports: String(remote) });
    const stream = { namespace, pod, verb: "portforward", query } as const;
    await join(socket, await openStream(client, stream, terminal.clock), remote);
  } catch (error) {
    const why = printableText(messageOf(error).trim());
    terminal.err(`an error occurred forwarding ${local} -> ${remote}: ${why}\n`);
    socket.destroy();
  }
}

/** Rejects with the runtime's error, such as that nothing listens on the port. */
async function join(
  socket: Socket,
  connection: Awaited<ReturnType<typeof openStream>>,
  remote: number,
): Promise<void> {
  using _connection = { [Symbol.dispose]: () => connection.destroy() };
  const { data, error } = await openPort(connection, remote, 0);
  const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  if (socket.destroyed) return;
  socket.pipe(data);
  // The end of the pod's data reaches the local client after the runtime's verdict, or the client would be gone before it.
  data.pipe(socket, { end: false });
  const ended = new Promise<void>((resolve) => void data.once("end", () => resolve()));
  void ended.then(() => data.end());
  void closed.then(() => connection.destroy());
  const problem = new TextDecoder().decode(await statusOf(error));
  if (problem !== "") throw new CliError(problem);
  await Promise.race([ended, closed]);
  socket.end();
  // What the pod has sent may still be on its way to the client.
  await closed;
}
