// One container as written → one defaulted Container.

import { decodeMounts } from "./decode-mounts.ts";
import { decodeRestart } from "./decode-restart.ts";
import {
  DEFAULT_PROTOCOL,
  DEFAULT_TERMINATION_MESSAGE_PATH,
  DEFAULT_TERMINATION_MESSAGE_POLICY,
} from "../defaults.ts";
import {
  booleanField,
  checkFields,
  choiceField,
  forbidden,
  integerField,
  invalid,
  isUnwritten,
  judgedList,
  objectList,
  required,
  stringField,
  type Node,
} from "../field-reader.ts";
import { optional } from "../optional-field.ts";
import { CONTAINER, PORT } from "../../schema/container.ts";
import type { Container, ContainerPort } from "../../v1/pod.ts";
import {
  dnsLabelError,
  ipError,
  nulError,
  portNameError,
  portNumberError,
} from "../../validation/validate-names.ts";
import { defaultPullPolicy } from "../../v1/pull-policy.ts";

export type ContainerList = "initContainers" | "containers";

export function decodeContainer(node: Node, list: ContainerList): Container {
  checkFields(node, CONTAINER);
  const name = nameField(node, dnsLabelError);
  const image = imageField(node);
  const workingDir = stringField(node, "workingDir");
  return {
    name,
    image,
    imagePullPolicy:
      choiceField(node, "imagePullPolicy", ["Always", "IfNotPresent", "Never"]) ??
      defaultPullPolicy(image),
    command: judgedList(node, "command", nulError),
    args: judgedList(node, "args", nulError),
    ...(workingDir === undefined || workingDir === "" ? {} : { workingDir }),
    env: CONTAINER.env.read(node, "env"),
    envFrom: CONTAINER.envFrom.read(node, "envFrom"),
    securityContext: CONTAINER.securityContext.read(node, "securityContext"),
    stdin: booleanField(node, "stdin") ?? false,
    stdinOnce: booleanField(node, "stdinOnce") ?? false,
    tty: booleanField(node, "tty") ?? false,
    ports: objectList(node, "ports").map(decodePort),
    resources: CONTAINER.resources.read(node, "resources"),
    volumeMounts: decodeMounts(node),
    ...decodeRestart(node, list),
    ...(isPlainInit(node, list) ? ofPlainInit(node) : attended(node)),
    ...terminationMessage(node),
  };
}

type Attended = Pick<Container, "lifecycle" | "livenessProbe" | "readinessProbe" | "startupProbe">;

function isPlainInit(node: Node, list: ContainerList): boolean {
  return list === "initContainers" && node.value["restartPolicy"] !== "Always";
}

/** It ends by itself before anything could be asked of it. k8s: validateInitContainers */
function ofPlainInit(node: Node): Attended {
  for (const key of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"])
    if (node.value[key] !== undefined && node.value[key] !== null)
      forbidden(node, key, "may not be set for init containers without restartPolicy=Always");
  return { lifecycle: {} };
}

/** Hooks and probes of what runs until it is stopped: app containers and sidecars. */
function attended(node: Node): Attended {
  return {
    lifecycle: CONTAINER.lifecycle.read(node, "lifecycle"),
    ...optional("livenessProbe", CONTAINER.livenessProbe.read(node, "livenessProbe")),
    ...optional("readinessProbe", CONTAINER.readinessProbe.read(node, "readinessProbe")),
    ...optional("startupProbe", CONTAINER.startupProbe.read(node, "startupProbe")),
  };
}

type TerminationMessage = Pick<Container, "terminationMessagePath" | "terminationMessagePolicy">;

function terminationMessage(node: Node): TerminationMessage {
  const path = stringField(node, "terminationMessagePath") ?? "";
  return {
    // Never empty: to Kubernetes, an empty path is the same as not written.
    terminationMessagePath: path === "" ? DEFAULT_TERMINATION_MESSAGE_PATH : path,
    terminationMessagePolicy:
      choiceField(node, "terminationMessagePolicy", ["File", "FallbackToLogsOnError"]) ??
      DEFAULT_TERMINATION_MESSAGE_POLICY,
  };
}

/** A required name, checked by `errorOf`. */
export function nameField(node: Node, errorOf: (name: string) => string | undefined): string {
  const name = stringField(node, "name") ?? "";
  const error = name === "" ? undefined : errorOf(name);
  if (isUnwritten(node, "name")) required(node, "name");
  if (error !== undefined) invalid(node, "name", error);
  return name;
}

function imageField(node: Node): string {
  const image = stringField(node, "image") ?? "";
  if (isUnwritten(node, "image")) required(node, "image");
  else if (image !== image.trim()) invalid(node, "image", "must not begin or end with white space");
  return image;
}

function decodePort(node: Node): ContainerPort {
  checkFields(node, PORT);
  const name = stringField(node, "name");
  const hostIP = stringField(node, "hostIP");
  const hostPort = portNumber(node, "hostPort");
  judge(node, "name", name === undefined || name === "" ? undefined : portNameError(name));
  judge(node, "hostIP", hostIP === undefined || hostIP === "" ? undefined : ipError(hostIP));
  if ((node.value["containerPort"] ?? null) === null) required(node, "containerPort");
  return {
    ...(name === undefined || name === "" ? {} : { name }),
    containerPort: portNumber(node, "containerPort") ?? 0,
    ...(hostPort === undefined || hostPort === 0 ? {} : { hostPort }),
    ...(hostIP === undefined || hostIP === "" ? {} : { hostIP }),
    protocol: choiceField(node, "protocol", ["TCP", "UDP", "SCTP"]) ?? DEFAULT_PROTOCOL,
  };
}

function portNumber(node: Node, key: "containerPort" | "hostPort"): number | undefined {
  const port = integerField(node, key);
  // Kubernetes takes hostPort 0 for "none".
  const none = port === undefined || (key === "hostPort" && port === 0);
  judge(node, key, none ? undefined : portNumberError(port));
  return port;
}

function judge(node: Node, key: string, error: string | undefined): void {
  if (error !== undefined) invalid(node, key, error);
}
