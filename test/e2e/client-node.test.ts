// @kubernetes/client-node against the compiled agent, over TLS, with the kubeconfig that `agent kubeconfig` prints.

import { expect } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, type Writable } from "node:stream";
import { createGunzip } from "node:zlib";

import {
  ApiException,
  Attach,
  CoreV1Api,
  Cp,
  CustomObjectsApi,
  Exec,
  KubeConfig,
  KubernetesObjectApi,
  Log,
  makeInformer,
  Metrics,
  PatchStrategy,
  PortForward,
  setHeaderOptions,
  topNodes,
  topPods,
  VersionApi,
  type V1ConfigMap,
  type V1Pod,
  type V1Status,
} from "@kubernetes/client-node";

import { eventually } from "../harness/eventually.ts";
import { ClientStage, Collected, Screen, typedInput, Watched } from "./support-n-client-node.ts";

const clients = await ClientStage.open();
const { stage } = clients;
const e2e = stage.test;
const namespace = "default";
const PODS = "/api/v1/namespaces/default/pods";
const CONFIGS = "/api/v1/namespaces/default/configmaps";

function core(config: KubeConfig = clients.admin): CoreV1Api {
  return config.makeApiClient(CoreV1Api);
}

function configMap(name: string, value: string): V1ConfigMap {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { value } };
}

/** A pod that runs this once. */
function job(name: string, script: string): V1Pod {
  const main = { name: "main", image: "local/busybox:1", command: ["sh", "-c", script] };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: name } },
    spec: { terminationGracePeriodSeconds: 0, restartPolicy: "Never", containers: [main] },
  };
}

/** The HTTP status with which the API refuses this. */
async function refusal(asked: Promise<unknown>): Promise<number> {
  try {
    await asked;
  } catch (thrown) {
    if (thrown instanceof ApiException) return thrown.code;
    throw thrown;
  }
  return 200;
}

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: V1Status;
}

/** Runs a command in the pod to its end. */
async function exec(
  command: readonly string[],
  stdin: Readable | null = null,
  config = clients.admin,
): Promise<Ended> {
  const [stdout, stderr] = [new Collected(), new Collected()];
  const ended = Promise.withResolvers<V1Status>();
  const done = (status: V1Status): void => ended.resolve(status);
  const outputs = [stdout, stderr, stdin, false, done] as const;
  await new Exec(config).exec(namespace, "web", "main", [...command], ...outputs);
  const status = await ended.promise;
  return { stdout: stdout.text, stderr: stderr.text, status };
}

/** The message of the event with which a WebSocket is refused; "" = it is not. */
async function streamRefusal(config: KubeConfig): Promise<string> {
  try {
    await exec(["true"], null, config);
  } catch (thrown) {
    return String(Reflect.get(Object(thrown), "message"));
  }
  return "";
}

