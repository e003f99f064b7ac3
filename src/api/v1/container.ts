// One container of a pod. k8s: validateContainers, validateInitContainers

import { forbidden, isUnwritten, placeOf, required, type Node } from "../decode/field-reader.ts";
import { ignored } from "../decode/field-rules.ts";
import {
  boolean,
  fieldOf,
  textField,
  list,
  objectType,
  oneOf,
  string,
  text,
  unread,
  type ObjectOf,
} from "../schema/codec.ts";
import { conditional, having } from "../schema/json-schema.ts";
import type { Field, JsonSchema, Type } from "../schema/type.ts";
import { textOf } from "../schema/values.ts";
import { ARGUMENTS, DNS_LABEL_FORM } from "../validation/validate-names.ts";
import { CONTAINER_PORT } from "./container-ports.ts";
import { ENV_FROM, ENV_VAR } from "./environment.ts";
import { imageReference, pullPolicy } from "./image.ts";
import { probeType } from "./probe.ts";
import { CONTAINER_RESOURCES, NO_RESOURCES } from "./resources.ts";
import { restartPolicyRules } from "./restart-rules.ts";
import { SECURITY_CONTEXT } from "./security-context.ts";
import { refuseBidirectional, volumeMounts } from "./volume-mounts.ts";
import { mapValues } from "../../lib/json.ts";
import { LIFECYCLE } from "./lifecycle.ts";

/** A container runs beside the others, or an init container before them. */
type Kind = "app" | "init";

const FIELDS = {
  name: textField(textOf(DNS_LABEL_FORM))({
    about: "Name of the container, unique in the pod.",
    required: true,
  }),
  image: imageReference("Image that the container runs."),
  imagePullPolicy: pullPolicy("image"),
  command: list(text, {
    about: "Program to run, in place of the image's entrypoint. $(VAR) is replaced by a variable.",
    ...ARGUMENTS,
  }),
  args: list(text, {
    about: "Arguments, in place of the image's. $(VAR) is replaced by a variable.",
    ...ARGUMENTS,
  }),
  workingDir: string({ about: "Working directory. Default: the image's." }),
  env: list(ENV_VAR, { about: "Environment variables." }),
  envFrom: list(ENV_FROM, {
    about: "Objects whose keys become variables. A later object wins, and env wins over all.",
  }),
  ports: list(CONTAINER_PORT, { about: "Ports on which the container listens." }),
  resources: fieldOf(CONTAINER_RESOURCES)({
    about: "Limits and requests of the container.",
    default: NO_RESOURCES,
    keep: true,
  }),
  volumeMounts,
  terminationMessagePath: string({
    about: "File inside the container whose text becomes its termination message.",
    default: "/dev/termination-log",
  }),
  terminationMessagePolicy: oneOf(["File", "FallbackToLogsOnError"], {
    about:
      "Source of the termination message. FallbackToLogsOnError: the end of the log if the file is empty and the container failed.",
    default: "File",
  }),
  restartPolicy: oneOf(["Always", "OnFailure", "Never"], {
    about:
      "Restart policy of this container alone. An init container with Always is a sidecar. Default: the pod's.",
  }),
  restartPolicyRules,
  securityContext: fieldOf(SECURITY_CONTEXT)({
    about: "User, groups and privileges of its processes.",
    default: {},
  }),
  stdin: boolean({ about: "Keep standard input open.", default: false }),
  stdinOnce: boolean({
    about: "Close standard input after the first client detaches.",
    default: false,
  }),
  tty: boolean({ about: "Allocate a terminal.", default: false }),
  resizePolicy: unread(
    "[]ContainerResizePolicy",
    "Which changes of resources restart the container.",
    ignored("pods are not resized in place on this node", []),
  ),
  volumeDevices: unread(
    "[]VolumeDevice",
    "Block volumes as devices.",
    ignored("there are no block volumes on this node", []),
  ),
};

/** Hooks and probes, of what runs until it is stopped. */
const ATTENDANCE = {
  lifecycle: fieldOf(LIFECYCLE)({
    about: "Hooks after the start and before the stop, and the stop signal.",
    default: {},
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
};

/** An init container that is no sidecar ends before anything could be asked of it. */
function ofSidecars<T>(field: Field<T>, absent: T): Field<T> {
  return {
    ...field,
    read(node, key) {
      if (placeOf(node, "restartPolicy").value === "Always") return field.read(node, key);
      if ((placeOf(node, key).value ?? null) !== null)
        forbidden(node, key, "may not be set for init containers without restartPolicy=Always");
      return absent;
    },
  };
}

const { livenessProbe, readinessProbe, startupProbe, lifecycle } = ATTENDANCE;
const ATTENDANCE_OF: Readonly<Record<Kind, typeof ATTENDANCE>> = {
  app: ATTENDANCE,
  init: {
    lifecycle: ofSidecars(lifecycle, {}),
    livenessProbe: ofSidecars(livenessProbe, undefined),
    readinessProbe: ofSidecars(readinessProbe, undefined),
    startupProbe: ofSidecars(startupProbe, undefined),
  },
};

export type Container = ObjectOf<typeof FIELDS & typeof ATTENDANCE>;

function containerType(kind: Kind): Type<Container> {
  const fields = { ...FIELDS, ...ATTENDANCE_OF[kind] };
  return objectType("Container", fields, {
    schema: restartSchema(kind),
    check(container, node) {
      judgeRestart(node);
      if (container.securityContext.privileged !== true)
        refuseBidirectional(container.volumeMounts, node);
    },
  });
}

/** Rules need a policy beside them; hooks and probes, an init container that is a sidecar. */
function restartSchema(kind: Kind): JsonSchema {
  const withRules = having({ restartPolicyRules: { type: "array", minItems: 1 } });
  const rules = conditional(withRules, having({ restartPolicy: { type: "string", minLength: 1 } }));
  if (kind === "app") return { allOf: [rules] };
  const isSidecar = having({ restartPolicy: { const: "Always" } });
  const ofPlain = { properties: mapValues(ATTENDANCE, () => ({ type: "null" })) };
  return { allOf: [rules, conditional(isSidecar, {}, ofPlain)] };
}

/** k8s: validateContainerRestartPolicy */
function judgeRestart(node: Node): void {
  const rules = placeOf(node, "restartPolicyRules").value;
  if (!Array.isArray(rules) || rules.length === 0) return;
  if (isUnwritten(node, "restartPolicy"))
    required(node, "restartPolicy", "must specify restartPolicy when restart rules are used");
}

export const CONTAINER = containerType("app");
export const INIT_CONTAINER = containerType("init");
