import { describe, expect, test } from "bun:test";
import type { ContainerStatus } from "../../../src/api/v1/pod-status.ts";
import type { PodView } from "../../../src/node/api-views.ts";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

let stage: CliStage;
eachOnCliStage((one) => (stage = one));

const NAMESPACE = "/api/v1/namespaces/default/pods";

function pod(
  name: string,
  containers: readonly string[],
  over: Partial<PodView["status"]> = {},
): PodView {
  return {
    kind: "Pod",
    metadata: { name },
    spec: { containers: containers.map((one) => ({ name: one })) },
    status: { phase: "Running", ...over },
  };
}

/** What the agent was asked for, as `container?query`. */
function serve(
  pods: readonly PodView[],
  text: (container: string, round: number) => string,
): string[] {
  const asked: string[] = [];
  for (const one of pods) {
    const path = `${NAMESPACE}/${one.metadata.name}`;
    stage.agent.answers.set(path, () => Response.json(one));
    stage.agent.answers.set(`${path}/log`, ({ url }) => {
      const { searchParams: query } = new URL(url);
      const container = query.get("container") ?? "";
      query.delete("container");
      asked.push(`${one.metadata.name}/${container}?${query.toString()}`);
      return new Response(text(container, asked.length));
    });
  }
  stage.agent.answers.set(NAMESPACE, () =>
    Response.json({ apiVersion: "v1", kind: "PodList", items: pods }),
  );
  return asked;
}

