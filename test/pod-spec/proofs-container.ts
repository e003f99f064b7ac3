// Tests of what a container runs, with which environment, ports and resources.

import { below, type Proof } from "./proof.ts";

const CONTAINER = "pod.spec.containers";
const ENV = `${CONTAINER}.env`;
const FROM = `${CONTAINER}.envFrom`;
const INSIDE = "test/e2e/environment.test.ts";
const EVERY_WAY = "every way to a variable, and who wins where two say the same";
const ENVIRONMENT = "test/unit/runtime/cri-config/environment.test.ts";

export const CONTAINER_PROOFS: readonly Proof[] = [
  {
    fields: ["pod.spec.containers", ...below(CONTAINER, "name", "image")],
    proof: "here",
    test: "test/e2e/local-api.test.ts",
    title: "/pods is a v1 PodList of defaulted pods that tells the truth about the containers",
  },
  {
    fields: below(CONTAINER, "workingDir"),
    proof: "request",
    test: "test/unit/runtime/cri-config/container-config.test.ts",
    title: "the whole configuration of a container",
  },
  {
    fields: below(CONTAINER, "imagePullPolicy"),
    proof: "here",
    test: "test/component/image/image-puller.test.ts",
    title: "imagePullPolicy Never forbids pulling it",
  },
  {
    fields: [`${CONTAINER}.ports`, `${CONTAINER}.ports.*`],
    proof: "here",
    test: "test/e2e/linux-admission.test.ts",
    title: "a port of the node leads to the pod %s",
  },
  {
    fields: below(CONTAINER, "resources", "resources.limits", "resources.requests"),
    proof: "here",
    test: "test/e2e/linux-resources.test.ts",
    title: "a container of the pod %s has its limits: %s",
  },
  {
    fields: below(CONTAINER, "command", "args", "env", "env.name", "env.value"),
    proof: "here",
    test: INSIDE,
    title: EVERY_WAY,
  },
  {
    fields: below(ENV, "valueFrom", "valueFrom.configMapKeyRef", "valueFrom.configMapKeyRef.*"),
    proof: "here",
    test: INSIDE,
    title: EVERY_WAY,
  },
  {
    fields: below(ENV, "valueFrom.secretKeyRef", "valueFrom.secretKeyRef.*"),
    proof: "here",
    test: INSIDE,
    title: EVERY_WAY,
  },
  {
    fields: below(ENV, "valueFrom.fileKeyRef", "valueFrom.fileKeyRef.*"),
    proof: "here",
    test: INSIDE,
    title: "variables of a file that an init container wrote, or that is waited for",
  },
  {
    fields: below(ENV, "valueFrom.configMapKeyRef.optional", "valueFrom.secretKeyRef.optional"),
    proof: "here",
    test: ENVIRONMENT,
    title: "an optional key that is not there is no variable",
  },
  {
    fields: below(ENV, "valueFrom.fieldRef", "valueFrom.fieldRef.fieldPath"),
    proof: "here",
    test: INSIDE,
    title: EVERY_WAY,
  },
  {
    fields: below(ENV, "valueFrom.fieldRef.apiVersion"),
    proof: "here",
    test: "test/unit/api/v1/environment.test.ts",
    title: "is the node's name under its first name too",
  },
  {
    fields: below(ENV, "valueFrom.resourceFieldRef", "valueFrom.resourceFieldRef.*"),
    proof: "here",
    test: INSIDE,
    title: EVERY_WAY,
  },
  {
    fields: [
      FROM,
      ...below(FROM, "configMapRef", "configMapRef.name", "secretRef", "secretRef.name"),
    ],
    proof: "here",
    test: INSIDE,
    title: EVERY_WAY,
  },
  {
    fields: below(FROM, "prefix"),
    proof: "here",
    test: INSIDE,
    title: EVERY_WAY,
  },
  {
    fields: below(FROM, "configMapRef.optional", "secretRef.optional"),
    proof: "here",
    test: ENVIRONMENT,
    title: "are none of an optional object that is not there",
  },
  {
    fields: below(CONTAINER, "stdin", "tty"),
    proof: "here",
    test: "test/e2e/linux-resources.test.ts",
    title: "standard input is %s",
  },
  {
    fields: below(CONTAINER, "stdinOnce"),
    proof: "request",
    test: "test/unit/runtime/cri-config/container-config.test.ts",
    title: "has an open standard input, or a terminal, if it wants one",
  },
  {
    fields: below(CONTAINER, "resources.limits"),
    proof: "here",
    test: "test/e2e/linux-resources.test.ts",
    title: "a container that is not privileged gets a device: %s",
  },
  {
    fields: below(CONTAINER, "resources.limits"),
    proof: "request",
    test: "test/e2e/linux-features.test.ts",
    title: "what the runtime cannot is refused, never left out",
  },
  {
    fields: below(CONTAINER, "resources.limits"),
    proof: "here",
    test: "test/e2e/linux-resources.test.ts",
    title: "a container waits for its device, and starts when it is plugged in",
  },
];
