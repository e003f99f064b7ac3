// Tests of what a pod shares with the node, what it asks of it, and how it is reached.

import { below, type Proof } from "./proof.ts";

const SPEC = "pod.spec";
const TERMS = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
const INSIDE = "test/e2e/linux-namespaces.test.ts";
const ADMISSION_E2E = "test/e2e/linux-admission.test.ts";
const ADMISSION = "test/unit/source/admission/admit-pod.test.ts";

export const NODE_PROOFS: readonly Proof[] = [
  {
    fields: below(SPEC, "hostNetwork"),
    proof: "here",
    test: INSIDE,
    title: "hostNetwork is the node's network, with its name and its hosts",
  },
  {
    fields: below(SPEC, "hostPID"),
    proof: "here",
    test: INSIDE,
    title: "hostPID is the node's processes, and nothing else of it",
  },
  {
    fields: below(SPEC, "hostIPC"),
    proof: "here",
    test: INSIDE,
    title: "hostIPC is the node's shared memory, and nothing else of it",
  },
  {
    fields: below(SPEC, "shareProcessNamespace"),
    proof: "here",
    test: INSIDE,
    title: "shareProcessNamespace lets one container see, read and end another",
  },
  {
    fields: below(SPEC, "hostUsers"),
    proof: "request",
    test: "test/unit/runtime/cri-config/sandbox-config.test.ts",
    title: "users of its own are written on it, and read back; an author cannot claim some",
  },
  {
    fields: below(SPEC, "hostUsers"),
    proof: "request",
    test: "test/e2e/linux-features.test.ts",
    title: "what the runtime cannot is refused, never left out",
  },
  {
    fields: below(SPEC, "hostname"),
    proof: "here",
    test: INSIDE,
    title: "a pod is called %s",
  },
  {
    fields: below(SPEC, "subdomain"),
    proof: "here",
    test: INSIDE,
    title: "a pod is called %s",
  },
  {
    fields: below(SPEC, "setHostnameAsFQDN"),
    proof: "here",
    test: INSIDE,
    title: "a pod is called %s",
  },
  {
    fields: below(SPEC, "hostnameOverride"),
    proof: "here",
    test: INSIDE,
    title: "by its hostnameOverride alone",
  },
  {
    fields: below(SPEC, "hostAliases", "hostAliases.*"),
    proof: "here",
    test: INSIDE,
    title: "a pod is called %s",
  },
  {
    fields: below(SPEC, "dnsPolicy"),
    proof: "here",
    test: INSIDE,
    title: "a pod looks names up by its policy: %s",
  },
  {
    fields: below(SPEC, "dnsConfig", "dnsConfig.nameservers", "dnsConfig.searches"),
    proof: "here",
    test: INSIDE,
    title: "a pod looks names up by its policy: %s",
  },
  {
    fields: below(SPEC, "dnsConfig.options", "dnsConfig.options.*"),
    proof: "here",
    test: INSIDE,
    title: "a pod looks names up by its policy: %s",
  },
  {
    fields: below(SPEC, "imagePullSecrets", "imagePullSecrets.name"),
    proof: "here",
    test: "test/e2e/image-pull-secrets.test.ts",
    title: "an image is pulled with the Secrets that its pod names",
  },
  {
    fields: below(SPEC, "imagePullSecrets", "imagePullSecrets.name"),
    proof: "here",
    test: "test/unit/image/pull-secrets.test.ts",
    title: "are taken in its order; what is not there is named",
  },
  {
    fields: below(SPEC, "priority"),
    proof: "here",
    test: ADMISSION,
    title: "another number beside the class",
  },
  {
    fields: below(SPEC, "priorityClassName"),
    proof: "here",
    test: ADMISSION_E2E,
    title: "a pod that asks for this node's labels and classes runs, and the node shows its labels",
  },
  {
    fields: below(SPEC, "preemptionPolicy"),
    proof: "here",
    test: "test/unit/api/v1/scheduling.test.ts",
    title: "a preemption policy that does not exist",
  },
  {
    fields: below(SPEC, "runtimeClassName"),
    proof: "here",
    test: ADMISSION_E2E,
    title: "the runtime is asked for the handler of the pod's class",
  },
  {
    fields: below(SPEC, "overhead"),
    proof: "here",
    test: "test/e2e/linux-resources.test.ts",
    title: "the cgroup around the pod %s has the limits of all its containers",
  },
  {
    fields: below(SPEC, "nodeSelector"),
    proof: "here",
    test: ADMISSION_E2E,
    title: "a pod that asks for this node's labels and classes runs, and the node shows its labels",
  },
  {
    fields: below(SPEC, "affinity", "affinity.nodeAffinity", TERMS, "tolerations", "os"),
    proof: "here",
    test: ADMISSION_E2E,
    title: "a pod that asks for this node's labels and classes runs, and the node shows its labels",
  },
  {
    fields: below(SPEC, "nodeSelector", "affinity.nodeAffinity", "priorityClassName"),
    proof: "here",
    test: ADMISSION_E2E,
    title: "a pod that has no place here is refused, and that is said: %s",
  },
  {
    fields: below(SPEC, "affinity", "affinity.nodeAffinity", TERMS, `${TERMS}.*`),
    proof: "here",
    test: "test/unit/source/admission/node-affinity.test.ts",
    title: "In with one of the values",
  },
  {
    fields: below(SPEC, "tolerations", "tolerations.*"),
    proof: "here",
    test: "test/unit/api/v1/scheduling.test.ts",
    title: "tolerations with what they leave out",
  },
  {
    fields: below(SPEC, "os", "os.name"),
    proof: "here",
    test: "test/unit/api/v1/scheduling.test.ts",
    title: "another system",
  },
  {
    fields: below(SPEC, "resources", "resources.limits", "resources.requests"),
    proof: "here",
    test: "test/e2e/linux-resources.test.ts",
    title: "the cgroup around the pod %s has the limits of all its containers",
  },
];
