// The agent, containerd and the machine may die at any moment: afterwards exactly the wanted containers run, none started without cause.

import { expect } from "bun:test";

import type { AgentProcess } from "../harness/agent-process.ts";
import { startBroker } from "../harness/broker.ts";
import { always, eventually } from "../harness/eventually.ts";
import { readText } from "../harness/processes.ts";
import { listTasks } from "../harness/containerd-lists.ts";
import { Dice } from "./support-b-dice.ts";
import { Gardener } from "./support-b-gardener.ts";
import { Ledger, plainPod } from "./support-b-pods.ts";
import { everythingOf, openStage, runningApps, runningPods } from "./support-b-stage.ts";
import { desired, publishDesired } from "./support-b-upstream.ts";

const { e2e, temp, containerd, watch, agent: makeAgent } = await openStage();

const KILLS = 50;

function ledgerOf(name: string): Ledger {
  return new Ledger(temp.directory(`ledger-${name}`));
}

function explain(agent: AgentProcess): { explain: () => string; timeout: number } {
  return { explain: () => agent.logTail(60), timeout: 60_000 };
}

/** Lines of the agent's log that name the pod, from line `from` on. */
function saidOf(agent: AgentProcess, from: number, msg: string, pod: string): boolean {
  return agent
    .logLines()
    .slice(from)
    .some((line) => line.msg === msg && line["pod"] === `default/${pod}`);
}

e2e(
  `${KILLS} kills of the agent while manifests change leave exactly what is wanted`,
  async () => {
    const dice = new Dice();
    console.log(`AGENT_TEST_SEED=${dice.seed}`);
    const agent = makeAgent("kills");
    const ledger = ledgerOf("kills");
    const names = ["net-a", "net-b", "host-a", "host-b", "host-c"];
    const gardener = new Gardener({ agent, ledger, dice, names });
    using events = await watch();
    for (const name of ["still-net", "still-host"])
      agent.writeManifest(
        `${name}.yaml`,
        ledger.pod({ name, variant: "v0", hostNetwork: name === "still-host" }),
      );
    await agent.startReady();
    const still = await eventually(
      "the two pods that nobody changes run",
      async () => {
        const apps = await runningApps(containerd(), "kills");
        return apps.length === 2 && apps;
      },
      explain(agent),
    );

    for (let kills = 0; kills < KILLS; kills += 1) {
      const life = dice.next() < 0.6 ? dice.between(0, 800) : dice.between(800, 2_500);
      const end = performance.now() + life;
      if (dice.next() < 0.3) gardener.change();
      if (!agent.running) agent.start();
      while (performance.now() < end) {
        await Bun.sleep(Math.min(dice.between(20, 700), end - performance.now()));
        gardener.change();
      }
      await agent.kill("SIGKILL");
      // So many kills shall each meet work; what waits after two of them is another test.
      agent.forgetHands();
      gardener.history.push(`kill ${kills + 1}`);
    }
    await agent.startReady();

    const wanted = [...gardener.wanted(), "still-host", "still-net"].toSorted();
    await eventually(
      "exactly the wanted containers run",
      async () => {
        const pods = await runningPods(containerd(), "kills");
        if (!Bun.deepEquals(pods, wanted))
          throw new Error(`running: ${pods.join(" ")}; wanted: ${wanted.join(" ")}`);
        return true;
      },
      explain(agent),
    );
    await eventually(
      "every wanted pod has the newest spec",
      () => {
        gardener.expectOnlyEntitledStarts();
        return true;
      },
      explain(agent),
    );
    await eventually(
      "nothing is left of the others",
      async () => {
        const left = [...new Set(await everythingOf(containerd(), "kills"))];
        const expected = wanted.flatMap((name) => [`${name}/container`, `${name}/sandbox`]);
        if (!Bun.deepEquals(left, expected)) throw new Error(left.join(" "));
        return true;
      },
      explain(agent),
    );
    const starts = events.starts().length;
    await always("nothing more starts", 2_000, () => events.starts().length === starts);

    expect(await runningPods(containerd(), "kills")).toEqual(wanted);
    expect(ledger.overlaps()).toEqual([]);
    gardener.expectOnlyEntitledStarts();
    for (const name of ["still-net", "still-host"]) expect(ledger.starts(name)).toBe(1);
    const ended = new Set(events.exits().map(({ containerId }) => containerId));
    expect(still.filter(({ id }) => ended.has(id))).toEqual([]);
    await agent.kill();
  },
  300_000,
);

