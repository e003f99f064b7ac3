// What a connection proves by itself, before any request.

export type Peer = UnixPeer | TlsPeer;

export interface UnixPeer {
  readonly door: "unix";
}

export interface TlsPeer {
  readonly door: "tls";
  /** IP address of the client; "" = unknown. */
  readonly address: string;
  /** sha256 of the client's certificate, whose key the client has; undefined = it sent none. */
  readonly fingerprint: string | undefined;
}

/** The rights of the file are the proof: only root and `socketGroup` can open the socket. */
export const UNIX_PEER: UnixPeer = { door: "unix" };
