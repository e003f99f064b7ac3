// A TCP port of loopback that leads to a unix socket, for clients that know no unix sockets.

import { connect, createServer, type Socket } from "node:net";

export interface UnixProxy extends AsyncDisposable {
  readonly port: number;
}

export async function startUnixProxy(socket: string): Promise<UnixProxy> {
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const agent = connect(socket);
    open.add(client);
    client.once("close", () => open.delete(client));
    client.pipe(agent).pipe(client);
    for (const end of [client, agent])
      end.on("error", () => {
        client.destroy();
        agent.destroy();
      });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      for (const client of open) client.destroy();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}