e2e("client-node lists and reads each kind, and each object has a UID and a version", async () => {
  const api = core();
  await api.createNamespacedConfigMap({ namespace, body: configMap("settings", "1") });
  await api.createNamespacedSecret({
    namespace,
    body: { metadata: { name: "token" }, stringData: { key: "s3cret" } },
  });
  await api.createNamespacedPersistentVolumeClaim({
    namespace,
    body: {
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    },
  });
  const lists = [
    await api.listNamespacedPod({ namespace }),
    await api.listNamespacedConfigMap({ namespace }),
    await api.listNamespacedSecret({ namespace }),
    await api.listNamespacedPersistentVolumeClaim({ namespace }),
    await api.listNamespacedEvent({ namespace }),
    await api.listNode(),
    await api.listNamespace(),
  ];
  for (const { kind, items, metadata } of lists) {
    expect([kind, items.length > 0]).toEqual([kind, true]);
    expect(metadata?.resourceVersion).toMatch(/^\d+$/);
    for (const one of items) {
      expect(one.metadata?.uid).toMatch(/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/);
      expect(one.metadata?.resourceVersion).toMatch(/^\d+$/);
      expect(one.metadata?.creationTimestamp ?? new Date()).toBeInstanceOf(Date);
    }
    const uids = new Set((items as V1ConfigMap[]).map((one) => one.metadata?.uid));
    expect(uids.size).toBe(items.length);
  }
  const secret = await api.readNamespacedSecret({ namespace, name: "token" });
  expect(Buffer.from(secret.data?.["key"] ?? "", "base64").toString()).toBe("s3cret");
  const pod = await api.readNamespacedPod({ namespace, name: "web" });
  expect([pod.status?.phase, pod.spec?.nodeName]).toEqual(["Running", "pi-1"]);
  expect((await api.readNode({ name: "pi-1" })).status?.nodeInfo?.operatingSystem).toBe("linux");
  expect(await refusal(api.readNamespacedPod({ namespace, name: "none" }))).toBe(404);
  const paged = await api.listNamespacedConfigMap({ namespace, limit: 1 });
  expect([paged.items.length, (paged.metadata?._continue ?? "") !== ""]).toEqual([1, true]);
  const version = await clients.admin.makeApiClient(VersionApi).getCode();
  expect(version.gitVersion).toMatch(/^v/);
  const custom = clients.admin.makeApiClient(CustomObjectsApi);
  for (const [plural, kind, least] of [
    ["desired", "Desired", 1],
    ["images", "Image", 1],
    ["rejections", "Rejection", 0],
  ] as const) {
    const list: unknown = await custom.listClusterCustomObject({
      group: "agent",
      version: "v1",
      plural,
    });
    const { kind: shown, items } = list as { kind: string; items: readonly { kind: string }[] };
    expect([shown, items.length >= least]).toEqual([`${kind}List`, true]);
    expect(new Set(items.map((one) => one.kind)).size).toBeLessThanOrEqual(1);
  }
  const generic = KubernetesObjectApi.makeApiClient(clients.admin);
  const read = await generic.read({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "settings", namespace },
  });
  expect(read).toMatchObject({ data: { value: "1" } });
});

e2e("client-node creates, replaces, applies and deletes objects", async () => {
  const api = core();
  const name = "written";
  const created = await api.createNamespacedConfigMap({ namespace, body: configMap(name, "1") });
  const again = api.createNamespacedConfigMap({ namespace, body: configMap(name, "2") });
  expect(await refusal(again)).toBe(409);
  const edited = { metadata: created.metadata, data: { value: "2" } } as V1ConfigMap;
  const replaced = await api.replaceNamespacedConfigMap({ namespace, name, body: edited });
  expect([replaced.data, replaced.metadata?.uid]).toEqual([{ value: "2" }, created.metadata?.uid]);
  const outdated = api.replaceNamespacedConfigMap({ namespace, name, body: created });
  expect(await refusal(outdated)).toBe(409);

  const apply = setHeaderOptions("Content-Type", PatchStrategy.ServerSideApply);
  const applying = (fieldManager: string, value: string, force = false): Promise<V1ConfigMap> =>
    api.patchNamespacedConfigMap(
      { namespace, name, body: configMap(name, value), fieldManager, force },
      apply,
    );
  expect((await applying("one", "3", true)).data).toEqual({ value: "3" });
  expect(await refusal(applying("other", "4"))).toBe(409);
  expect((await applying("one", "4")).metadata?.managedFields?.[0]?.manager).toBe("one");
  const merge = setHeaderOptions("Content-Type", PatchStrategy.StrategicMergePatch);
  const patch = { namespace, name, body: { data: { value: "5" } } };
  expect(await refusal(api.patchNamespacedConfigMap(patch, merge))).toBe(415);
  const wrong = api.createNamespacedPod({ namespace, body: job("Wrong", "true") });
  expect(await refusal(wrong)).toBe(422);

  const uid = created.metadata?.uid ?? "";
  const foreign = { preconditions: { uid: "another" } };
  expect(await refusal(api.deleteNamespacedConfigMap({ namespace, name, body: foreign }))).toBe(
    409,
  );
  const own = { preconditions: { uid } };
  const deleted = await api.deleteNamespacedConfigMap({ namespace, name, body: own });
  expect([deleted.status, deleted.details?.uid]).toEqual(["Success", uid]);
  expect(await refusal(api.readNamespacedConfigMap({ namespace, name }))).toBe(404);
});

