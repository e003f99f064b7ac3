import { describe, expect, test } from "bun:test";
import { allFields } from "../../../src/api/schema/find-field.ts";
import { ALL_SCHEMA_KINDS } from "../../../src/api/schema/schema-kinds.ts";
import { UsageError } from "../../../src/cli/exit-codes.ts";
import { everyField, explainField, explainUsage } from "../../../src/cli/explain/explain-field.ts";

function text(asked: string, recursive = false): string {
  return explainField(asked, recursive);
}

function message(asked: string): string {
  try {
    explainField(asked, false);
    return "";
  } catch (thrown) {
    return thrown instanceof UsageError ? thrown.message : "";
  }
}

describe("a field", () => {
  test("with fields below it", () => {
    expect(text("pod.spec.containers.livenessProbe.httpGet")).toBe(
      `KIND:       Pod
VERSION:    v1

FIELD: httpGet <HTTPGetAction>
HERE:  supported

DESCRIPTION:
    Sends an HTTP request; status 200 to 399 is success.

FIELDS:
  host	<string>
    Host to connect to. Default: the pod's address.
    supported

  httpHeaders	<[]HTTPHeader>
    Headers to send beside the usual ones.
    supported

  path	<string>
    Path of the request. Default: /.
    supported

  port	<IntOrString> -required-
    Port number 1 to 65535, or the name of a port of the container.
    supported

  scheme	<string>
    HTTP or HTTPS. The certificate is not verified. Default: HTTP.
    supported
`,
    );
  });

  test("that is refused gives the reason, in lines that fit a terminal", () => {
    expect(text("pod.spec.volumes.csi")).toBe(
      `KIND:       Pod
VERSION:    v1

FIELD: csi <CSIVolumeSource>
HERE:  refused (UnsupportedVolume): csi needs a Kubernetes API server; use
       hostPath, emptyDir, persistentVolumeClaim, configMap, secret, projected
       or downwardAPI

DESCRIPTION:
    Storage that a cluster provides.
`,
    );
  });

  test("of which only names are asked for", () => {
    expect(text("secret", true)).toBe(
      `KIND:       Secret
VERSION:    v1

DESCRIPTION:
    Passwords and keys that pods read as variables or files. A local object of
    this node.

FIELDS:
  apiVersion	<string> -required-	supported
  data	<map[string]string>	supported
  immutable	<boolean>	supported
  kind	<string> -required-	supported
  metadata	<ObjectMeta> -required-	supported
    annotations	<map[string]string>	supported
    creationTimestamp	<Time>	harmless
    deletionGracePeriodSeconds	<integer>	harmless
    deletionTimestamp	<Time>	harmless
    finalizers	<[]string>	harmless
    generateName	<string>	harmless
    generation	<integer>	harmless
    labels	<map[string]string>	supported
    managedFields	<[]ManagedFieldsEntry>	harmless
    name	<string> -required-	supported
    namespace	<string>	supported
    ownerReferences	<[]OwnerReference>	harmless
    resourceVersion	<string>	harmless
    selfLink	<string>	harmless
    uid	<string>	harmless
  stringData	<map[string]string>	supported
  type	<string>	supported
`,
    );
  });

  const classes: Readonly<Record<string, string>> = {
    "pod.spec.hostname": "supported",
    "pod.status": "harmless",
    "pod.spec.enableServiceLinks": "harmless",
    "pod.spec.readinessGates":
      "ignored with a warning: no controller sets their conditions without an API server; with [] harmless",
    "pod.spec.serviceAccountName":
      'ignored with a warning: the pod runs without a token, as there is no API server; with "default" or "" harmless',
    "pod.spec.os.name":
      'supported; with "windows" refused (Unsupported): this node runs Linux containers only',
  };
  test.each(Object.entries(classes))("%s: %s", (asked, here) => {
    const shown = /HERE:([^]*?)\n\n/.exec(text(asked))?.[1] ?? "";
    expect(shown.trim().replaceAll(/\s+/g, " ")).toBe(here);
  });

  test("is found with the indexes of an error's path", () => {
    expect(text("Pod.spec.containers[0].env[].name")).toBe(text("pod.spec.containers.env.name"));
  });

  test.each(
    ALL_SCHEMA_KINDS.flatMap(({ words, level }) => words.map((word) => [word, level] as const)),
  )("every field of %s is explained", (word, level) => {
    for (const { path, field } of allFields(level))
      expect(text(`${word}.${path}`)).toContain(`<${field.type}>`);
  });
});

describe("what is unknown", () => {
  const cases: Readonly<Record<string, string>> = {
    "pod.spec.volume": "unknown field pod.spec.volume (did you mean pod.spec.volumes?)",
    "pod.spec.livenessProbe":
      "unknown field pod.spec.livenessProbe (did you mean pod.spec.containers.livenessProbe?)",
    "pod.spec.zzzzzzzzzz.x": "unknown field pod.spec.zzzzzzzzzz",
    "pod.": "unknown field pod.",
    livenessProbe:
      'unknown kind "livenessProbe"; ask for pod, configmap, secret, pvc, deployment, daemonset, statefulset, job or cronjob (did you mean pod.spec.containers.livenessProbe?)',
    "spec.containers":
      'unknown kind "spec"; ask for pod, configmap, secret, pvc, deployment, daemonset, statefulset, job or cronjob (did you mean pod.spec.containers?)',
    podd: 'unknown kind "podd"; ask for pod, configmap, secret, pvc, deployment, daemonset, statefulset, job or cronjob (did you mean pod?)',
    replicaset:
      'unknown kind "replicaset"; ask for pod, configmap, secret, pvc, deployment, daemonset, statefulset, job or cronjob',
    "pod.spec.hostname.x": "pod.spec.hostname is a <string> and has no fields",
    "pod.spec.affinity.podAffinity.x":
      "the fields of pod.spec.affinity.podAffinity are not read, because it is harmless",
    "pod.toString": "unknown field pod.toString",
    "": 'unknown kind ""; ask for pod, configmap, secret, pvc, deployment, daemonset, statefulset, job or cronjob',
  };
  test.each(Object.entries(cases))("%s", (asked, said) => {
    expect(message(asked)).toBe(said);
  });
});

test("every field stands in the list of all, with its class", () => {
  const lines = everyField().trimEnd().split("\n");
  const count = ALL_SCHEMA_KINDS.reduce((sum, { level }) => sum + allFields(level).length, 0);
  expect(lines).toHaveLength(count);
  const row = (path: string): readonly string[] | undefined =>
    lines.map((line) => line.split(/ {3,}/)).find((cells) => cells[0] === path);
  expect(row("pod.spec.containers[].env[].name")?.slice(1)).toEqual(["string", "supported"]);
  expect(row("pvc.spec.dataSource")?.slice(1)).toEqual([
    "TypedLocalObjectReference",
    "refused (Unsupported): a claim of this node begins as an empty directory; leave it out",
  ]);
});

test("without an argument it lists the resources", () => {
  expect(explainUsage()).toStartWith("Name a kind or a field:\n  agent explain pod   ");
  for (const { words } of ALL_SCHEMA_KINDS)
    expect(explainUsage()).toContain(`explain ${words[0]} `);
});
