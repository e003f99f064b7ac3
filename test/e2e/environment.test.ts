// What a container finds in its environment, read from the kernel inside it.

import { afterAll, beforeAll, expect } from "bun:test";
import { networkInterfaces, totalmem } from "node:os";

import type { AgentProcess } from "../harness/agent-process.ts";
import { getNode } from "./support-a-agent.ts";
import { containerOf, READY, untilPod } from "./support-c-views.ts";
import { World } from "./support-e-world.ts";

const world = await World.open();
const { e2e } = world;
let agent: AgentProcess;

beforeAll(async () => {
  if (!world.stage.available) return;
  agent = world.agent("env-node");
  await agent.startReady();
}, 180_000);

afterAll(() => world.close(), 180_000);

e2e.concurrent("every way to a variable, and who wins where two say the same", async () => {
  world.put(agent, "environment");
  const { status } = await untilPod(agent, "environment", READY);
  const place = { agent, pod: "environment" };
  const shown = await world.inside(place, "ip -4 -o addr show dev eth0");
  const podIP = /inet ([^/]+)/.exec(shown)?.[1] ?? "";
  const hostIPs = (status.hostIPs ?? []).map(({ ip }) => ip);
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  for (const ip of hostIPs) expect(addresses.map(({ address }) => address)).toContain(ip);
  expect(Object.fromEntries(await world.environment(place))).toEqual({
    // Of the image, and of the runtime.
    PATH: "/bin",
    HOME: "/root",
    HOSTNAME: "environment",
    // Whole objects; the later one wins.
    SHARED: "second",
    ONLY_FIRST: "1",
    "a.b-c": "dotted",
    S_TOKEN: "p4ss $(SHARED)",
    // containerd keeps texts only: of bytes that are none it makes U+FFFD.
    S_latin: "caf\uFFFD",
    // Variables of its own win over objects; what is optional and missing changes nothing.
    OVERRIDDEN: "from-env",
    FROM_FIRST: "first",
    PLAIN: "a value with spaces, = and 'quotes'",
    EMPTY: "",
    TWICE: "one-two",
    HOST: "example.org",
    FULL: "http://example.org:$(PORT)/second",
    PORT: "80",
    ESCAPED: "$(HOST) $example.org $HOST $(HOST",
    OF_SECRET: "<p4ss $(SHARED)>",
    FROM_KEY: "dotted",
    FROM_SECRET: "caf\uFFFD",
    POD_NAME: "environment",
    POD_NAMESPACE: "default",
    POD_UID: await world.uid("environment"),
    LABEL: "front",
    NO_LABEL: "",
    ANNOTATION: "two words",
    NODE_NAME: "env-node",
    ACCOUNT: "default",
    POD_IP: podIP,
    POD_IPS: podIP,
    HOST_IP: hostIPs[0] ?? "",
    HOST_IPS: hostIPs.join(","),
    CPU: "1",
    CPU_MILLI: "250",
    MEMORY: String(65 * 1024 * 1024),
    MEMORY_MI: "32",
    MEMORY_GI: "1",
    STORAGE: "1500000",
    HELPERS_CPU: "15",
  });
  const full = "http://example.org:$(PORT)/second";
  expect((await world.inside(place, "cat /args")).trim()).toBe(`${full} $(FULL) $(NOBODY)`);
});

e2e.concurrent("a container without a limit is told what the node has", async () => {
  await untilPod(agent, "environment", READY);
  const found = await world.environment({ agent, pod: "environment", container: "helper" });
  const { status } = await getNode(agent);
  expect(found.get("ALL_CPUS")).toBe(status.allocatable?.["cpu"]);
  const memory = Number(found.get("ALL_MEMORY"));
  expect(memory).toBeGreaterThan(1024 ** 2);
  expect(memory).toBeLessThanOrEqual(totalmem());
});

e2e.concurrent("on the node's network the pod's addresses are the node's", async () => {
  world.put(agent, "environment-on-the-host");
  const { status } = await untilPod(agent, "on-the-host", READY);
  const found = await world.environment({ agent, pod: "on-the-host" });
  expect(found.get("POD_IP")).toBe(status.hostIP);
  expect(found.get("HOST_IP")).toBe(status.hostIP);
});

e2e.concurrent("a value with a NUL byte is told by name only, and waited for", async () => {
  world.put(agent, "environment-with-nul", { VALUE: "aHVzaADCpw==" });
  const pod = await untilPod(agent, "with-nul", {
    is: "waits for another value",
    when: ({ status }) => JSON.stringify(status).includes("NUL byte"),
  });
  expect(containerOf(pod, "main").state.waiting).toEqual({
    reason: "CreateContainerConfigError",
    message: "the value of environment variable K_TOKEN contains a NUL byte",
  });
  world.put(agent, "environment-with-nul", { VALUE: "aHVzaA==" });
  await untilPod(agent, "with-nul", READY);
  expect((await world.environment({ agent, pod: "with-nul" })).get("K_TOKEN")).toBe("hush");
});

e2e.concurrent(
  "variables of a file that an init container wrote, or that is waited for",
  async () => {
    world.put(agent, "env-files");
    const where = 'of volume "scratch"';
    const waiting: Readonly<Record<string, string>> = {
      late: `couldn't find env file "late.env" ${where}: it does not exist`,
      wrong: `couldn't read env file "d/app.env" ${where}: the value must be enclosed in single quotes at line 7`,
      outside: `couldn't read an env file ${where}: "out.env" leads out of the volume`,
      fifo: `couldn't read an env file ${where}: "fifo.env" is no regular file`,
    };
    const pod = await untilPod(agent, "env-files", {
      is: "runs what can run",
      when: (seen) =>
        containerOf(seen, "main").ready &&
        Object.keys(waiting).every((name) => {
          const { reason } = containerOf(seen, name).state.waiting ?? {};
          return reason !== undefined && reason !== "PodInitializing";
        }),
    });
    const shown = Object.keys(waiting).map((name) => [name, containerOf(pod, name).state.waiting]);
    expect(Object.fromEntries(shown)).toEqual(
      Object.fromEntries(
        Object.entries(waiting).map(([name, message]) => [
          name,
          { reason: "CreateContainerConfigError", message },
        ]),
      ),
    );
    const found = await world.environment({ agent, pod: "env-files" });
    expect(Object.fromEntries(found)).toMatchObject({
      ADDRESS: "10.1.2.3",
      LINES: "one\n  two",
      LITERAL: '$(ADDRESS) "x"',
      URL: "http://10.1.2.3/",
    });
    expect([...found.keys()]).not.toContain("NO_FILE");
    const writer = { agent, pod: "env-files", container: "writer" };
    await world.inside(writer, `echo "LATE='now'" >/scratch/late.env`);
    await untilPod(agent, "env-files", {
      is: "has started the container that waited for its file",
      when: (seen) => containerOf(seen, "late").ready,
    });
    const late = { agent, pod: "env-files", container: "late" };
    expect((await world.environment(late)).get("LATE")).toBe("now");
  },
);
