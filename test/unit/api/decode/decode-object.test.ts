import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { DecodeContext } from "../../../../src/api/decode/decode-context.ts";
import { decodeManifest } from "../../../../src/api/decode/decode-manifest.ts";
import { decodeObject } from "../../../../src/api/decode/decode-object.ts";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import { sha256 } from "../digest.ts";
import type { JsonObject } from "../../../../src/lib/json.ts";

const context: DecodeContext & { readonly nodeName: string } = {
  source: "mqtt:node",
  ref: "agent/v1/node/pi-1/desired",
  sourceRef: "generation 7",
  nodeName: "pi-1",
  sha256,
};

function pod(spec: object = {}, container: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web" },
    spec: { containers: [{ name: "a", image: "busybox", ...container }], ...spec },
  };
}

function specOf(value: object): PodSpec | undefined {
  const { pods, errors } = decodeObject(value, context);
  expect(errors).toEqual([]);
  return pods[0]?.desired.pod.spec;
}

describe("defaults", () => {
  test("a minimal pod has Kubernetes' defaults", () => {
    expect(specOf(pod())).toEqual({
      initContainers: [],
      containers: [
        {
          name: "a",
          image: "busybox",
          imagePullPolicy: "Always",
          command: [],
          args: [],
          env: [],
          envFrom: [],
          ports: [],
          resources: { limits: {}, requests: {} },
          volumeMounts: [],
          restartPolicyRules: [],
          lifecycle: {},
          terminationMessagePath: "/dev/termination-log",
          terminationMessagePolicy: "File",
          securityContext: {},
          stdin: false,
          stdinOnce: false,
          tty: false,
        },
      ],
      volumes: [],
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      hostNetwork: false,
      hostPID: false,
      hostIPC: false,
      shareProcessNamespace: false,
      hostUsers: true,
      setHostnameAsFQDN: false,
      hostAliases: [],
      dnsPolicy: "ClusterFirst",
      imagePullSecrets: [],
      overhead: {},
      nodeSelector: {},
      tolerations: [],
      schedulerName: "default-scheduler",
      enableServiceLinks: true,
      resources: { limits: {}, requests: {} },
      securityContext: { supplementalGroups: [], sysctls: [] },
    });
  });

  const policies: Readonly<Record<string, string>> = {
    busybox: "Always",
    "busybox:latest": "Always",
    "busybox:1": "IfNotPresent",
    "registry:5000/busybox": "Always",
    "registry:5000/busybox:1": "IfNotPresent",
    "busybox@sha256:0000": "IfNotPresent",
    "busybox:latest@sha256:0000": "Always",
  };
  test.each(Object.entries(policies))("the pull policy of %s is %s", (image, policy) => {
    expect(specOf(pod({}, { image }))?.containers[0]?.imagePullPolicy).toBe(policy as "Always");
  });

  test("a limit is also the request, unless one is written", () => {
    const resources = { limits: { cpu: 1, memory: "64Mi" }, requests: { cpu: "250m" } };
    expect(specOf(pod({}, { resources }))?.containers[0]?.resources).toEqual({
      limits: { cpu: "1", memory: "64Mi" },
      requests: { cpu: "250m", memory: "64Mi" },
    });
  });

  test("on the host's network a port is a host port", () => {
    const ports = [{ containerPort: 80 }];
    expect(specOf(pod({ hostNetwork: true }, { ports }))?.containers[0]?.ports).toEqual([
      { containerPort: 80, hostPort: 80, protocol: "TCP" },
    ]);
  });

  test("null is the same as not written", () => {
    const value = pod(
      { volumes: null, hostname: null, hostIPC: null },
      { env: null, livenessProbe: null },
    );
    expect(specOf(value)?.containers[0]?.env).toEqual([]);
  });
});

describe("origin", () => {
  test("a pod carries its source and the object as written", () => {
    const value = pod();
    const [decoded] = decodeObject(value, context).pods;
    expect(decoded?.written).toBe(value as never);
    expect(decoded?.desired).toMatchObject({ source: "mqtt:node", sourceRef: "generation 7" });
    expect(Object.keys(decoded?.desired.containerHashes ?? {})).toEqual(["a"]);
  });

  test("an error names where it stands and whose it is", () => {
    const { errors } = decodeObject(pod({ hostIPC: 1 }), context);
    expect(errors).toEqual([
      {
        source: "mqtt:node",
        ref: "agent/v1/node/pi-1/desired",
        kind: "Pod",
        namespace: "default",
        name: "web",
        code: "Invalid",
        path: "spec.hostIPC",
        message: "Invalid value: 1: must be true or false",
      },
    ]);
  });

  test("a bad item of a list does not spoil the others", () => {
    const list = {
      apiVersion: "v1",
      kind: "List",
      items: [pod(), { kind: "Service" }, pod({ x: 1 }), 5],
    };
    const { pods, errors, ignoredKinds } = decodeObject(list, context);
    expect([pods.length, errors.map((error) => error.path), ignoredKinds.length]).toEqual([
      1,
      ["spec.x", ""],
      1,
    ]);
  });

  test("lists in lists are refused", () => {
    const list = (...items: readonly unknown[]): JsonObject => ({
      apiVersion: "v1",
      kind: "List",
      items,
    });
    expect(decodeObject(list(list(pod())), context)).toMatchObject({
      pods: [],
      errors: [{ code: "Invalid", path: "kind" }],
    });
  });

  test.each([
    ["v1", "Pods"],
    ["v1", "pod"],
    ["v1", "Pdo"],
    ["v1", "Configmap"],
    ["v1", "PVC"],
    ["v1", "PodSpec"],
    ["core/v1", "pod"],
    ["apps/v1", "Podd"],
    [undefined, "Podd"],
  ])("%s %s is a misspelling, and an error", (apiVersion, kind) => {
    const { errors, ignoredKinds } = decodeObject({ apiVersion, kind }, context);
    expect(errors.map(({ path }) => path)).toEqual(["kind"]);
    expect(ignoredKinds).toEqual([]);
  });

  test.each([
    ["monitoring.coreos.com/v1", "PodMonitor"],
    ["secrets-store.csi.x-k8s.io/v1", "SecretProviderClass"],
    ["policy/v1beta1", "PodSecurityPolicy"],
    ["external-secrets.io/v1", "SecretStore"],
    ["example.com/v1", "Pods"],
  ])("%s %s is a kind of its own", (apiVersion, kind) => {
    const { errors, ignoredKinds } = decodeObject({ apiVersion, kind }, context);
    expect(errors).toEqual([]);
    expect(ignoredKinds.map(({ code }) => code)).toEqual(["Ignored"]);
  });

  test("a kind that is not a string is refused as such", () => {
    expect(decodeObject({ apiVersion: "v1", kind: 5 }, context).errors).toMatchObject([
      { code: "Invalid", path: "kind", message: "Invalid value: 5: must be a string" },
    ]);
  });
});

