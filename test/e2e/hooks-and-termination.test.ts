// Hooks, signals, grace periods and last words of real containers.

import { expect } from "bun:test";

import { always, eventually } from "../harness/eventually.ts";
import { execSync } from "../harness/exec-sync.ts";
import { getRejected } from "./support-a-agent.ts";
import { openLife, uptime } from "./support-c-life.ts";
import { HttpServer } from "./support-c-servers.ts";
import {
  containerOf,
  findPod,
  idOf,
  inPhase,
  podOf,
  READY,
  rowOf,
  untilEvent,
  untilGone,
  untilPod,
} from "./support-c-views.ts";

const { life, stage, e2e, agent } = await openLife();

/** Runs until ready; gives the ids of its containers by name. */
async function started(pod: string): Promise<ReadonlyMap<string, string>> {
  const { status } = await untilPod(agent, pod, READY);
  return new Map((status.containerStatuses ?? []).map((each) => [each.name, idOf(each)]));
}

e2e.concurrent("a container counts as running when its postStart hook has ended", async () => {
  using server = new HttpServer(() => new Response(""));
  life.put(agent, "post-start", { PORT: server.port });
  await life.heard("post-start", "hook begins");
  const hooked = await podOf(agent, "post-start");
  expect(hooked.status.phase).toBe("Pending");
  expect(containerOf(hooked, "first").ready).toBe(false);
  expect(life.said("post-start").toSorted()).toEqual(["first start", "hook begins"]);

  life.openGate("hook");
  await untilPod(agent, "post-start", READY);
  const at = async (said: string): Promise<number> => (await life.heard("post-start", said)).at;
  expect(await at("second start")).toBeGreaterThanOrEqual(await at("hook ends"));
  const [hello, ...more] = server.about("/hello");
  expect(hello?.method).toBe("GET");
  expect(hello?.headers.get("user-agent")).toMatch(/^kube-lifecycle\//);
  expect(more).toEqual([]);
  expect((await at("third start")) - (hello?.at ?? 0)).toBeGreaterThan(-0.02);
  expect((await at("fourth start")) - (await at("third start"))).toBeGreaterThan(0.95);
  const first = idOf(containerOf(await podOf(agent, "post-start"), "first"));
  const looked = await execSync(stage.containerd, first, ["cat", "/tmp/message"]);
  expect(looked.stdout).toBe("hello\n");
  agent.removeManifest("post-start.yaml");
});

e2e.concurrent("a postStart hook that fails ends its container, which is tried again", async () => {
  life.put(agent, "post-start-fails");
  await untilEvent(agent, "bad-start", {
    reason: "FailedPostStartHook",
    type: "Warning",
    container: "main",
  });
  await untilEvent(agent, "bad-start", { reason: "Killing", container: "main" });
  await life.heard("bad-start", "main start", 2);
  expect(life.said("bad-start").slice(0, 3)).toEqual(["main start", "main stop", "main start"]);
  const waiting = await untilPod(agent, "bad-start", {
    is: "says why it waits",
    when: (pod) =>
      /^(PostStartHookError|CrashLoopBackOff)$/.test(
        containerOf(pod, "main").state.waiting?.reason ?? "",
      ),
  });
  expect(waiting.status.phase).not.toBe("Succeeded");
  agent.removeManifest("post-start-fails.yaml");
  await untilGone(agent, "bad-start");
});

e2e.concurrent(
  "preStop hooks come before TERM, and one that fails keeps nothing back",
  async () => {
    using server = new HttpServer(() => new Response(""));
    life.put(agent, "pre-stop", { PORT: server.port });
    const ids = await started("pre-stop");
    const removed = uptime();
    agent.removeManifest("pre-stop.yaml");
    await untilEvent(agent, "pre-stop", {
      reason: "FailedPreStopHook",
      type: "Warning",
      container: "failing",
    });
    await untilGone(agent, "pre-stop");
    for (const id of ids.values()) expect((await life.end(id)).exitCode).toBe(0);
    const at = async (said: string): Promise<number> => (await life.heard("pre-stop", said)).at;
    expect(life.said("pre-stop").filter((said) => said.startsWith("exec "))).toEqual([
      "exec start",
      "exec hook",
      "exec hooked",
      "exec stop",
    ]);
    expect(server.about("/goodbye").length).toBe(1);
    expect(await at("http stop")).toBeGreaterThanOrEqual(
      (server.about("/goodbye")[0]?.at ?? 0) - 0.02,
    );
    expect((await at("pause stop")) - removed).toBeGreaterThan(5.95);
    expect((await at("failing stop")) - removed).toBeLessThan((await at("pause stop")) - removed);
  },
);

e2e.concurrent("hook and stop share one grace period", async () => {
  life.put(agent, "grace-shared");
  const ids = await started("shared-grace");
  const removed = uptime();
  agent.removeManifest("grace-shared.yaml");
  const half = await life.end(ids.get("half") ?? "");
  const endless = await life.end(ids.get("endless") ?? "");
  // Eight of the twelve seconds went to the hook, four to the process that ignores TERM: not 8 + 12.
  expect(half.exitCode).toBe(137);
  expect(half.at - removed).toBeGreaterThan(11.8);
  expect(half.at - removed).toBeLessThan(19);
  // The hook used all of it; TERM is given its least time all the same.
  expect(endless.exitCode).toBe(0);
  expect(endless.at - removed).toBeGreaterThan(11.8);
  expect(endless.at - removed).toBeLessThan(23);
  await untilGone(agent, "shared-grace");
});

e2e.concurrent("without grace a container that ignores TERM is gone soon", async () => {
  life.put(agent, "grace-zero");
  const ids = await started("no-grace");
  const removed = uptime();
  agent.removeManifest("grace-zero.yaml");
  const end = await life.end(ids.get("main") ?? "");
  expect(end.exitCode).toBe(137);
  expect(end.at - removed).toBeLessThan(20);
  await untilGone(agent, "no-grace");
});

e2e.concurrent(
  "another stop signal is used, or the pod is refused where the runtime has none",
  async () => {
    life.put(agent, "stop-signal");
    const refused = await eventually(
      "it runs or is refused",
      async () => {
        if (life.said("stop-signal").length > 0) return { code: "" };
        const pod = await findPod(agent, "stop-signal");
        const code = pod?.status.reason ?? containerReason(pod);
        if (code === "UnsupportedByRuntime") return { code };
        return (await getRejected(agent)).find(({ ref }) => ref.includes("stop-signal"));
      },
      { timeout: 60_000, explain: () => agent.logTail() },
    );
    const canStop = Number(stage.containerd.version.split(".")[0]) >= 2;
    expect(refused.code).toBe(canStop ? "" : "UnsupportedByRuntime");
    agent.removeManifest("stop-signal.yaml");
    await untilGone(agent, "stop-signal");
    expect(life.said("stop-signal")).toEqual(canStop ? ["main start", "main USR1"] : []);
  },
);

e2e.concurrent(
  "last words come from the file, from the log of a failure, or there are none",
  async () => {
    life.put(agent, "messages");
    const pod = await untilPod(agent, "last-words", inPhase("Failed"));
    const words = (name: string) => containerOf(pod, name).state.terminated;
    expect(words("file")).toMatchObject({ exitCode: 1, message: "goodbye" });
    expect(words("log")).toMatchObject({ exitCode: 3, message: "first\nit broke\n" });
    expect(words("well")?.exitCode).toBe(0);
    expect(words("well")?.message).toBeUndefined();
  },
);

e2e.concurrent(
  "last words are cut: 4096 bytes of a file, 2048 bytes or 80 lines of a log",
  async () => {
    life.put(agent, "messages-long");
    const pod = await untilPod(agent, "long-words", inPhase("Failed"));
    const words = (name: string): string => containerOf(pod, name).state.terminated?.message ?? "";
    expect(words("file")).toBe("x".repeat(4096));
    expect(words("log").length).toBeLessThanOrEqual(2048);
    expect(words("log").length).toBeGreaterThan(1900);
    expect(words("log")).toEndWith("a line of many words, number 200\n");
    const last = Array.from({ length: 80 }, (_, index) => `${index + 121}\n`).join("");
    expect(words("lines")).toBe(last);
  },
);

e2e.concurrent("the last words of many containers share 12 kB", async () => {
  life.put(agent, "messages-many");
  const pod = await untilPod(agent, "many-words", inPhase("Succeeded"));
  const lengths = (pod.status.containerStatuses ?? []).map(
    ({ state }) => state.terminated?.message?.length ?? 0,
  );
  expect(lengths).toEqual([2048, 2048, 2048, 2048, 2048, 2048]);
});

e2e.concurrent("a pod that is being stopped can be given less time", async () => {
  life.put(agent, "grace-shortened");
  const ids = await started("patient");
  const refused = await agent.cli("delete", "pod", "patient", "--grace-period", "1");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/declared by .*grace-shortened\.yaml: remove it from /);

  agent.removeManifest("grace-shortened.yaml");
  await life.heard("patient", "hook begins");
  await always(
    "it takes its time",
    1_000,
    async () => (await findPod(agent, "patient")) !== undefined,
  );
  for (const id of ids.values()) expect(life.hasEnded(id)).toBe(false);
  const asked = uptime();
  const shortened = await agent.cli("delete", "pod", "patient", "--grace-period", "2");
  expect([shortened.code, shortened.stderr]).toEqual([0, ""]);
  const deaf = await life.end(ids.get("deaf") ?? "");
  expect(deaf.exitCode).toBe(137);
  expect(deaf.at - asked).toBeGreaterThan(1.8);
  expect(deaf.at - asked).toBeLessThan(30);
  // The hook has used up what was left; its container is still asked to end by itself.
  const hooked = await life.end(ids.get("hooked") ?? "");
  expect(hooked.exitCode).toBe(0);
  expect(hooked.at - asked).toBeLessThan(30);
  await untilGone(agent, "patient");
  const gone = await agent.cli("delete", "pod", "patient", "--now");
  expect(gone.code).toBe(1);
  expect(gone.stderr).toContain("not found");
});

e2e("a long grace period lasts over a death of the agent", async () => {
  life.put(agent, "grace-long");
  const ids = await started("much-grace");
  agent.removeManifest("grace-long.yaml");
  await life.heard("much-grace", "main stopping");
  expect((await rowOf(agent, "much-grace")).status).toBe("Terminating");
  await agent.restart("SIGKILL");
  await eventually("the agent goes on with the stop", () =>
    agent.logLines().some(({ msg }) => msg === "StopPod"),
  );
  expect(life.said("much-grace")).toEqual(["main start", "main stopping"]);
  life.openGate("stopped");
  expect((await life.end(ids.get("main") ?? "")).exitCode).toBe(0);
  await untilGone(agent, "much-grace");
  expect(life.said("much-grace")).toEqual(["main start", "main stopping", "main stop"]);
});

function containerReason(pod: Awaited<ReturnType<typeof findPod>>): string | undefined {
  return pod?.status.containerStatuses?.[0]?.state.waiting?.reason;
}
