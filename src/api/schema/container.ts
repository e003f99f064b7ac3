// One container of a pod.

import { ignored, supportedBut } from "../decode/field-rules.ts";
import { fieldOf, list } from "./codec.ts";
import { ENV_FROM, ENV_VAR } from "../v1/environment.ts";
import { field } from "./field.ts";
import { LIFECYCLE, probeType } from "../v1/probe.ts";
import { CONTAINER_RESOURCES, NO_RESOURCES } from "../v1/resources.ts";
import { SECURITY_CONTEXT } from "../v1/security-context.ts";

export const PORT = {
  name: field("string", "Name of the port, by which probes and hooks may call it."),
  containerPort: field("integer", "The port inside the pod, 1 to 65535.", { required: true }),
  hostPort: field("integer", "Port of this node that leads to it; one pod of the node only."),
  hostIP: field("string", "Address of this node on which hostPort listens; all if not written."),
  protocol: field("string", "TCP (the default), UDP or SCTP."),
};

export const VOLUME_MOUNT = {
  name: field("string", "Name of one of the pod's volumes.", { required: true }),
  mountPath: field(
    "string",
    "Where the volume stands inside the container; a relative path starts at its root.",
    { required: true },
  ),
  readOnly: field("boolean", "Whether the container may only read."),
  recursiveReadOnly: field(
    "string",
    "Whether readOnly holds for mounts below too: Disabled, IfPossible or Enabled.",
  ),
  subPath: field("string", "Path inside the volume, instead of its root."),
  subPathExpr: field("string", "The same with $(VAR) of the container's environment."),
  mountPropagation: field(
    "string",
    "Whether mounts made later are seen: None, HostToContainer or Bidirectional.",
  ),
};

export const EXIT_CODES = {
  operator: field("string", "In or NotIn.", { required: true }),
  values: field("[]integer", "Exit codes 0 to 255."),
};

export const RESTART_RULE = {
  action: field("string", "What is done if the rule matches: Restart.", {
    required: true,
    rule: supportedBut(
      {
        code: "Unsupported",
        message:
          "RestartAllContainers does not work on this node; use Restart, which restarts the container alone",
      },
      "RestartAllContainers",
    ),
  }),
  exitCodes: field("ContainerRestartRuleOnExitCodes", "Which exit codes match.", {
    level: EXIT_CODES,
  }),
};

export const CONTAINER = {
  name: field("string", "Name of the container, unique in the pod.", { required: true }),
  image: field("string", "The image that it runs."),
  imagePullPolicy: field(
    "string",
    "Always, IfNotPresent or Never; Always for images tagged latest, else IfNotPresent.",
  ),
  command: field(
    "[]string",
    "Program to run instead of the image's entrypoint; $(VAR) is replaced.",
  ),
  args: field("[]string", "Arguments instead of the image's; $(VAR) is replaced."),
  workingDir: field("string", "Working directory; the image's if it is not written."),
  env: list(ENV_VAR, { about: "Environment variables." }),
  envFrom: list(ENV_FROM, {
    about: "Objects whose keys become variables. A later object wins, and env wins over all.",
  }),
  ports: field("[]ContainerPort", "Ports that the container listens on.", { level: PORT }),
  resources: fieldOf(CONTAINER_RESOURCES)({
    about: "Limits and requests of the container.",
    default: NO_RESOURCES,
    keep: true,
  }),
  volumeMounts: field("[]VolumeMount", "Where the pod's volumes stand inside it.", {
    level: VOLUME_MOUNT,
  }),
  livenessProbe: fieldOf(probeType("liveness"))({
    about: "Periodic probe of container liveness. The container is restarted when it fails.",
  }),
  readinessProbe: fieldOf(probeType("readiness"))({
    about: "Periodic probe of container readiness. The pod is not Ready while it fails.",
  }),
  startupProbe: fieldOf(probeType("startup"))({
    about: "Probe of the container's start. The other probes wait until it succeeds.",
  }),
  lifecycle: fieldOf(
    LIFECYCLE,
    {},
  )({
    about: "Hooks after the start and before the stop, and the stop signal.",
    default: {},
  }),
  terminationMessagePath: field(
    "string",
    "File inside it whose text is kept when it ends; /dev/termination-log if not written.",
  ),
  terminationMessagePolicy: field(
    "string",
    "File, or FallbackToLogsOnError: the end of the log if the file is empty and it failed.",
  ),
  restartPolicy: field(
    "string",
    "Always, OnFailure or Never for it alone. An init container with Always is a sidecar.",
  ),
  restartPolicyRules: field(
    "[]ContainerRestartRule",
    "Exit codes that decide before restartPolicy; the first that matches.",
    { level: RESTART_RULE },
  ),
  securityContext: fieldOf(SECURITY_CONTEXT)({
    about: "User, groups and privileges of its processes.",
    default: {},
  }),
  stdin: field("boolean", "Whether its standard input is kept open."),
  stdinOnce: field("boolean", "Whether its standard input is closed after the first who attached."),
  tty: field("boolean", "Whether it gets a terminal."),
  resizePolicy: field("[]ContainerResizePolicy", "What a change of resources restarts.", {
    rule: ignored("pods are not resized in place on this node", []),
  }),
  volumeDevices: field("[]VolumeDevice", "Block volumes as devices.", {
    rule: ignored("there are no block volumes on this node", []),
  }),
};