e2e(
  "a pod that runs once runs once more when its removal had begun, however the agent died meanwhile",
  async () => {
    const dice = new Dice();
    console.log(`AGENT_TEST_SEED=${dice.seed}`);
    const agent = makeAgent("again");
    const ledger = ledgerOf("again");
    using events = await watch();
    await agent.startReady();
    const moments = {
      Stay: ["StopPod", "/tasks/exit", "/containers/delete", "random", "random", "random"],
      Exit: ["StopPod", "PodRemoved", "/containers/delete", "random", "random", "random"],
    } as const;

    for (const behaviour of ["Stay", "Exit"] as const)
      for (const [index, moment] of moments[behaviour].entries()) {
        const name = `${behaviour.toLowerCase()}-${index}`;
        const pod = ledger.pod({ name, variant: "v1", behaviour, restartPolicy: "Never" });
        const told = (topic: string): number =>
          events.events.filter((event) => event.topic === topic).length;
        agent.writeManifest(`${name}.yaml`, pod);
        await eventually(
          `${name} has run`,
          async () =>
            ledger.starts(name) === 1 &&
            (behaviour === "Stay" || !(await runningPods(containerd(), "again")).includes(name)),
          explain(agent),
        );

        const line = agent.logLines().length;
        const before = told(moment);
        agent.removeManifest(`${name}.yaml`);
        if (moment === "random") await Bun.sleep(dice.between(0, 400));
        else
          await eventually(
            `the removal of ${name} has come to ${moment}`,
            () => told(moment) > before || saidOf(agent, line, moment, name),
            { ...explain(agent), interval: 1 },
          );
        await agent.kill("SIGKILL");
        const begun = moment !== "random" || saidOf(agent, line, "StopPod", name);
        const noticed = agent
          .logLines()
          .slice(line)
          .some(({ msg }) => msg === "manifest deleted");
        agent.writeManifest(`${name}.yaml`, pod);
        await agent.startReady();

        if (begun)
          await eventually(`${name} runs again`, () => ledger.starts(name) === 2, explain(agent));
        // Between the two lines the removal may have been written down already.
        const most = noticed ? 2 : 1;
        await always(`${name} runs no more than that`, 600, () => ledger.starts(name) <= most);
        // A removal that was noticed may just be ending the old life.
        if (behaviour === "Stay")
          await eventually(
            `${name} runs in the end`,
            async () => (await runningPods(containerd(), "again")).includes(name),
            explain(agent),
          );
        agent.removeManifest(`${name}.yaml`);
        await eventually(
          `nothing is left of ${name}`,
          async () => (await everythingOf(containerd(), "again")).length === 0,
          explain(agent),
        );
      }

    const twice = Map.groupBy(
      ledger.lines().filter(({ kind }) => kind === "start"),
      ({ name }) => name,
    );
    for (const [name, lines] of twice)
      expect({ name, most: lines.length <= 2 }).toEqual({ name, most: true });
    expect(ledger.overlaps()).toEqual([]);
    await agent.kill();
  },
  180_000,
);

e2e(
  "kills of the agent while documents change: the newest one runs, what they share is never touched",
  async () => {
    const dice = new Dice();
    console.log(`AGENT_TEST_SEED=${dice.seed}`);
    const broker = await startBroker(temp, { name: "documents-broker" });
    const agent = makeAgent("documents", { broker });
    using events = await watch();
    let generation = 0;
    const publish = async (): Promise<void> => {
      generation += 1;
      const edited = plainPod("edited", `v${generation}`);
      const sometimes = generation % 2 === 0 ? [plainPod("sometimes")] : [];
      const resources = [plainPod("shared"), edited, ...sometimes];
      await publishDesired(broker, "documents", desired("documents", { generation, resources }));
    };
    const running = async () => runningApps(containerd(), "documents");
    await publish();
    await agent.startReady();
    const shared = await eventually(
      "the pods of the first document run",
      async () => {
        const apps = await running();
        return apps.length === 2 && apps.find(({ name }) => name === "shared");
      },
      explain(agent),
    );

    for (let kills = 0; kills < 12; kills += 1) {
      await Bun.sleep(dice.between(0, 1_200));
      await publish();
      await Bun.sleep(dice.between(0, 400));
      await agent.kill("SIGKILL");
      agent.forgetHands();
      const names = (await running()).map(({ name }) => name);
      expect(names).toEqual([...new Set(names)]);
      agent.start();
    }
    await publish();
    if (generation % 2 === 1) await publish();

    const newest = async (): Promise<boolean> => {
      const apps = await running();
      const names = apps.map(({ name }) => name).join(" ");
      if (names !== "edited shared sometimes") throw new Error(names);
      const edited = apps.find(({ name }) => name === "edited")?.id;
      const task = (await listTasks(containerd())).find(({ id }) => id === edited);
      return readText(`/proc/${task?.pid ?? 0}/cmdline`)?.includes(`\0v${generation}\0`) === true;
    };
    // The last two documents dropped a pod and added it again: its old life may still be ending.
    let calmSince = performance.now();
    const settled = async (): Promise<boolean> => {
      if (!(await newest().catch(() => false))) calmSince = performance.now();
      return performance.now() - calmSince > 1_500;
    };
    await eventually("exactly the newest document runs", settled, explain(agent));
    await always("it stays so", 1_000, newest);
    expect((await running()).find(({ name }) => name === "shared")).toEqual(shared);
    expect(events.exits().filter(({ containerId }) => containerId === shared.id)).toEqual([]);
    await agent.kill();
    await broker.stop();
  },
  180_000,
);