e2e("client-node waits through a watch until a pod is ready, and until it is gone", async () => {
  const api = core();
  const watched = await Watched.begin<V1Pod>(clients.admin, PODS, { labelSelector: "app=awaited" });
  await api.createNamespacedPod({ namespace, body: job("awaited", "sleep 100000") });
  await watched.until("the pod is ready", (_type, { status }) => {
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    return ready?.status === "True";
  });
  await api.deleteNamespacedPod({ namespace, name: "awaited" });
  const gone = await watched.until("the pod is gone", (type) => type === "DELETED");
  expect(gone.metadata?.name).toBe("awaited");
  expect(watched.events[0]?.type).toBe("ADDED");
  watched.stop();
});

e2e("client-node goes on from a version, and is told of one that is too old", async () => {
  const api = core();
  const { metadata } = await api.listNamespacedConfigMap({ namespace });
  const resourceVersion = metadata?.resourceVersion ?? "";
  await api.createNamespacedConfigMap({ namespace, body: configMap("later", "1") });
  const onwards = await Watched.begin<V1ConfigMap>(clients.admin, CONFIGS, { resourceVersion });
  const added = await onwards.until("what was created since", (type) => type === "ADDED");
  expect([added.metadata?.name, onwards.events.length]).toEqual(["later", 1]);
  onwards.stop();
  const old = await Watched.begin<V1Status>(clients.admin, CONFIGS, { resourceVersion: "5" });
  await eventually("the watch ends", () => old.end !== undefined);
  expect(old.events).toMatchObject([{ type: "ERROR", object: { code: 410, reason: "Expired" } }]);
});

e2e("client-node reads the events of a pod", async () => {
  const fieldSelector = "involvedObject.name=web,reason=Started,type=Normal";
  const { items } = await core().listNamespacedEvent({ namespace, fieldSelector });
  const started = items.map(({ involvedObject: { fieldPath } }) => fieldPath);
  expect(started).toHaveLength(2);
  expect(new Set(started)).toEqual(new Set(["spec.containers{main}", "spec.containers{shell}"]));
});

e2e(
  "client-node's informer sees what comes, changes and goes, also while the agent is away",
  async () => {
    const api = core();
    const seen: string[] = [];
    let lists = 0;
    const informer = makeInformer<V1ConfigMap>(clients.admin, CONFIGS, () => {
      lists += 1;
      return api.listNamespacedConfigMap({ namespace });
    });
    for (const verb of ["add", "update", "delete"] as const)
      informer.on(verb, ({ metadata }) => void seen.push(`${verb} ${metadata?.name}`));
    let timer: ReturnType<typeof setTimeout> | undefined;
    // As its documentation does.
    informer.on("error", () => {
      timer = setTimeout(() => void informer.start(), 200);
    });
    const sees = (what: string): Promise<unknown> =>
      eventually(what, () => seen.includes(what), { explain: () => seen.join(", ") });

    await api.createNamespacedConfigMap({ namespace, body: configMap("kept", "1") });
    await api.createNamespacedConfigMap({ namespace, body: configMap("lost", "1") });
    await informer.start();
    await sees("add kept");
    const body = await api.createNamespacedConfigMap({ namespace, body: configMap("new", "1") });
    await sees("add new");
    body.data = { value: "2" };
    await api.replaceNamespacedConfigMap({ namespace, name: "new", body });
    await sees("update new");
    await api.deleteNamespacedConfigMap({ namespace, name: "new" });
    await sees("delete new");
    const before = informer.get("kept", namespace)?.metadata;
    expect(lists).toBe(1);

    await clients.agent.kill("SIGKILL");
    clients.agent.removeManifest("api.configmap.default.lost.yaml");
    clients.agent.writeManifest("found.yaml", configMap("found", "1"));
    await clients.agent.startReady();
    await sees("delete lost");
    await sees("add found");
    await eventually("what stayed has a version of the new process", () => {
      const version = informer.get("kept", namespace)?.metadata?.resourceVersion;
      return version !== before?.resourceVersion;
    });
    expect(informer.get("kept", namespace)?.metadata?.uid).toBe(before?.uid as string);
    expect(seen.filter((one) => one === "add kept" || one === "delete kept")).toEqual(["add kept"]);
    expect(lists).toBeGreaterThan(1);
    await api.createNamespacedConfigMap({ namespace, body: configMap("after", "1") });
    await sees("add after");
    clearTimeout(timer);
    await informer.stop();
  },
  120_000,
);

