import { beforeEach, describe, expect, test } from "bun:test";
import { eachOnCliStage, runOn, type CliStage } from "./cli-stage.ts";
import { FakeTerminal } from "./fake-terminal.ts";

let terminal: FakeTerminal;

beforeEach(() => {
  terminal = new FakeTerminal();
});

const run = (command: string): Promise<number> => runOn(terminal, command);

describe("explain", () => {
  const answers: Readonly<Record<string, string>> = {
    explain: "Name a kind or a field:\n",
    "explain pod": "KIND:       Pod\nVERSION:    v1\n\nDESCRIPTION:\n",
    "explain pvc.spec": "KIND:       PersistentVolumeClaim\nVERSION:    v1\n\nFIELD: spec <Persist",
    "explain cm.data": "KIND:       ConfigMap\nVERSION:    v1\n\nFIELD: data <map[string]string>\n",
    "explain fields": "pod.apiVersion   ",
  };
  test.each(Object.entries(answers))("%s needs no agent", async (command, start) => {
    expect(await run(command)).toBe(0);
    expect(terminal.stdout).toStartWith(start);
    expect(terminal.stdout).toEndWith("\n");
    expect(terminal.stderr).toBe("");
  });

  test("--recursive prints names only", async () => {
    expect(await run("explain pod.spec.containers.lifecycle --recursive")).toBe(0);
    expect(terminal.stdout).toContain(
      "\n  preStop\t<LifecycleHandler>\tsupported\n    exec\t<ExecA",
    );
    expect(terminal.stdout).toContain("\n    tcpSocket\t<TCPSocketAction>\trefused\n");
  });

  const refusals: Readonly<Record<string, string>> = {
    "explain pod.spec.containers.livenesProbe":
      "unknown field pod.spec.containers.livenesProbe (did you mean pod.spec.containers.livenessProbe?)",
    "explain service":
      'unknown kind "service"; ask for pod, configmap, secret, pvc, deployment, daemonset, statefulset, job or cronjob',
    "explain configmap/web":
      "configmap/web: only a pod can be explained, as pod/NAME; for other objects see agent describe, for fields agent explain pod.spec",
  };
  test.each(Object.entries(refusals))("%s is a wrong question", async (command, message) => {
    expect(await run(command)).toBe(2);
    expect(terminal.stdout).toBe("");
    expect(terminal.stderr).toBe(`Error: ${message}\n`);
  });
});

describe("schema", () => {
  test.each([
    ["pod", "Pod"],
    ["cm", "ConfigMap"],
    ["secret", "Secret"],
    ["pvc", "PersistentVolumeClaim"],
    ["manifest", "Manifest"],
    ["DesiredState", "DesiredState"],
    ["configuration", "AgentConfiguration"],
  ])("%s prints JSON and needs no agent", async (word, title) => {
    expect(await run(`schema ${word}`)).toBe(0);
    const schema: unknown = JSON.parse(terminal.stdout);
    expect(schema).toMatchObject({ $schema: "http://json-schema.org/draft-07/schema#", title });
    expect(terminal.stdout).toEndWith("}\n");
    expect(terminal.stderr).toBe("");
  });

  test("of anything else is a wrong question", async () => {
    expect(await run("schema desired-state")).toBe(2);
    expect(terminal.stdout).toBe("");
    expect(terminal.stderr).toBe(
      'Error: there is no schema of "desired-state"; ask for pod, configmap, secret, pvc, deployment, daemonset, statefulset, job, cronjob, manifest, desiredstate or configuration (did you mean desiredstate?)\n',
    );
  });
});

describe("explain pod/NAME", () => {
  let stage: CliStage;
  eachOnCliStage((one) => {
    stage = one;
    stage.agent.answers.set("/explain/shop/web", () => Response.json(EXPLANATION));
  });

  test.each(["pod/web", "pods/web", "po/web"])("%s is the screen", async (asked) => {
    expect(await stage.run(`explain ${asked} -n shop`)).toBe(0);
    expect(stage.terminal.stdout).toStartWith(
      "Pod:        shop/web\nStatus:     Pending\nAdvice:     Wait.\n",
    );
  });

  test("-o json is what the agent answers", async () => {
    expect(await stage.run("explain pod/web -n shop -o json")).toBe(0);
    expect(JSON.parse(stage.terminal.stdout)).toEqual(EXPLANATION);
  });

  test("of an unknown pod is the agent's sentence", async () => {
    const message = 'pods "gone" not found in namespace "default"';
    stage.agent.answers.set(
      "/explain/default/gone",
      () => new Response(`${message}\n`, { status: 404 }),
    );
    expect(await stage.run("explain pod/gone")).toBe(1);
    expect(stage.terminal.stderr).toBe(`Error: ${message}\n`);
  });
});

const EXPLANATION = {
  apiVersion: "agent/v1",
  kind: "Explanation",
  namespace: "shop",
  pod: "web",
  phase: "Pending",
  well: false,
  advice: "Wait.",
  admitted: true,
  causes: [],
  dependencies: [],
  updates: [],
  images: [],
  volumes: [],
  containers: [],
  warnings: [],
};
