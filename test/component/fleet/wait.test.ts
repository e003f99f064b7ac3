import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { anAck, containing, FleetStage, POD } from "./fleet-stage.ts";

let stage: FleetStage;
let app: string;

beforeEach(() => {
  stage = new FleetStage();
  app = stage.file("app.yaml", POD);
});

afterEach(() => stage[Symbol.dispose]());

function digestOnBroker(node = "pi-1"): string {
  const text = stage.broker.retained(`agent/v1/node/${node}/desired`) ?? "";
  return `sha256:${new Bun.CryptoHasher("sha256").update(text).digest("hex")}`;
}

describe("--wait", () => {
  const own = (fields: Readonly<Record<string, unknown>>): void => {
    stage.report("pi-1", {
      desired: [anAck({ digest: digestOnBroker(), observedGeneration: 0, ...fields })],
    });
  };

  test("shows the way until the node is Healthy", async () => {
    const { code, stdout } = await stage.fleet(`apply -f ${app} --node pi-1 --wait`, {
      4000: () => own({ phase: "Downloading", code: 202, progress: { images: 5, imagesDone: 3 } }),
      5000: () => own({ phase: "Progressing", code: 202 }),
      6000: () => own({ phase: "Healthy", code: 200 }),
    });
    expect(stdout.split("\n").slice(1)).toEqual([
      "pi-1: has not reported yet",
      "pi-1: Downloading 3/5",
      "pi-1: Progressing",
      "pi-1: Healthy",
      "",
    ]);
    expect(code).toBe(0);
  });

  test("prints each line when it becomes true, also right after publishing", async () => {
    // The next generation of a node that is known needs nothing that is not there at once.
    stage.state("pi-1");
    stage.broker.publish("agent/v1/node/pi-1/desired", { kind: "DesiredState", generation: 4 });
    stage.report("pi-1", { desired: [anAck({ generation: 4 })] });
    stage.broker.faults.latency = 20;
    const { code } = await stage.fleet(`apply -f ${app} --node pi-1 --wait`, {
      200: () => own({ generation: 5, phase: "Applying", code: 202 }),
      300: () => own({ generation: 5, phase: "Progressing", code: 202 }),
      1300: () => own({ generation: 5, phase: "Healthy", code: 200 }),
    });
    expect(code).toBe(0);
    const lines = stage.printed.map(({ at, text }) => [text.replace(/,.*/s, "").trim(), at]);
    expect(lines).toEqual([
      ["generation 5 of node pi-1 is published", 60],
      ["pi-1: still has generation 4 (Healthy)", 60],
      ["pi-1: Applying", 200],
      ["pi-1: Progressing", 300],
      ["pi-1: Healthy", 1300],
    ]);
  });

  test("names a rival of the first half second while it waits", async () => {
    const rival = { kind: "DesiredState", generation: 1, issuedAt: "2026-11-21T08:00:01Z" };
    const { code, stderr } = await stage.fleet(`apply -f ${app} --node pi-1 --wait`, {
      2900: () => stage.broker.publish("agent/v1/node/pi-1/desired", rival),
    });
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: containing("another operator published generation 1 at the same time"),
    });
  });

  test("ends with 1 and the reason when the node goes back, and commands no terminal", async () => {
    const { code, stdout } = await stage.fleet(`apply -f ${app} --node pi-1 --wait`, {
      4000: () =>
        own({
          phase: "RolledBack",
          code: 424,
          lastGood: { generation: 3 },
          message: "\u001B[2Jboom\nx",
        }),
    });
    expect(stdout).toContain("pi-1: RolledBack to generation 3: \\u001b[2Jboom\\u000ax\n");
    expect(stdout).not.toContain("\u001B");
    expect(code).toBe(1);
  });

  test("ends with 1 when the node refuses", async () => {
    const { code, stdout } = await stage.fleet(`apply -f ${app} --node pi-1 --wait`, {
      4000: () =>
        stage.report("pi-1", {
          desired: [
            anAck({
              lastRejected: {
                digest: digestOnBroker(),
                code: 401,
                message: "NoTrustedKey",
                at: "",
                count: 1,
              },
            }),
          ],
        }),
    });
    expect(stdout).toContain("pi-1: Rejected 401: NoTrustedKey\n");
    expect(code).toBe(1);
  });

  test("ends with 1 when time is up, and says that the document stays", async () => {
    stage.state("pi-1", "lost");
    const { code, stdout, stderr } = await stage.fleet(
      `apply -f ${app} --node pi-1 --wait --timeout 90s`,
    );
    expect(stdout).toContain("it is lost and takes the document when it is back");
    expect(stderr).toContain("not done within 1m30s; the published document stays in effect");
    expect(code).toBe(1);
  });

  test("waits for every node of the group", async () => {
    const nodes = ["pi-1", "pi-2"];
    const file = stage.file("fleet.yaml", "groups: {kiosks: [pi-1, pi-2]}\n");
    const tell = (node: string): void => {
      const text = stage.broker.retained("agent/v1/group/kiosks/desired") ?? "";
      const digest = `sha256:${new Bun.CryptoHasher("sha256").update(text).digest("hex")}`;
      stage.report(node, { desired: [anAck({ source: "group/kiosks", digest })] });
    };
    const { code, stdout } = await stage.fleet(
      `apply -f ${app} --group kiosks --wait --nodes ${file}`,
      {
        5000: () => tell("pi-2"),
        7000: () => tell("pi-1"),
      },
    );
    for (const node of nodes) expect(stdout).toContain(`${node}: Healthy\n`);
    expect(code).toBe(0);
  });
});