e2e("client-node follows a log as it is written, to the end of the pod", async () => {
  const api = core();
  const name = "count";
  const script = "for n in 1 2 3; do echo line $n; sleep 0.5; done";
  await api.createNamespacedPod({ namespace, body: job(name, script) });
  await eventually("the pod has begun", async () => {
    const { status } = await api.readNamespacedPod({ namespace, name });
    return status?.phase === "Running" || status?.phase === "Succeeded";
  });
  const [followed, log] = [new Collected(), new Log(clients.admin)];
  const finished = new Promise((resolve) => void followed.once("finish", resolve));
  await log.log(namespace, name, "main", followed, { follow: true });
  await finished;
  expect(followed.text).toBe("line 1\nline 2\nline 3\n");
  expect(await api.readNamespacedPodLog({ namespace, name, tailLines: 1 })).toBe("line 3\n");
  expect(await refusal(log.log(namespace, name, "none", new Collected()))).toBe(400);
  await api.deleteNamespacedPod({ namespace, name });
});

e2e("client-node runs commands with their input, their outputs and their exit codes", async () => {
  const ended = await exec(["sh", "-c", "echo out; echo err >&2; exit 3"]);
  expect([ended.stdout, ended.stderr]).toEqual(["out\n", "err\n"]);
  expect(ended.status).toMatchObject({
    status: "Failure",
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: "3" }] },
  });
  const counted = await exec(["wc", "-c"], Readable.from([Buffer.alloc(300_000, "x")]));
  expect([counted.stdout, counted.status.status]).toEqual(["300000\n", "Success"]);
  expect(await streamRefusal(nobody())).toContain("401");
});

e2e("client-node's terminal follows its size and ends with the shell's exit code", async () => {
  const [screen, input] = [new Screen(), typedInput()];
  const ended = Promise.withResolvers<V1Status>();
  const command = ["sh"];
  const done = (status: V1Status): void => ended.resolve(status);
  await new Exec(clients.admin).exec(
    namespace,
    "web",
    "main",
    command,
    screen,
    null,
    input,
    true,
    done,
  );
  await screen.shows("/ #");
  input.push("stty size\r");
  await screen.shows("24 80");
  screen.resize(101, 33);
  input.push("sleep 0.5; stty size\r");
  await screen.shows("33 101");
  input.push("exit 7\r");
  expect((await ended.promise).details?.causes?.[0]?.message).toBe("7");
});

e2e(
  "client-node attaches to the shell that the container runs, and leaves it running",
  async () => {
    const [screen, input] = [new Screen(), typedInput()];
    const connection = await new Attach(clients.admin).attach(
      namespace,
      "web",
      "shell",
      screen,
      null,
      input,
      true,
    );
    input.push("echo atta''ched\r");
    await screen.shows("attached");
    connection.close();
    const { status } = await core().readNamespacedPod({ namespace, name: "web" });
    const shell = status?.containerStatuses?.find(({ name }) => name === "shell");
    expect([shell?.state?.running !== undefined, shell?.restartCount]).toEqual([true, 0]);
  },
);

