import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

let stage: CliStage;

eachOnCliStage((made) => {
  stage = made;
});

const PLATFORM = `linux/${process.arch === "x64" ? "amd64" : process.arch}`;

describe("version -o", () => {
  test("json has kubectl's shape, and only of this binary", async () => {
    expect(await stage.run("version -o json")).toBe(0);
    expect(JSON.parse(stage.terminal.stdout)).toEqual({
      clientVersion: { gitVersion: "v1.2.3", platform: PLATFORM },
    });
  });

  test("yaml has also the running agent's when it is asked for", async () => {
    const { agent, terminal } = stage;
    expect(await stage.run(`version --socket ${agent.socket} -o yaml`)).toBe(0);
    expect(parse(terminal.stdout)).toMatchObject({
      clientVersion: { gitVersion: "v1.2.3" },
      serverVersion: {
        major: "1",
        gitVersion: "v1.36.0-agent.9.9.9",
        platform: PLATFORM,
        version: "9.9.9",
      },
    });
  });

  test("of an agent that does not answer is exit code 1 and prints nothing", async () => {
    expect(await stage.run("version --socket /nonexistent -o json")).toBe(1);
    expect(stage.terminal.stdout).toBe("");
    expect(stage.terminal.stderr).toContain("no agent is listening on /nonexistent");
  });
});

describe("validate -o", () => {
  const GOOD = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: a, image: "busybox:1"}]}
`;
  const BAD = GOOD.replace("spec: {", "spec: {restartPolicy: Sometimes, ");

  test.each(["json", "yaml"])("%s has each finding with its place", async (format) => {
    const path = stage.file("bad.yaml", BAD);
    expect(await stage.run(`validate ${path} -o ${format}`)).toBe(2);
    const { stdout, stderr } = stage.terminal;
    expect(stderr).toBe("");
    expect(format === "json" ? JSON.parse(stdout) : parse(stdout)).toEqual({
      apiVersion: "agent/v1",
      kind: "ValidationList",
      documents: { valid: 0, ignored: 0, invalid: 1 },
      items: [
        {
          level: "error",
          file: path,
          line: 4,
          column: expect.any(Number) as number,
          kind: "Pod",
          namespace: "default",
          name: "web",
          code: expect.any(String) as string,
          path: "spec.restartPolicy",
          message: expect.stringContaining("Sometimes") as string,
        },
      ],
    });
  });

  test("is the empty list of valid files, and -R finds those below", async () => {
    mkdirSync(join(stage.directory, "all/below"), { recursive: true });
    stage.file("all/one.yaml", GOOD);
    stage.file("all/below/two.yaml", GOOD.replace("web", "db"));
    const { directory, terminal } = stage;
    expect(await stage.run(`validate -R -f ${directory}/all -o json`)).toBe(0);
    expect(JSON.parse(terminal.stdout)).toMatchObject({ documents: { valid: 2 }, items: [] });
    terminal.stdout = "";
    expect(await stage.run(`validate ${directory}/all`)).toBe(0);
    expect(terminal.stdout).toBe("1 document valid\n");
  });
});
