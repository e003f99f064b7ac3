// What `get pods -o yaml` shows of a pod beside its state: as the kubelet does, and fit to be applied again.

import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { parse } from "yaml";

import type { AgentProcess } from "../harness/agent-process.ts";
import { getNode } from "./support-a-agent.ts";
import { openStage } from "./support-b-stage.ts";
import { podOf, READY, untilPod } from "./support-c-views.ts";

const { e2e, temp, agent: makeAgent } = await openStage();

const limits = { cpu: "50m", memory: "32Mi" };
const requests = { cpu: "10m", memory: "32Mi" };
const mount = { name: "config", mountPath: "/config", readOnly: true };
const manifest = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "whole" },
  spec: {
    terminationGracePeriodSeconds: 1,
    securityContext: { runAsUser: 1000, runAsGroup: 1001, supplementalGroups: [1002] },
    containers: [
      {
        name: "main",
        image: "local/busybox:1",
        command: ["sleep", "1000000"],
        resources: { limits, requests },
        volumeMounts: [mount],
      },
    ],
    volumes: [{ name: "config", configMap: { name: "agent-node" } }],
  },
};
let agent: AgentProcess;

interface Shown {
  readonly metadata: { readonly creationTimestamp: string };
  readonly status: {
    readonly startTime: string;
    readonly containerStatuses: readonly { readonly user?: unknown }[];
  };
}

async function shown(): Promise<{ readonly text: string; readonly pod: Shown }> {
  const { stdout } = await agent.cli("get", "pods", "whole", "-o", "yaml");
  return { text: stdout, pod: parse(stdout) as Shown };
}

e2e("a pod shows its defaults, and what its container was given", async () => {
  agent = makeAgent("status");
  agent.writeManifest("whole.json", JSON.stringify(manifest));
  await agent.startReady();
  await untilPod(agent, "whole", READY);
  const { text, pod } = await shown();
  expect(pod).toMatchObject({
    metadata: { creationTimestamp: pod.status.startTime },
    spec: {
      schedulerName: "default-scheduler",
      enableServiceLinks: true,
      tolerations: [{ operator: "Exists", effect: "NoExecute" }],
    },
    status: {
      containerStatuses: [
        {
          resources: { limits, requests },
          allocatedResources: requests,
          volumeMounts: [{ ...mount, recursiveReadOnly: "Disabled" }],
        },
      ],
    },
  });
  // containerd before 2.0 does not report it.
  const { containerRuntimeVersion: runtime = "" } = (await getNode(agent)).status.nodeInfo ?? {};
  const linux = { uid: 1000, gid: 1001, supplementalGroups: [1001, 1002] };
  const user = /:\/\/1\./.test(runtime) ? undefined : { linux };
  expect(pod.status.containerStatuses[0]?.user).toEqual(user);
  const file = join(temp.directory("shown"), "whole.yaml");
  writeFileSync(file, text);
  expect(await agent.cli("validate", "--strict", "-f", file)).toMatchObject({
    code: 0,
    stderr: "",
  });
});

e2e("creationTimestamp stays when the agent is killed", async () => {
  const before = await podOf(agent, "whole");
  await agent.kill("SIGKILL");
  // Times are shown in seconds.
  await Bun.sleep(1_100);
  await agent.startReady();
  await untilPod(agent, "whole", READY);
  const after = await podOf(agent, "whole");
  expect(after.metadata).toEqual(before.metadata);
  expect(after.status.startTime).toBe(before.status.startTime ?? "");
  expect(after.status.containerStatuses).toEqual(before.status.containerStatuses ?? []);
});

e2e("a pod that does not fit is listed as Failed, and runs when it fits", async () => {
  const name = "patient";
  const spec = { ...manifest.spec, nodeSelector: { site: "elsewhere" } };
  agent.writeManifest("patient.json", JSON.stringify({ ...manifest, metadata: { name }, spec }));
  const failed = await untilPod(agent, name, {
    is: "Failed",
    when: ({ status }) => status.phase === "Failed",
  });
  expect(failed.status.reason).toBe("NodeAffinity");
  expect((await agent.cli("get", "pods")).stdout).toMatch(/^patient +0\/1 +NodeAffinity +0 /m);
  agent.writeManifest("patient.json", JSON.stringify({ ...manifest, metadata: { name } }));
  await untilPod(agent, name, READY);
});
