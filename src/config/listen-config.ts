// Who may use the API of the node: its unix socket, and TLS on a TCP address. kubelet: tlsCertFile, tlsPrivateKeyFile

import { invalidAt, required, type Node } from "../api/decode/field-reader.ts";
import { fieldOf, type ObjectOf } from "../api/schema/codec.ts";
import type { Type } from "../api/schema/type.ts";
import { filledText } from "../api/schema/values.ts";
import { IP_FORM } from "../api/validation/validate-names.ts";
import { path } from "./config-values.ts";

/** Where TLS is listened on. */
export interface ListenAddress {
  /** An IP address without brackets, or `localhost`. */
  readonly host: string;
  readonly port: number;
}

/** Where `agent kubeconfig` opens the API if `listen` is not set. */
export const DEFAULT_LISTEN = "127.0.0.1:6450";
const LISTEN = /^(?:\[([^\]]*)\]|([^:[\]]*)):(\d{1,5})$/;
const GROUP_NAME = /^[A-Za-z_][\w.-]{0,31}\$?$/;
/** The highest number is reserved: it means "no group". */
const MAX_GROUP = 2 ** 32 - 2;

const listen = fieldOf(
  filledText(listenError, {
    pattern: "^(\\[[0-9a-fA-F:.]+\\]|[0-9.]+|localhost):[0-9]{1,5}$",
  }),
);

/** A name or a number, as text. */
const group: Type<string> = {
  name: "string",
  read(at) {
    const { value } = at;
    const written = typeof value === "number" || typeof value === "string" ? String(value) : "";
    const isNumber = /^\d{1,10}$/.test(written) && Number(written) <= MAX_GROUP;
    if (isNumber || GROUP_NAME.test(written)) return written;
    return invalidAt(at, "must be the name of a group, such as adm, or its number");
  },
  write: (value) => value,
  schema: () => ({
    type: ["string", "integer", "null"],
    pattern: `^(\\d{1,10}|${GROUP_NAME.source.slice(1, -1)})$`,
    minimum: 0,
    maximum: MAX_GROUP,
  }),
};

export const LISTEN_FIELDS = {
  socketGroup: fieldOf(group)({
    about:
      "Name or number of the group that may use the socket too, with all rights of root on this node. Default: none, only root may.",
  }),
  listen: listen({
    about:
      "IP address and port of the Kubernetes API over TLS, such as 127.0.0.1:6450, 0.0.0.0:6450 or [::]:6450. Default: none, until agent kubeconfig opens 127.0.0.1:6450.",
  }),
  tlsCertFile: path({
    about:
      "PEM file of the server's certificate and those that vouch for it; needs tlsPrivateKeyFile. Default: one of the agent's own authority.",
  }),
  tlsPrivateKeyFile: path({
    about: "PEM file of the private key of tlsCertFile; needs tlsCertFile.",
  }),
};
type ListenFields = ObjectOf<typeof LISTEN_FIELDS>;

export function checkListen(fields: ListenFields, node: Node): void {
  const { tlsCertFile: cert, tlsPrivateKeyFile: key } = fields;
  if (cert !== undefined && key === undefined)
    required(node, "tlsPrivateKeyFile", "the key of the certificate");
  if (key !== undefined && cert === undefined)
    required(node, "tlsCertFile", "the certificate of the key");
}

function listenError(written: string): string | undefined {
  return listenAddress(written) === undefined
    ? "must be an IP address, or localhost, and a port, such as 127.0.0.1:6450 or [::1]:6450"
    : undefined;
}

/** undefined = no such text. */
export function listenAddress(written: string): ListenAddress | undefined {
  const [, bracketed, plain, digits = ""] = LISTEN.exec(written) ?? [];
  const port = Number(digits);
  const host = bracketed ?? plain ?? "";
  const isHost =
    bracketed === undefined
      ? host === "localhost" || IP_FORM.check(host) === undefined
      : host.includes(":") && IP_FORM.check(host) === undefined;
  return isHost && port >= 1 && port <= 65_535 ? { host, port } : undefined;
}

/** As in a URL: an IPv6 address is in brackets. */
export function hostAndPort({ host, port }: ListenAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
