// The outermost levels: what every object says of itself, a pod, and a list of objects.

import { harmless } from "../decode/field-rules.ts";
import { field, type Field, type Level } from "./field.ts";
import { SPEC } from "./pod-spec.ts";

export const METADATA: Level = {
  name: field(
    "string",
    "Name of the object, unique in its namespace among objects of its kind. At most 63 characters.",
    { required: true },
  ),
  namespace: field("string", "Namespace of the object; default if it is not written."),
  labels: field(
    "map[string]string",
    "Words by which the object is found and grouped. A change of labels restarts nothing.",
  ),
  annotations: field(
    "map[string]string",
    "Facts for tools and for this node, which reads agent/depends-on, agent/backoff-max, agent/devices, agent/restart-on-config-change, agent/unknown-fields, and of updates agent/min-ready-seconds, agent/progress-deadline-seconds, agent/on-failure, agent/update-strategy, agent/hold-upgrade and agent/update-lock.",
  ),
  generateName: field("string", "Prefix of a name that an API server would make.", {
    rule: harmless,
  }),
  uid: field("string", "Set by an API server. This node makes its own from what is written.", {
    rule: harmless,
  }),
  creationTimestamp: ofServer("Time", "When an API server took the object in."),
  deletionTimestamp: ofServer("Time", "When an API server will remove the object."),
  deletionGracePeriodSeconds: ofServer("integer", "Seconds that an API server gives a removal."),
  resourceVersion: ofServer("string", "Version of the object inside an API server."),
  generation: ofServer("integer", "How often an API server saw the spec change."),
  managedFields: ofServer("[]ManagedFieldsEntry", "Which tool wrote which field."),
  ownerReferences: ofServer("[]OwnerReference", "Objects that this one belongs to."),
  finalizers: ofServer("[]string", "Who an API server asks before a removal."),
  selfLink: ofServer("string", "Former address of the object in an API server."),
};

/** Stands in what `kubectl get -o yaml` prints, and says nothing to this node. */
function ofServer(type: string, about: string): Field {
  return field(type, about, { rule: harmless });
}

/** The three that every object begins with. */
export const TYPE_AND_METADATA: Level = {
  apiVersion: field("string", "Version of the API that the object is written in: v1.", {
    required: true,
  }),
  kind: field("string", "What the object is.", { required: true }),
  metadata: field("ObjectMeta", "Name, namespace, labels and annotations.", {
    level: METADATA,
    required: true,
  }),
};

export const POD: Level = {
  ...TYPE_AND_METADATA,
  spec: field(
    "PodSpec",
    "What shall run. A changed spec is a new pod, which starts when the old one is gone.",
    {
      level: SPEC,
      required: true,
    },
  ),
  status: field("PodStatus", "What an API server last knew of the pod; never read.", {
    rule: harmless,
  }),
};

export const LIST: Level = {
  apiVersion: TYPE_AND_METADATA["apiVersion"] ?? field("string", "v1."),
  kind: field("string", "List or PodList."),
  metadata: field("ListMeta", "Facts of an API server about the list.", { rule: harmless }),
  items: field("[]Object", "The objects, each as if it stood alone.", { required: true }),
};
