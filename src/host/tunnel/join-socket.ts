// Performs: joins a stream of a tunnel to a socket, each no faster than the other takes it.

import type { Socket } from "node:net";
import type { StreamReceiver, TunnelStream } from "./tunnel-stream.ts";

/**
 * The end of one side is passed on to the other; an error closes both. `socket` is half-open. `data`: what the stream brings;
 * default: it is written to the socket. `cut`: default: the socket still gets what has come before it is closed.
 */
export function joinSocket(
  stream: TunnelStream,
  socket: Socket,
  receiver: Partial<Pick<StreamReceiver, "data" | "cut">> = {},
): void {
  socket.on("data", (data: Uint8Array) => {
    socket.pause();
    void stream.write(data).then(() => socket.resume());
  });
  socket.once("end", () => stream.end());
  socket.on("error", () => stream.reset());
  // A socket that closes without an end was reset.
  socket.once("close", () => (socket.readableEnded ? stream.end() : stream.reset()));
  stream.receive({
    data: (data) => writtenTo(socket, data),
    ended: () => void socket.end(),
    closed: (isWhole) => {
      // What was written last may still be on its way to the process behind the socket.
      if (isWhole && !socket.writableFinished) socket.once("finish", () => socket.destroy());
      else socket.destroy();
    },
    ...receiver,
  });
}

/** Resolves when the socket takes more; at once when it is gone. */
export function writtenTo(socket: Socket, data: Uint8Array): Promise<void> {
  if (socket.destroyed || socket.write(data)) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off("drain", done);
      socket.off("close", done);
      resolve();
    };
    socket.once("drain", done);
    socket.once("close", done);
  });
}