e2e("client-node forwards a port", async () => {
  const [answer, errors, request] = [new Collected(), new Collected(), typedInput()];
  const forward = new PortForward(clients.admin);
  const connection = await forward.portForward(namespace, "web", [8080], answer, errors, request);
  request.push("GET / HTTP/1.0\r\n\r\n");
  await eventually("the pod answers", () => answer.text.endsWith("\r\n\r\nhello\n"), {
    timeout: 4000,
    explain: () => JSON.stringify([answer.text, errors.text]),
  });
  expect([answer.text.slice(0, 15), errors.text]).toEqual(["HTTP/1.1 200 OK", ""]);
  if ("close" in connection) connection.close();
});

/** cpFromPod of this version asks for a compressed tar, and hands it to what reads a plain one. */
class Unpacking extends Exec {
  override exec(...[space, pod, container, command, stdout, ...more]: Parameters<Exec["exec"]>) {
    if (stdout === null) return super.exec(space, pod, container, command, stdout, ...more);
    const gunzip = createGunzip();
    gunzip.pipe(stdout as Writable);
    return super.exec(space, pod, container, command, gunzip, ...more);
  }
}

e2e("client-node copies a directory to a pod and back", async () => {
  const directory = stage.temp.directory("cp");
  const [there, back] = [join(directory, "there"), join(directory, "back")];
  mkdirSync(join(there, "sub"), { recursive: true });
  const big = Buffer.alloc(2_000_000, "0123456789abcdef");
  writeFileSync(join(there, "big"), big);
  writeFileSync(join(there, "sub/small"), "small\n");
  await exec(["mkdir", "-p", "/work/there"]);
  const cp = new Cp(clients.admin, new Unpacking(clients.admin));
  await cp.cpToPod(namespace, "web", "main", there, "/work/there");
  // Its promises do not wait for the command.
  const sums = ["sh", "-c", "cd /work/there && wc -c < big && cat sub/small"];
  const isThere = async (): Promise<boolean> => (await exec(sums)).stdout === "2000000\nsmall\n";
  await eventually("the files are in the pod", isThere);
  await cp.cpFromPod(namespace, "web", "main", "there", back, "/work");
  await eventually("the files are back", () => {
    const [bytes, small] = ["there/big", "there/sub/small"].map((one) =>
      readFileSync(join(back, one)),
    );
    return bytes?.equals(big) === true && small?.toString() === "small\n";
  });
});

e2e("client-node's topPods and topNodes show what is used", async () => {
  const metrics = new Metrics(clients.admin);
  const web = await eventually("the pod has statistics", async () => {
    const pods = await topPods(core(), metrics, namespace);
    return pods.find(
      ({ Pod, Containers }) => Pod.metadata?.name === "web" && Containers.length === 2,
    );
  });
  expect(Number(web.Memory.CurrentUsage)).toBeGreaterThan(0);
  const [node] = await topNodes(core());
  expect([node?.Node.metadata?.name, Number(node?.CPU.Capacity) > 0]).toEqual(["pi-1", true]);
  const { items } = await metrics.getNodeMetrics();
  expect(items[0]?.usage.memory).toMatch(/^\d+Ki$/);
});

/** The node's own authority, and no credentials. */
function nobody(): KubeConfig {
  const cluster = clients.admin.getCurrentCluster();
  const config = new KubeConfig();
  if (cluster !== null) config.loadFromClusterAndUser(cluster, { name: "nobody" });
  return config;
}

e2e("client-node without credentials is refused with 401, a read-only user with 403", async () => {
  expect(await refusal(core(nobody()).listNamespacedPod({ namespace }))).toBe(401);
  const viewer = await clients.kubeconfig("--read-only");
  expect((await core(viewer).listNamespacedPod({ namespace })).items.length).toBeGreaterThan(0);
  expect(await refusal(core(viewer).listNamespacedSecret({ namespace }))).toBe(403);
  expect(await refusal(core(viewer).deleteNamespacedPod({ namespace, name: "web" }))).toBe(403);
  const body = configMap("refused", "1");
  expect(await refusal(core(viewer).createNamespacedConfigMap({ namespace, body }))).toBe(403);
  expect(await streamRefusal(viewer)).toContain("403");
  const token = await clients.kubeconfig("--token", "--user", "ci");
  expect((await core(token).listNode()).items).toHaveLength(1);
});