describe("agent logs", () => {
  test("prints the log of the only container", async () => {
    const asked = serve([pod("web", ["main"])], () => "hello\nworld\n");
    expect(await stage.run("logs web --tail 5 --timestamps --since 90s --limit-bytes 9 -p")).toBe(
      0,
    );
    expect(stage.terminal.stdout).toBe("hello\nworld\n");
    expect(asked).toEqual([
      "web/main?previous=true&timestamps=true&tailLines=5&limitBytes=9&sinceSeconds=90",
    ]);
  });

  test("names the container that it chose, and takes another one", async () => {
    const asked = serve([pod("web", ["main", "side"])], (container) => `${container}\n`);
    expect(await stage.run("logs pod/web")).toBe(0);
    expect(stage.terminal.stderr).toBe('Defaulted container "main" out of: main, side\n');
    expect(await stage.run("logs web -c side")).toBe(0);
    expect(await stage.run("logs web side")).toBe(0);
    expect(await stage.run("logs web --all-containers --prefix")).toBe(0);
    expect(stage.terminal.stdout).toBe(
      "main\nside\nside\n[pod/web/main] main\n[pod/web/side] side\n",
    );
    expect(asked).toHaveLength(5);
  });

  test("of a selector has the last ten lines of each pod", async () => {
    const asked = serve([pod("a", ["main"]), pod("b", ["main"])], () => "x\n");
    expect(await stage.run("logs -l app=web")).toBe(0);
    expect(asked).toEqual(["a/main?tailLines=10", "b/main?tailLines=10"]);
  });

  test("escapes what would command a terminal, also when it comes in pieces", async () => {
    serve([pod("web", ["main"])], () => "\u001b]52;c;x\u0007 é\r\n");
    expect(await stage.run("logs web")).toBe(0);
    expect(stage.terminal.stdout).toBe("\\u001b]52;c;x\\u0007 é\\u000d\n");
  });

  test("gives a pipe every byte", async () => {
    stage.terminal.isTerminal = false;
    serve([pod("web", ["main"])], () => "\u001b[31m\u0000\n");
    expect(await stage.run("logs web")).toBe(0);
    expect(stage.terminal.stdout).toBe("\u001b[31m\u0000\n");
  });

  test("follows the next instance of a container, until the pod has ended", async () => {
    const asked = serve([pod("web", ["main"])], (_container, round) => `round ${round}\n`);
    let questions = 0;
    stage.agent.answers.set(`${NAMESPACE}/web`, () => {
      questions += 1;
      const restartCount = questions > 2 ? 1 : 0;
      const phase = questions > 3 ? "Succeeded" : "Running";
      const containerStatuses = [{ name: "main", restartCount, state: {}, lastState: {} }];
      return Response.json({ ...pod("web", ["main"]), status: { phase, containerStatuses } });
    });
    expect(await stage.run("logs -f web --tail 0")).toBe(0);
    expect(stage.terminal.stdout).toBe("round 1\nround 2\n");
    expect(asked).toEqual(["web/main?follow=true&tailLines=0", "web/main?follow=true"]);
  });

  /** The pod runs when it is looked up and its log begins; a question after that gets `then`. */
  const runsUntil = (then: () => Response): void => {
    serve([pod("web", ["main"])], () => "round 1\n");
    let questions = 0;
    stage.agent.answers.set(`${NAMESPACE}/web`, () => {
      questions += 1;
      const containerStatuses = [{ name: "main", restartCount: 0, state: {}, lastState: {} }];
      const status = { phase: "Running", containerStatuses };
      return questions > 2 ? then() : Response.json({ ...pod("web", ["main"]), status });
    });
  };

  test("-f fails when the agent is gone while the next instance is waited for", async () => {
    runsUntil(() => new Response("going", { status: 500 }));
    expect(await stage.run("logs -f web")).toBe(1);
    expect(stage.terminal.stdout).toBe("round 1\n");
    expect(stage.terminal.stderr).toContain("HTTP 500: going");
  });

  test("-f ends when the pod is deleted", async () => {
    const gone = { kind: "Status", reason: "NotFound", message: 'pods "web" not found' };
    runsUntil(() => Response.json(gone, { status: 404 }));
    expect(await stage.run("logs -f web")).toBe(0);
  });

  const ended = (name: string, exitCode: number): ContainerStatus =>
    ({ name, restartCount: 0, state: { terminated: { exitCode } }, lastState: {} }) as never;
  test.each<[string, Partial<PodView["spec"]> & { restartPolicy?: string }, PodView["status"]]>([
    ["a pod that has ended", {}, { phase: "Succeeded" }],
    [
      "an init container that is done",
      { initContainers: [{ name: "main" }], containers: [{ name: "other" }] },
      { phase: "Running", initContainerStatuses: [ended("main", 0)] },
    ],
    [
      "a container that its policy does not restart, beside one that runs",
      { restartPolicy: "OnFailure" },
      { phase: "Running", containerStatuses: [ended("main", 0)] },
    ],
  ])("-f of %s prints its log and ends", async (_what, spec, status) => {
    const one = pod("web", ["main"], status);
    serve([{ ...one, spec: { ...one.spec, ...spec } }], () => "all of it\n");
    expect(await stage.run("logs -f web -c main")).toBe(0);
    expect(stage.terminal.stdout).toBe("all of it\n");
  });

  test.each([
    ["logs", 2, "name one pod, or select pods with -l"],
    ["logs web -l app=web", 2, "name one pod, or select pods with -l"],
    ["logs web --all-containers -c main", 2, "exclude each other"],
    ["logs web --since 1s --since-time 2026-11-21T08:00:00Z", 2, "exclude each other"],
    ["logs web --tail x", 2, "whole number of lines"],
    ["logs nope", 1, 'pods "nope" not found'],
    ["logs -l app=none -n empty", 1, 'no pods in namespace "empty"'],
  ])("%s ends with %i: %s", async (command, code, message) => {
    serve([pod("web", ["main"])], () => "");
    const status = { kind: "Status", message: 'pods "nope" not found' };
    stage.agent.answers.set(`${NAMESPACE}/nope`, () => Response.json(status, { status: 404 }));
    const empty = "/api/v1/namespaces/empty/pods";
    stage.agent.answers.set(empty, () => Response.json({ items: [] }));
    expect(await stage.run(command)).toBe(code);
    expect(stage.terminal.stderr).toContain(message);
  });
});
