// Performs: carries the bytes of a SPDY connection in the binary messages of a WebSocket. k8s: port forwarding over
// WebSockets

import type { Socket } from "node:net";
import { writtenTo } from "../../host/tunnel/join-socket.ts";
import { forward } from "./command-channels.ts";
import { NORMAL, type WebSocketPeer } from "./web-socket.ts";

/** `head`: what the runtime has sent already. Resolves when both sides are gone. */
export async function serveTunnel(
  peer: WebSocketPeer,
  runtime: Socket,
  head: Uint8Array,
): Promise<void> {
  void peer.closed.then(() => runtime.destroy());
  peer.receive((message) => writtenTo(runtime, message));
  if (head.length > 0) await peer.send(head);
  await forward(runtime, (data) => peer.send(data));
  peer.close(NORMAL);
  runtime.destroy();
  await peer.closed;
}