e2e(
  "an edit while the agent is down and the broker unreachable: the old is gone before the new starts",
  async () => {
    const broker = await startBroker(temp, { name: "edit-broker" });
    const agent = makeAgent("edit", { broker });
    const ledger = ledgerOf("edit");
    using events = await watch();
    agent.writeManifest("web.yaml", ledger.pod({ name: "web", variant: "old" }));
    agent.writeManifest(
      "job.yaml",
      ledger.pod({ name: "job", variant: "old", restartPolicy: "Never" }),
    );
    await publishDesired(
      broker,
      "edit",
      desired("edit", { generation: 1, resources: [plainPod("remote")] }),
    );
    await agent.startReady();
    const before = await eventually(
      "all three pods run",
      async () => {
        const apps = await runningApps(containerd(), "edit");
        return apps.length === 3 && ledger.lines().length === 2 && apps;
      },
      explain(agent),
    );
    const idOf = (name: string): string => before.find((app) => app.name === name)?.id ?? "?";

    await agent.kill("SIGKILL");
    await broker.stop("SIGKILL");
    agent.writeManifest("web.yaml", ledger.pod({ name: "web", variant: "new" }));
    agent.writeManifest(
      "job.yaml",
      ledger.pod({ name: "job", variant: "new", restartPolicy: "Never" }),
    );
    await agent.startReady();
    for (const name of ["web", "job"])
      await eventually(
        `the new ${name} runs`,
        () => ledger.starts(name, "new") === 1,
        explain(agent),
      );

    const after = await eventually(
      "three pods run",
      async () => {
        const apps = await runningApps(containerd(), "edit");
        return apps.length === 3 && apps;
      },
      explain(agent),
    );
    for (const name of ["web", "job"]) {
      const kinds = ledger.lines(name).map(({ kind, variant }) => `${kind} ${variant}`);
      expect(kinds).toEqual(["start old", "stop old", "start new"]);
      const successor = after.find((app) => app.name === name)?.id;
      const exit = events.exits().findIndex(({ containerId }) => containerId === idOf(name));
      expect(exit).toBeGreaterThanOrEqual(0);
      const order = events.events.filter(
        ({ topic, containerId }) =>
          (topic === "/tasks/exit" && containerId === idOf(name)) ||
          (topic === "/tasks/start" && containerId === successor),
      );
      expect(order.map(({ topic }) => topic)).toEqual(["/tasks/exit", "/tasks/start"]);
    }
    expect(after.find(({ name }) => name === "remote")?.id).toBe(idOf("remote"));
    expect(ledger.overlaps()).toEqual([]);
    await agent.kill();
  },
  180_000,
);

e2e(
  "a restart of containerd, asked or not, touches no container, and new manifests start afterwards",
  async () => {
    const agent = makeAgent("runtime");
    const ledger = ledgerOf("runtime");
    const names = ["one", "two", "three"];
    for (const [index, name] of names.entries())
      agent.writeManifest(
        `${name}.yaml`,
        ledger.pod({ name, variant: "v1", hostNetwork: index === 0 }),
      );
    await agent.startReady();
    const running = async (count: number) =>
      eventually(
        `${count} pods run`,
        async () => {
          const apps = await runningApps(containerd(), "runtime");
          return apps.length === count && ledger.lines().length === count && apps;
        },
        explain(agent),
      );
    let before = await running(names.length);
    const { pid } = agent;

    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      await containerd().kill(signal);
      const late = `late-${signal.toLowerCase()}`;
      agent.writeManifest(`${late}.yaml`, ledger.pod({ name: late, variant: "v1" }));
      await containerd().start();
      using events = await watch();
      const after = await running(before.length + 1);
      expect(after.filter(({ name }) => name !== late)).toEqual([...before]);

      const next = `next-${signal.toLowerCase()}`;
      agent.writeManifest(`${next}.yaml`, ledger.pod({ name: next, variant: "v1" }));
      const last = await running(after.length + 1);
      expect(last.filter(({ name }) => name !== next)).toEqual([...after]);
      const starts = events.starts().length;
      await always(
        "nothing more starts or ends",
        1_000,
        () => events.starts().length === starts && events.exits().length === 0,
      );
      expect(new Set(last.map(({ name }) => name)).size).toBe(last.length);
      before = last;
    }

    expect(agent.pid).toBe(pid);
    expect(agent.running).toBe(true);
    await eventually(
      "the agent is healthy",
      async () => (await agent.api("/healthz")).status === 200,
    );
    expect(ledger.lines().filter(({ kind }) => kind !== "start")).toEqual([]);
    await agent.kill();
  },
  180_000,
);
