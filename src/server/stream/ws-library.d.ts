// Performs: nothing itself; it declares the part of the library `ws` that is used. Its own file is imported, because Bun replaces the package's main module by
// one that needs a server of Bun's.
declare module "*/ws/lib/websocket-server.js" {
  import type { Duplex } from "node:stream";

  interface LibrarySocket {
    on(event: "message", listener: (message: Uint8Array, isBinary: boolean) => void): void;
    on(event: "error", listener: (error: Error) => void): void;
    on(event: "close", listener: () => void): void;
    send(
      message: Uint8Array | string,
      options: { readonly binary: boolean },
      done: (error?: Error) => void,
    ): void;
    close(code: number, reason?: string): void;
    ping(): void;
    terminate(): void;
    pause(): void;
    resume(): void;
  }

  interface ServerOptions {
    readonly noServer: true;
    readonly perMessageDeflate: false;
    readonly maxPayload: number;
  }

  class WebSocketServer {
    constructor(options: ServerOptions);
    on(event: "headers", listener: (lines: string[]) => void): void;
    handleUpgrade(
      request: {
        readonly method: string;
        readonly headers: Readonly<Record<string, string | undefined>>;
      },
      socket: Duplex,
      head: Uint8Array,
      done: (socket: LibrarySocket) => void,
    ): void;
  }
  export = WebSocketServer;
}