describe("a checkpoint is read leniently", () => {
  const lenient: DecodeContext = { ...context, lenient: true };

  test("what a newer agent would refuse still runs, under the same uid", () => {
    const value = pod(
      {
        hostPID: true,
        nodeName: "pi-9",
        terminationGracePeriodSeconds: -4,
        volumes: [{ name: "c", csi: {} }],
      },
      { ports: [{ containerPort: 99_999 }], bogus: 1 },
    );
    const strict = decodeObject(pod(), context).pods[0];
    const kept = decodeObject(value, lenient);
    expect(kept).toMatchObject({ errors: [], notices: [] });
    expect(kept.pods[0]?.desired.pod.metadata.name).toBe("web");
    expect(kept.pods[0]?.desired.uid).not.toBe(strict?.desired.uid);
    expect(decodeObject(pod(), lenient).pods[0]?.desired).toEqual(strict?.desired as never);
  });

  const hopeless: Readonly<Record<string, unknown>> = {
    "nothing at all": undefined,
    null: null,
    "a number": 5,
    text: "x",
    "a list": [],
    "an object without a kind": {},
    "a pod without a spec": { kind: "Pod" },
    "a pod without containers": pod({ containers: [] }),
    "a container without an image": pod({}, { image: "" }),
  };
  test.each(Object.keys(hopeless))("%s cannot run", (name) => {
    expect(decodeObject(hopeless[name], lenient).pods).toEqual([]);
  });
});

describe("whatever comes", () => {
  const key = fc.constantFrom(
    "kind",
    "apiVersion",
    "metadata",
    "spec",
    "name",
    "containers",
    "image",
    "volumes",
    "ports",
    "env",
    "items",
    "resources",
    "limits",
    "cpu",
    "hostPath",
    "configMap",
    "secret",
    "projected",
    "sources",
    "downwardAPI",
    "emptyDir",
    "volumeMounts",
    "subPath",
    "valueFrom",
    "fieldRef",
    "resourceFieldRef",
    "envFrom",
    "data",
    "stringData",
    "accessModes",
    "x",
  );
  const leaf = fc.constantFrom(
    "Pod",
    "List",
    "ConfigMap",
    "Secret",
    "PersistentVolumeClaim",
    "SecretList",
    "v1",
    "web",
    "a",
    "",
    1,
    -1,
    0.5,
    true,
    null,
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      leaf,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(key, tie("value"), { maxKeys: 5 }),
    ),
  }));

  const kinds = fc.constantFrom("Pod", "ConfigMap", "Secret", "PersistentVolumeClaim");
  test.each([false, true])("decoding never throws (lenient: %p)", (isLenient) => {
    fc.assert(
      fc.property(value, fc.boolean(), kinds, (written, wrap, kind) => {
        const object = wrap
          ? { apiVersion: "v1", kind, metadata: { name: "web" }, spec: written, data: written }
          : written;
        const { pods, objects, errors, ignoredKinds } = decodeObject(object, {
          ...context,
          lenient: isLenient,
        });
        // Nothing is ignored in silence: it runs, or it says why not. Only an empty list has nothing to say.
        const isEmptyList = JSON.stringify(object).includes('"items":[]');
        const said = pods.length + objects.length + errors.length + ignoredKinds.length;
        expect(isEmptyList || said > 0).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("a truncated manifest never throws and always yields a pod or errors", () => {
    const text = `apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  restartPolicy: Never\n  containers:\n    - name: a\n      image: busybox:1\n      args: ["1"]\n`;
    fc.assert(
      fc.property(fc.nat(text.length), fc.nat(30), (from, length) => {
        const mutated = text.slice(0, from) + text.slice(from + length);
        const { pods, errors, ignoredKinds } = decodeManifest(mutated, {
          ...context,
          ref: "/m/a.yaml",
        });
        expect(pods.length + errors.length + ignoredKinds.length).toBeGreaterThan(0);
      }),
      { numRuns: 300 },
    );
  });

  test("data deeper than anything real is refused", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 5000; level++) deep = [deep];
    expect(decodeObject({ kind: "Pod", spec: deep }, context).errors[0]?.message).toBe(
      "nested deeper than 100 levels",
    );
  });
});
