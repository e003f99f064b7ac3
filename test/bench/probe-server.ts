// What the probes of probe-cost.ts ask: one server for each kind, in a process of its own. Prints its ports as JSON.

import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";

const hostname = "127.0.0.1";
const http = Bun.serve({ hostname, port: 0, fetch: () => new Response("ok") });
const tcp = Bun.listen({
  hostname,
  port: 0,
  socket: { data: () => undefined, end: (socket) => void socket.end() },
});
const grpc = createServer();
grpc.on("sessionError", () => undefined);
grpc.on("stream", (stream: ServerHttp2Stream) => {
  stream.on("error", () => undefined);
  stream.resume();
  stream.on("end", () => {
    const head = { ":status": 200, "content-type": "application/grpc" };
    stream.respond(head, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
  });
});
grpc.listen(0, hostname, () => {
  const { port } = grpc.address() as AddressInfo;
  console.log(JSON.stringify({ http: http.port, tcp: tcp.port, grpc: port }));
});
