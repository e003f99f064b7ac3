import { describe, expect, test } from "bun:test";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { decodeManifest } from "../../../src/api/decode/decode-manifest.ts";
import { decodeObject } from "../../../src/api/decode/decode-object.ts";
import type { Rejection } from "../../../src/api/pod/desired-pod.ts";
import type { Pod } from "../../../src/api/v1/pod.ts";
import type { PodStatus } from "../../../src/api/v1/pod-status.ts";
import { v1Pod } from "../../../src/node/pod-list.ts";
import { sha256 } from "../api/digest.ts";

// What `get pods -o yaml` prints can be applied again without a warning, and asks for the same.

const status: PodStatus = {
  observedGeneration: 1,
  phase: "Running",
  conditions: [],
  initContainerStatuses: [],
  containerStatuses: [],
  qosClass: "BestEffort",
};
const node = { nodeName: "pi-1", clusterDNS: true, sha256 } as const;
const context = { source: "file", ref: "/m/a.yaml", ...node } as const;
const fixtures = join(import.meta.dir, "../../fixtures/valid");

function shown(pod: Pod): unknown {
  const origin = { source: "file", sourceRef: "a#0", specHash: "0", nodeName: "pi-1" } as const;
  return JSON.parse(JSON.stringify(v1Pod({ pod, status, ...origin }))) as unknown;
}

function expectSameAgain(pod: Pod, notices: readonly Rejection[]): void {
  const value = shown(pod);
  const again = decodeObject(value, { ...context, sourceRef: "a#0" });
  expect(again.errors).toEqual([]);
  // Nothing is shown that the manifest was not warned of itself.
  // A workload shows as its pod.
  const warned = notices.map(({ path }) => path.replace(/^spec\.(?:.+\.)?template\./, ""));
  for (const { path } of again.notices)
    // Requests follow from limits.
    expect(warned).toContain(path.replace(".requests", ".limits"));
  const [spec] = again.pods.map(({ desired }) => desired.pod.spec);
  // Tolerations mean nothing here, and the shown one stays the only one.
  expect(spec).toEqual({ ...pod.spec, tolerations: spec?.tolerations ?? [] });
  expect(again.pods.map(({ desired }) => shown(desired.pod))).toMatchObject([
    { spec: (value as { readonly spec: object }).spec },
  ]);
}

const EVERYTHING = `
apiVersion: v1
kind: Pod
metadata: {name: all}
spec:
  restartPolicy: OnFailure
  activeDeadlineSeconds: 600
  hostNetwork: false
  hostPID: true
  hostIPC: true
  hostname: all-1
  subdomain: sub
  setHostnameAsFQDN: true
  hostAliases: [{ip: 10.0.0.1, hostnames: [db, cache]}]
  dnsPolicy: None
  dnsConfig: {nameservers: [9.9.9.9], searches: [lan], options: [{name: ndots, value: "2"}, {name: rotate}]}
  imagePullSecrets: [{name: registry}]
  priorityClassName: system-node-critical
  runtimeClassName: kata
  overhead: {cpu: 10m}
  nodeSelector: {disk: ssd}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
          - matchExpressions: [{key: site, operator: In, values: [a, b]}, {key: old, operator: DoesNotExist}]
            matchFields: [{key: metadata.name, operator: In, values: [pi-1]}]
  tolerations:
    - {operator: Exists}
    - {key: disk, operator: Equal, value: slow, effect: NoExecute, tolerationSeconds: 60}
  securityContext:
    runAsUser: 1000
    runAsGroup: 1000
    runAsNonRoot: true
    supplementalGroups: [5, 6]
    supplementalGroupsPolicy: Merge
    fsGroup: 7
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: Localhost, localhostProfile: a.json}
    seLinuxOptions: {level: "s0:c1"}
    sysctls: [{name: net.ipv4.tcp_syncookies, value: "1"}]
  volumes:
    - {name: host, hostPath: {path: /srv, type: DirectoryOrCreate}}
    - {name: mem, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
    - {name: tmp, emptyDir: {}}
    - {name: cm, configMap: {name: c, optional: true, defaultMode: 0400, items: [{key: a, path: b/c, mode: 0600}]}}
    - {name: sec, secret: {secretName: s}}
    - {name: down, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}, {path: cpu, mode: 0444, resourceFieldRef: {containerName: a, resource: limits.cpu, divisor: 1m}}]}}
    - name: many
      projected:
        defaultMode: 0440
        sources:
          - configMap: {name: c, items: [{key: a, path: a}]}
          - secret: {name: s, optional: true}
          - downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}
    - {name: claim, persistentVolumeClaim: {claimName: data, readOnly: true}}
    - {name: img, image: {reference: "local/data:1", pullPolicy: Never}}
  initContainers:
    - name: side
      image: local/a:1
      restartPolicy: Always
  containers:
    - name: a
      image: local/a:1
      stdin: true
      stdinOnce: true
      tty: true
      envFrom:
        - {prefix: P_, configMapRef: {name: c, optional: true}}
        - {secretRef: {name: s}}
      env:
        - {name: PLAIN, value: "1"}
        - {name: FIELD, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: RES, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
        - {name: CM, valueFrom: {configMapKeyRef: {name: c, key: k, optional: true}}}
        - {name: SEC, valueFrom: {secretKeyRef: {name: s, key: k}}}
      resources: {limits: {cpu: 100m, memory: 64Mi}}
      volumeMounts:
        - {name: host, mountPath: /host, mountPropagation: HostToContainer}
        - {name: cm, mountPath: /cm, readOnly: true, recursiveReadOnly: IfPossible}
        - {name: tmp, mountPath: /sub, subPath: a/b}
        - {name: tmp, mountPath: /expr, subPathExpr: $(PLAIN)}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {add: [NET_ADMIN], drop: [ALL]}
        seccompProfile: {type: RuntimeDefault}
        runAsUser: 0
        runAsNonRoot: false
`;

test("every field", () => {
  const { pods, errors, notices } = decodeManifest(EVERYTHING, context);
  expect(errors).toEqual([]);
  expect(pods).toHaveLength(1);
  for (const { desired } of pods) expectSameAgain(desired.pod, notices);
});

describe("every valid fixture", () => {
  const names = readdirSync(fixtures).filter((name) => /\.(yaml|json)$/.test(name));
  test.each(names)("%s", (name) => {
    const manifest = decodeManifest(readFileSync(join(fixtures, name), "utf8"), context);
    for (const { desired } of manifest.pods) expectSameAgain(desired.pod, manifest.notices);
  });
});

test("nothing is shown of places from which an injected token was taken", () => {
  const { pods } = decodeManifest(
    `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - name: a
      image: local/a:1
      volumeMounts:
        - {name: kube-api-access-x, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}
        - {name: data, mountPath: /data}
  volumes:
    - {name: kube-api-access-x, projected: {sources: [{serviceAccountToken: {path: token}}]}}
    - {name: data, emptyDir: {}}
`,
    context,
  );
  expect(pods.map(({ desired }) => shown(desired.pod))).toMatchObject([
    {
      spec: {
        containers: [{ volumeMounts: [{ name: "data", mountPath: "/data" }] }],
        volumes: [{ name: "data", emptyDir: {} }],
      },
    },
  ]);
  expect(JSON.stringify(pods.map(({ desired }) => shown(desired.pod)))).not.toContain("written");
});
