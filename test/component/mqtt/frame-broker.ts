// A WebSocket server that writes given bytes behind CONNACK and closes: for frames that no library sends.

import type { DoorTls } from "./websocket-door.ts";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const KEY = /sec-websocket-key: (.*)\r/i;
const MESSAGE_WITH_CONNACK = [0x82, 5, 0x20, 3, 0, 0, 0];

export class FrameBroker implements Disposable {
  readonly #listener: Bun.TCPSocketListener<{ upgraded: boolean }>;
  readonly #secure: boolean;
  /** Of the last client that asked, as text. */
  request = "";

  /** `frames`: short enough for the socket's buffer. */
  constructor(frames: readonly number[], tls?: DoorTls) {
    this.#secure = tls !== undefined;
    this.#listener = Bun.listen<{ upgraded: boolean }>({
      hostname: "127.0.0.1",
      port: 0,
      ...(tls === undefined ? {} : { tls: { cert: tls.cert, key: tls.key } }),
      socket: {
        open: (socket) => void (socket.data = { upgraded: false }),
        data: (socket, bytes) => {
          if (socket.data.upgraded) {
            socket.end(new Uint8Array([...MESSAGE_WITH_CONNACK, ...frames]));
            return;
          }
          socket.data.upgraded = true;
          this.request = bytes.toString();
          socket.write(handshake(KEY.exec(bytes.toString())?.[1] ?? ""));
        },
      },
    });
  }

  get url(): string {
    return `${this.#secure ? "wss" : "ws"}://127.0.0.1:${this.#listener.port}/mqtt`;
  }

  [Symbol.dispose](): void {
    this.#listener.stop(true);
  }
}

function handshake(key: string): string {
  const accept = new Bun.CryptoHasher("sha1").update(key + GUID).digest("base64");
  return [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Protocol: mqtt",
    `Sec-WebSocket-Accept: ${accept}`,
    "\r\n",
  ].join("\r\n");
}
