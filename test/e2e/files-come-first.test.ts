// A document's pods make room for a file's pod: on a real runtime, with a pod that ignores SIGTERM.

import { BUSYBOX_1 } from "../harness/images.ts";
import { startBroker } from "../harness/broker.ts";
import { always, eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { plainPod } from "./support-b-pods.ts";
import { openStage, runningApps } from "./support-b-stage.ts";
import { desired, publishDesired, Upstream } from "./support-b-upstream.ts";

const { e2e, temp, containerd, agent: makeAgent } = await openStage();

/** What a pod of one container takes of the node. */
function taking(hostPort: number, script: string): object {
  const command = ["sh", "-c", script];
  const ports = [{ containerPort: 80, hostPort }];
  return { containers: [{ name: "main", image: BUSYBOX_1.name, command, ports }] };
}

const DEAF = "trap '' TERM; while :; do sleep 3600; done";

e2e("a file's pod takes a port and a place from pods of a document within 30 s", async () => {
  const broker = await startBroker(temp, { name: "first-broker" });
  await using client = await broker.client();
  const upstream = await Upstream.follow(client, "first");
  const agent = makeAgent("first", { broker, config: { maxPods: 2 } });
  const port = freePort();
  await agent.startReady();
  await upstream.untilState("online");
  const names = async (): Promise<readonly string[]> =>
    (await runningApps(containerd(), "first")).map(({ name }) => name);
  const until = (what: string, expected: string): Promise<unknown> =>
    eventually(what, async () => (await names()).join(" ") === expected, {
      explain: () => agent.logTail(60),
      timeout: 60_000,
    });

  const deaf = plainPod("deaf", "1", {
    ...taking(port, DEAF),
    terminationGracePeriodSeconds: 3_000,
  });
  const document = desired("first", {
    generation: 1,
    epoch: "e1",
    resources: [deaf, plainPod("other")],
  });
  await publishDesired(broker, "first", document);
  await until("the document's pods run", "deaf other");

  agent.writeManifest("own.yaml", plainPod("own", "1", taking(port, "sleep 3600")));
  await until("the file's pod has the port", "other own");
  // Until the old pod is gone for good, the port is what it lacks; then it is the place.
  let shown = "";
  await eventually(
    "the document's pod has no place",
    async () => {
      const { stdout, stderr } = await agent.cli("get", "pods");
      shown = stdout + stderr;
      return stderr.includes("pods of files come first: default/own of file");
    },
    { explain: () => `${shown}\n${agent.logTail(60)}`, timeout: 60_000 },
  );
  await always("nothing flaps", 5_000, async () => (await names()).join(" ") === "other own");

  agent.writeManifest("second.yaml", plainPod("second"));
  await until("the node is full of files", "own second");
  agent.removeManifest("own.yaml");
  agent.removeManifest("second.yaml");
  await until("the document has its place again", "deaf other");
});
