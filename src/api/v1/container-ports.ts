// The ports of a container, and which of them a probe or hook means by a number or a name. kubelet: ResolveContainerPort

import {
  checked,
  fieldOf,
  numberField,
  number,
  objectType,
  oneOf,
  type Decoded,
} from "../schema/codec.ts";
import type { Type } from "../schema/type.ts";
import { textOf, unless } from "../schema/values.ts";
import { ipError, portNameError, portNumberError } from "../validation/validate-names.ts";
import type { PortReference } from "./probe.ts";

const MAX_PORT = 65_535;

const PORT_NUMBER: Type<number> = {
  ...checked(number, portNumberError),
  schema: () => ({ ...number.schema(), minimum: 1, maximum: MAX_PORT }),
};

/** 0 is the same as not written. */
const HOST_PORT: Type<number> = {
  ...unless(
    checked(number, (port) => (port === 0 ? undefined : portNumberError(port))),
    0,
  ),
  schema: () => ({ ...number.schema(), minimum: 0, maximum: MAX_PORT }),
};

const PORT_NAME = textOf(portNameError, {
  pattern: "^([a-z0-9]+-)*[0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$",
  maxLength: 15,
});
const ADDRESS = textOf(ipError, { pattern: "^[0-9a-fA-F.:]+$" });

export const CONTAINER_PORT = objectType("ContainerPort", {
  name: fieldOf(PORT_NAME)({
    about: "Name of the port, to which probes and hooks may refer. Unique in the container.",
  }),
  containerPort: numberField(PORT_NUMBER)({
    about: "Port number inside the pod, 1 to 65535.",
    required: true,
  }),
  hostPort: fieldOf(HOST_PORT)({
    about:
      "Port of this node that is forwarded to it. Only one pod of the node can have it. Default: none.",
  }),
  hostIP: fieldOf(ADDRESS)({
    about: "Address of this node on which hostPort listens. Default: every address.",
  }),
  protocol: oneOf(["TCP", "UDP", "SCTP"], { about: "TCP, UDP or SCTP.", default: "TCP" }),
});
export type ContainerPort = Decoded<typeof CONTAINER_PORT>;
export type PortProtocol = ContainerPort["protocol"];

/** undefined = no port of that name, or a number that is no port. Digits in quotes are a number unless a port is called so. */
export function resolvePort(
  reference: PortReference,
  ports: readonly ContainerPort[],
): number | undefined {
  if (typeof reference === "number") return isPort(reference) ? reference : undefined;
  const named = ports.find(({ name }) => name === reference);
  if (named !== undefined) return named.containerPort;
  const port = /^[0-9]{1,5}$/.test(reference) ? Number(reference) : 0;
  return isPort(port) ? port : undefined;
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port > 0 && port < 65_536;
}
