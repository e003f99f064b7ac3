// The ports of a container, and which of them a probe or hook means by a number or a name. kubelet: ResolveContainerPort

import { fieldOf, numberField, objectType, oneOf, type Decoded } from "../schema/codec.ts";
import { between, textOf, unless } from "../schema/values.ts";
import { IP_FORM, PORT_NAME_FORM } from "../validation/validate-names.ts";

const MAX_PORT = 65_535;
const PORT_ERROR = `must be between 1 and ${MAX_PORT}`;
export const PORT_NUMBER = between(1, MAX_PORT, PORT_ERROR);
/** 0 is the same as not written. */
const HOST_PORT = unless(between(0, MAX_PORT, PORT_ERROR), 0);

export const CONTAINER_PORT = objectType("ContainerPort", {
  name: fieldOf(textOf(PORT_NAME_FORM))({
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
  hostIP: fieldOf(textOf(IP_FORM))({
    about: "Address of this node on which hostPort listens. Default: every address.",
  }),
  protocol: oneOf(["TCP", "UDP", "SCTP"], { about: "TCP, UDP or SCTP.", default: "TCP" }),
});
export type ContainerPort = Decoded<typeof CONTAINER_PORT>;
export type PortProtocol = ContainerPort["protocol"];

/** A number, or the name of one of the container's ports, which need not exist. k8s: ValidatePortNumOrName */
export type PortReference = number | string;

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
  return Number.isInteger(port) && port > 0 && port <= MAX_PORT;
}
