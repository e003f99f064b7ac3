// How an agent updates itself, from the order to the proof, and each way back.

import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Findings } from "../../../src/api/decode/field-errors.ts";
import { MAINTENANCE_WINDOWS } from "../../../src/api/window/maintenance-window.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";
import { failsItsTest, UpdaterStage } from "./updater-stage.ts";

const temp = makeTempDirectory();
const stages: UpdaterStage[] = [];
let count = 0;

function stage(): UpdaterStage {
  count += 1;
  const made = new UpdaterStage(temp, `node-${count}`);
  stages.push(made);
  return made;
}

afterEach(() => stages.splice(0).forEach((one) => one.end()));
afterAll(() => temp.remove());

const CONTENT = "a new binary";
const DIGEST = sha256(CONTENT);
const NAME = `2-${DIGEST.slice(0, 12)}`;

/** Version 2 is on trial, as the launcher has started it. */
async function onTrial(node: UpdaterStage): Promise<void> {
  node.order();
  await node.pass(0);
  node.start("2", NAME);
  await node.pass(0);
}

function trialOf(node: UpdaterStage): string | undefined {
  const path = join(node.place, "trial");
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

describe("an order of an operator", () => {
  test("is brought, tested with a copy of the database, and put on trial", async () => {
    const node = stage();
    node.world.connected = true;
    expect(node.order()).toBeUndefined();
    await node.pass(0);
    expect([node.restarts, node.tests, node.reasons]).toEqual([1, 1, ["AgentUpdateStarted"]]);
    expect(trialOf(node)).toBe(`name=${NAME}\nsha256=${DIGEST}\nversion=2\nfrom=1\nbroker=yes\n`);
    expect(existsSync(join(node.place, "scratch"))).toBe(false);
  });

  test("is refused while another one is under way, and while a version is on trial", async () => {
    const node = stage();
    node.world.shuttingDown = true;
    node.order();
    await node.pass(0);
    expect(node.order()).toContain("is under way");
    expect(node.updater.view().update?.waits).toContain("shutting down");
    node.world.shuttingDown = false;
    await node.pass(30_000);
    expect(node.restarts).toBe(1);
    node.world.ready = false;
    node.start("2", NAME);
    await node.pass(0);
    expect(node.order()).toContain("is on trial");
    expect(node.updater.back()).toContain("is on trial");
  });

  test("of the version that runs does nothing", async () => {
    const node = stage();
    node.world.says = "1";
    node.order();
    await node.pass(0);
    const { phase, last } = node.updater.view();
    expect([node.restarts, phase, last?.result, last?.message]).toEqual([
      0,
      "Idle",
      "Updated",
      "version 1 runs already",
    ]);
  });

  test("with another digest than named is not tested, and can be tried again", async () => {
    const node = stage();
    node.order({ sha256: "0".repeat(64) });
    await node.pass(0);
    expect([node.tests, node.updater.view().last?.reason]).toEqual([0, "DigestMismatch"]);
    node.order({ sha256: DIGEST });
    await node.pass(0);
    expect(node.restarts).toBe(1);
  });

  test("that fails its test is remembered, also by another agent, until it is tried again", async () => {
    const node = stage();
    node.world.says = failsItsTest();
    node.order();
    await node.pass(0);
    expect(node.updater.conditions()).toEqual([
      {
        type: "AgentUpdateFailed",
        status: "True",
        reason: "SelfTestFailed",
        message: "it fails its test",
      },
    ]);
    node.start("1");
    node.world.says = "2";
    node.order();
    await node.pass(0);
    expect([node.tests, node.updater.view().last?.reason]).toEqual([1, "KnownBad"]);
    node.order({ retry: true });
    await node.pass(0);
    expect([node.tests, node.restarts]).toEqual([2, 1]);
    expect(node.reasons).toEqual(["AgentUpdateFailed", "AgentUpdateFailed", "AgentUpdateStarted"]);
  });

  test("that says another version than it was signed as is not started", async () => {
    const node = stage();
    node.world.says = "3";
    node.order({ version: "2" });
    await node.pass(0);
    expect([node.restarts, node.updater.view().last?.message]).toEqual([
      0,
      "the binary is version 3, not 2",
    ]);
  });

  test("without a file fails, and the next one goes", async () => {
    const node = stage();
    node.order({ source: "/nonexistent/agent" });
    await node.pass(0);
    expect(node.updater.view().last?.message).toContain("/nonexistent/agent");
    expect(node.order()).toBeUndefined();
  });

  test("waits while the node shuts down", async () => {
    const node = stage();
    node.world.shuttingDown = true;
    node.order();
    await node.pass(600_000);
    expect(node.tests).toBe(0);
  });
});

describe("a version on trial", () => {
  test("proves itself when it is ready", async () => {
    const node = stage();
    node.world.ready = false;
    await onTrial(node);
    await node.pass(10_000);
    expect(node.updater.view().phase).toBe("OnTrial");
    node.world.ready = true;
    await node.pass(500);
    expect(node.updater.view()).toMatchObject({
      phase: "Idle",
      previous: "installed",
      last: { result: "Updated", version: "2" },
    });
    expect([trialOf(node), node.reasons]).toEqual([
      undefined,
      ["AgentUpdateStarted", "AgentUpdated"],
    ]);
    expect(node.updater.conditions()).toEqual([]);
  });

  test("must reach the broker if the version before had it", async () => {
    const node = stage();
    Object.assign(node.world, { connected: true, acknowledged: false });
    await onTrial(node);
    await node.pass(200_000);
    expect(node.updater.view().phase).toBe("OnTrial");
    node.world.acknowledged = true;
    await node.pass(500);
    expect(node.updater.view().phase).toBe("Idle");
  });

  test("needs no broker if the version before had none", async () => {
    const node = stage();
    node.world.acknowledged = false;
    await onTrial(node);
    await node.pass(500);
    expect(node.updater.view().phase).toBe("Idle");
  });

  test("ends by itself when its time is over, and stays on trial for the launcher", async () => {
    const node = stage();
    node.world.ready = false;
    await onTrial(node);
    await node.pass(301_000);
    expect(node.restarts).toBe(2);
    expect(trialOf(node)).toContain(NAME);
  });

  test("that the launcher has given up is told once", async () => {
    const node = stage();
    await node.pass(0);
    node.order();
    await node.pass(0);
    rmSync(join(node.place, "trial"));
    writeFileSync(join(node.place, "failed"), `${DIGEST} ${NAME} it was started 3 times\n`);
    node.start("1");
    node.start("1");
    expect(node.reasons).toEqual(["AgentUpdateStarted", "AgentUpdateFailed"]);
    expect(node.updater.conditions()).toMatchObject([{ reason: "WentBack" }]);
  });

  test("that the launcher could not start is given up", async () => {
    const node = stage();
    node.order();
    await node.pass(0);
    node.start("1");
    expect([trialOf(node), node.updater.view().failed.at(0)?.reason]).toEqual([
      undefined,
      "it could not be started",
    ]);
    expect(node.reasons).toEqual(["AgentUpdateStarted", "AgentUpdateFailed"]);
  });

  test("fails anew with the same words after it was tried again, and that is told again", async () => {
    const node = stage();
    for (const retry of [false, true]) {
      node.order({ retry });
      await node.pass(0);
      node.start("1");
    }
    expect(node.reasons.filter((reason) => reason === "AgentUpdateFailed").length).toBe(2);
  });
});

test("back runs the previous version", async () => {
  const node = stage();
  expect(node.updater.back()).toContain("no previous version");
  await onTrial(node);
  await node.pass(500);
  expect(node.updater.back()).toBeUndefined();
  expect([node.restarts, existsSync(join(node.place, "current"))]).toEqual([2, false]);
});

describe("a document", () => {
  const agent = {
    version: "2",
    artifacts: {
      "linux-arm64": { url: "http://h/agent?key=x", sha256: DIGEST, size: CONTENT.length },
    },
  };
  const arrives = ({ path }: { readonly path: string }): void => writeFileSync(path, CONTENT);

  test("updates the agent within half a minute", async () => {
    const node = stage();
    node.world.agent = agent;
    node.world.downloads.push(arrives);
    node.updater.look();
    await node.pass(30_000);
    expect([node.restarts, node.reasons]).toEqual([1, ["AgentUpdateStarted"]]);
  });

  test("does nothing when its version runs", async () => {
    const node = stage();
    node.world.agent = { ...agent, version: "1" };
    node.updater.look();
    await node.pass(60_000);
    expect([node.tests, node.events]).toEqual([0, []]);
  });

  test("without a binary for the platform does nothing", async () => {
    const node = stage();
    node.world.agent = { ...agent, artifacts: {} };
    node.updater.look();
    await node.pass(60_000);
    expect(node.events).toEqual([]);
  });

  test("is tried again later and later while the server fails, and never gives up", async () => {
    const node = stage();
    node.world.agent = agent;
    const gone = (): never => {
      throw new AgentError({ reason: "ConnectionFailed", message: "no route" });
    };
    node.world.downloads = [gone, gone, arrives];
    node.updater.look();
    await node.pass(30_000);
    expect(node.reasons).toEqual(["AgentUpdateFailed"]);
    await node.pass(60_000);
    expect(node.reasons.length).toBe(2);
    await node.pass(60_000);
    expect(node.restarts).toBe(0);
    await node.pass(61_000);
    expect(node.restarts).toBe(1);
  });

  test("goes on where a connection has ended, as long as bytes arrive", async () => {
    const node = stage();
    node.world.agent = agent;
    const half = ({ path }: { readonly path: string }): never => {
      writeFileSync(path, CONTENT.slice(0, 5));
      throw new AgentError({ reason: "ConnectionFailed", message: "ended" });
    };
    node.world.downloads = [half, arrives];
    node.updater.look();
    await node.pass(32_000);
    await node.pass(2_000);
    expect([node.restarts, node.reasons]).toEqual([1, ["AgentUpdateStarted"]]);
  });

  test("with a binary that has failed waits for another one", async () => {
    const node = stage();
    node.world.agent = agent;
    node.world.says = failsItsTest();
    node.world.downloads = [arrives, arrives, arrives];
    node.updater.look();
    await node.pass(7_200_000);
    expect([node.tests, node.reasons]).toEqual([1, ["AgentUpdateFailed"]]);
  });
});

describe("maintenance windows of a document", () => {
  const read = (written: readonly object[]) =>
    MAINTENANCE_WINDOWS.read({ findings: new Findings(), path: [], value: written }) ?? [];
  // The clock begins at 08:00.
  const NINE = { schedule: "0 9 * * *", duration: "1h", grace: "10m" };
  const agent = {
    version: "2",
    artifacts: { "linux-arm64": { url: "http://h/a", sha256: DIGEST, size: CONTENT.length } },
  };
  const brings = ({ path }: { readonly path: string }): void => writeFileSync(path, CONTENT);

  test("delay download and switch, and an order of an operator goes first", async () => {
    const node = stage();
    node.world.policy = { maintenanceWindows: read([NINE]) };
    node.world.agent = agent;
    node.world.downloads = [brings];
    node.updater.look();
    await node.pass(60_000);
    expect(node.updater.view()).toMatchObject({
      phase: "Waiting",
      update: {
        waits: "the download waits for its maintenance window, which opens at 2026-11-21T09:00:00Z",
      },
    });
    expect(node.world.downloads).toHaveLength(1);
    expect(node.order({ allowUnsigned: true, source: node.binary("other") })).toBe(undefined);
    await node.pass(60_000);
    expect(node.restarts).toBe(1);
  });

  test("open and let both happen", async () => {
    const node = stage();
    node.world.policy = { maintenanceWindows: read([NINE]) };
    node.world.agent = agent;
    node.world.downloads = [brings];
    node.updater.look();
    await node.pass(59 * 60_000);
    expect(node.restarts).toBe(0);
    await node.pass(2 * 60_000);
    expect(node.restarts).toBe(1);
  });

  test("of an urgent document, and of one that is withdrawn, are not waited for", async () => {
    const node = stage();
    node.world.policy = { maintenanceWindows: read([NINE]) };
    node.world.agent = agent;
    node.updater.look();
    await node.pass(60_000);
    node.world.agent = undefined;
    node.updater.look();
    await node.pass(60_000);
    expect([node.updater.view().phase, node.reasons]).toEqual(["Idle", []]);
    node.world.agent = agent;
    node.world.policy = { ...node.world.policy, urgent: true };
    node.world.downloads = [brings];
    node.updater.look();
    await node.pass(60_000);
    expect(node.restarts).toBe(1);
  });
});
