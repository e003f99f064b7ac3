import { expect, test } from "bun:test";
import { readersOf } from "../../../src/source/object-readers.ts";
import { ObjectIndex } from "../../../src/source/object-index.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import { aContainer, aDesiredPod, aPod } from "../../fakes/a-pod.ts";
import { aConfigMap, aDesiredObject, named } from "../../fakes/an-object.ts";

const pod = (uid: string, spec: Partial<PodSpec>, namespace = "default") =>
  aDesiredPod(aPod(spec, { uid, namespace }));
const from = (type: "configMap" | "secret", name: string) =>
  aContainer("a", { envFrom: [{ type, name, prefix: "", optional: false }] });
const pods = [
  pod("config", { containers: [from("configMap", "web")] }),
  pod("secret", { containers: [from("secret", "web")] }),
  pod("elsewhere", { containers: [from("configMap", "web")] }, "other"),
  pod("pull", { imagePullSecrets: ["registry"] }),
  pod("claim", {
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: "web", readOnly: false } }],
  }),
  pod("twice", { containers: [from("configMap", "web")], initContainers: [from("secret", "web")] }),
  pod("none", {}),
];

test.each<[readonly string[], readonly string[]]>([
  [["ConfigMap default/web"], ["config", "twice"]],
  [["Secret default/web"], ["secret", "twice"]],
  [
    ["ConfigMap default/web", "Secret default/web"],
    ["config", "secret", "twice"],
  ],
  [["PersistentVolumeClaim default/web"], ["claim"]],
  [["Secret default/registry"], ["pull"]],
  [["ConfigMap other/web"], ["elsewhere"]],
  [["ConfigMap default/nobody"], []],
  [[], []],
])("%p is read by %p", (changed, readers) => {
  expect(readersOf(pods, new Set(changed))).toEqual([...readers]);
});

test("an object of a document is missing for a pod of a file, and there for one of the document", () => {
  const ofDocument = aDesiredObject(named(aConfigMap({}), "web"), { source: "mqtt:node" });
  const reader = pod("config", { containers: [from("configMap", "web")] });
  const key = "ConfigMap default/web";
  const own = { labels: {}, groups: [] };
  const index = new ObjectIndex(() => ({ name: "pi-1", arch: "arm64", ...own, own }));
  index.replace([ofDocument]);
  expect(index.find(reader, key)).toBeUndefined();
  const other = { ...reader, source: "mqtt:node" } as const;
  expect(index.find(other, key)).toEqual(ofDocument);
});
