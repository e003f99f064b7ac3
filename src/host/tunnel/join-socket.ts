// Performs: joins a stream of a tunnel to a socket, each no faster than the other takes it.

import type { Socket } from "node:net";
import type { TunnelStream } from "./tunnel-stream.ts";

/**
 * The end of one side is passed on to the other; an error closes both. `socket` is half-open. `take`: what the stream brings;
 * default: it is written to the socket.
 */
export function joinSocket(
  stream: TunnelStream,
  socket: Socket,
  take = (data: Uint8Array): Promise<void> => writtenTo(socket, data),
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
    data: take,
    ended: () => void socket.end(),
    closed: (isWhole) => {
      // What was written last may still be on its way to the process behind the socket.
      if (isWhole && !socket.writableFinished) socket.once("finish", () => socket.destroy());
      else socket.destroy();
    },
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
