// docs/reference/pod-fields.md: every field of the kinds that pods need, and how this node treats it.

import list from "../fixtures/pod-api/v1-pod-fields.json" with { type: "json" };
import type { FieldAt } from "../../src/api/schema/find-field.ts";
import { documentedFields } from "../pod-spec/documented-fields.ts";
import { code, meaning, page, table } from "./markdown.ts";
import { classText, fieldClass } from "../../src/api/decode/field-rules.ts";

/** Parts of the table of pods; a field stands in the part whose prefix is the longest. */
const PARTS: readonly (readonly [prefix: string, heading: string])[] = [
  ["pod.", "Pod"],
  ["pod.metadata.", "Pod: metadata"],
  ["pod.spec.", "Pod: spec"],
  ["pod.spec.securityContext.", "Pod: security context"],
  ["pod.spec.containers[].", "Containers"],
  ["pod.spec.containers[].env", "Containers: environment"],
  ["pod.spec.containers[].livenessProbe.", "Containers: liveness probe"],
  ["pod.spec.containers[].readinessProbe.", "Containers: readiness probe"],
  ["pod.spec.containers[].startupProbe.", "Containers: startup probe"],
  ["pod.spec.containers[].lifecycle.", "Containers: lifecycle"],
  ["pod.spec.containers[].securityContext.", "Containers: security context"],
  ["pod.spec.volumes[].", "Volumes"],
  ["configmap.", "ConfigMap"],
  ["secret.", "Secret"],
  ["pvc.", "PersistentVolumeClaim"],
];

export function podFieldsPage(): string {
  const fields = documentedFields();
  const count = (name: string): string =>
    String(fields.filter(({ field }) => fieldClass(field.rule) === name).length);
  return page("Fields of a pod", [
    `All fields of Kubernetes ${list.kubernetesVersion}'s v1 Pod, ConfigMap, Secret and PersistentVolumeClaim, and how the agent treats them.`,
    "`agent explain pod.spec.containers.env` shows one of them, `agent explain fields` all, and `agent schema pod` prints a JSON Schema for editors.",
    "",
    ...table(
      ["Class", "Fields", "Meaning"],
      [
        ["supported", count("supported"), "Works as in Kubernetes."],
        [
          "refused",
          count("refused"),
          "The object is refused with this code and message. The last valid version keeps running.",
        ],
        ["ignored", count("ignored"), "The pod runs without it, and a warning says so."],
        [
          "harmless",
          count("harmless"),
          "Accepted with any value, and changes nothing on this node.",
        ],
      ],
    ),
    "",
    'A class may have exceptions: “with `"windows"` refused” is true of that value only.',
    "The fields below one that is refused, ignored or harmless are not read.",
    "A field that is not listed is an error, with its path and a suggestion.",
    "The annotation `agent/unknown-fields: warn` turns it into a warning, unless a volume, a projected source or a variable would be left without a source.",
    "Init containers have the fields of containers. Probes and lifecycle are refused for those that are not sidecars.",
    ...PARTS.flatMap(([prefix, heading]) => part(prefix, heading)),
  ]);
}

function part(prefix: string, heading: string): readonly string[] {
  const rows = documentedFields().filter(({ path }) => partOf(path) === prefix);
  return ["", `## ${heading}`, "", ...table(["Field", "Type", "Meaning", "Here"], rows.map(row))];
}

function partOf(path: string): string | undefined {
  const [longest] = PARTS.map(([prefix]) => prefix)
    .filter((prefix) => path.startsWith(prefix))
    .toSorted((a, b) => b.length - a.length);
  return longest;
}

function row({ path, field }: FieldAt): readonly string[] {
  const below = path.slice(path.indexOf(".") + 1);
  return [code(below), code(field.type), meaning(field), classText(field.rule)];
}
