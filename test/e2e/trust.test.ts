// Whose documents a node runs: from the first key on only signed ones, whatever becomes of keys and database, until a reset.

import { expect } from "bun:test";
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { always, eventually } from "../harness/eventually.ts";
import { plainPod } from "./support-b-pods.ts";
import { openStage, runningApps } from "./support-b-stage.ts";
import { Upstream } from "./support-b-upstream.ts";
import {
  accepted,
  document,
  isAccepted,
  isRefused,
  newNode,
  shown,
  trustUnavailable,
  untilRunning,
} from "./support-f-node.ts";
import { makeKey, signed, trustKey, type TestKey } from "./support-f-signing.ts";

const stage = await openStage();
const { e2e, containerd } = stage;

e2e(
  "the first key ends plain documents; signed ones count once, here, and by this key only",
  async () => {
    const node = await newNode(stage, "keyed");
    const { agent, broker, trustPath } = node;
    const root = makeKey();
    await using client = await broker.client();
    const upstream = await Upstream.follow(client, node.name);
    await agent.startReady();
    await isAccepted(node, document(node, 1), 1);
    const plain = await untilRunning(node);
    expect(await shown(node)).toMatchObject({ required: false, rootKeys: [], problems: [] });
    expect(await trustUnavailable(node)).toBeUndefined();

    trustKey(trustPath, "root.pub", root);
    await isRefused(node, document(node, 2), { code: 401, says: /sign/ });
    expect(await runningApps(containerd(), node.name)).toEqual(plain);
    expect(await shown(node)).toMatchObject({
      required: true,
      rootKeys: [{ keyid: root.keyid, file: join(trustPath, "root.pub"), inForce: true }],
      problems: [],
    });

    const by = (fields: object, key: TestKey = root, generation = 3): string =>
      signed(document(node, generation, fields), [key]);
    const older = by({}, root, 2);
    const update = [plainPod("web", "signed")];
    await isAccepted(node, by({ resources: update }), 3);
    const ack = await upstream.ack(
      "the signed document is healthy",
      ({ generation, code }) => generation === 3 && code === 200,
    );
    expect(ack).toMatchObject({ epoch: "e1", signed: true });
    const running = await untilRunning(node);
    expect(running).not.toEqual(plain);

    await isRefused(node, older, { code: 410, says: /generation 2 .*generation 3/ });
    await isRefused(node, by({ target: { node: "somebody" } }, root, 4), {
      code: 403,
      says: /target\.node.*somebody/,
    });
    await isRefused(node, by({ target: undefined }, root, 4), { code: 403, says: /target/ });
    const stranger = makeKey();
    await isRefused(node, by({}, stranger, 4), { code: 401, says: new RegExp(stranger.keyid) });
    const forged = { ...(JSON.parse(by({}, root, 4)) as object), payload: btoa("{}") };
    await isRefused(node, forged, { code: 401, says: new RegExp(root.keyid) });
    await isRefused(node, by({ epoch: "e2" }, root, 1), { code: 409, says: /EpochConflict/ });

    // The key goes and comes back while the agent runs.
    rmSync(join(trustPath, "root.pub"));
    await isRefused(node, by({ resources: update }, root, 4), { code: 401, says: /NoTrustedKey/ });
    expect(await trustUnavailable(node)).toContain(trustPath);
    trustKey(trustPath, "root.pub", root);
    expect(await shown(node)).toMatchObject({ required: true, problems: [] });
    await eventually("what was refused counts now", () => accepted(agent, 4) === 1);
    expect(await trustUnavailable(node)).toBeUndefined();
    expect(await runningApps(containerd(), node.name)).toEqual(running);
    await agent.kill();
    await broker.stop();
  },
  180_000,
);

e2e(
  "keys that vanish and a lost database stop no pod and loosen nothing; a reset takes it back",
  async () => {
    const node = await newNode(stage, "keyless");
    const { agent, broker, trustPath } = node;
    const root = makeKey();
    trustKey(trustPath, "root.pub", root);
    await agent.startReady();
    const generation = 5;
    await isAccepted(node, signed(document(node, generation), [root]), generation);
    const running = await untilRunning(node);
    const configured = (path: string): void =>
      agent.configure({
        endpoint: containerd().endpoint,
        cgroupRoot: containerd().cgroupRoot,
        instance: node.name,
        mqttUrl: broker.url,
        mqtt: { reconnectMax: "1s" },
        config: { trustPath: path },
      });
    // What is retained is refused at the start already: the log says the same only once.
    let next = generation;
    const staysShut = async (says: RegExp): Promise<void> => {
      await agent.startReady();
      const plain = document(node, (next += 1));
      await isRefused(node, plain, { code: 401, says: /sign|NoTrustedKey/ });
      const sealed = signed(document(node, (next += 1)), [root]);
      await isRefused(node, sealed, { code: 401, says: /NoTrustedKey/ });
      const condition = await eventually(
        "the condition is there",
        async () => trustUnavailable(node),
        { timeout: 60_000, explain: () => agent.logTail(20) },
      );
      expect(condition).toMatch(says);
      expect((await agent.cli("get", "node")).stdout).toMatch(
        /Ready,(?:OOMUnprotected,)?TrustUnavailable/,
      );
      const { required, rootKeys, problems } = await shown(node);
      expect([required, rootKeys]).toEqual([true, []]);
      expect(problems.join()).toMatch(/agent trust reset/);
      expect(await runningApps(containerd(), node.name)).toEqual(running);
      await agent.kill();
    };

    await agent.kill();
    rmSync(join(trustPath, "root.pub"));
    await staysShut(/trust\.d/);
    rmSync(trustPath, { recursive: true });
    writeFileSync(trustPath, "in its place");
    await staysShut(/trust\.d is not a directory/);
    rmSync(trustPath);
    trustKey(trustPath, "root.pub", root);
    configured(`${trustPath}x`);
    await staysShut(/trust\.dx/);

    // Also without the database, which is all that most programs know.
    const files = readdirSync(agent.paths.state).filter((name) => name.startsWith("agent.db"));
    expect(files).toContain("agent.db");
    for (const name of files) rmSync(join(agent.paths.state, name));
    await staysShut(/trust\.dx/);
    expect(existsSync(join(agent.paths.state, "trust.json"))).toBe(true);

    await agent.startReady();
    const fresh = document(node, 1, { epoch: "another" });
    await isRefused(node, fresh, { code: 401, says: /sign|NoTrustedKey/ });
    const silent = await agent.cli("trust", "reset");
    expect([silent.code, silent.stdout]).toEqual([2, ""]);
    expect(silent.stderr).toContain("--yes");
    const ofGeneration = accepted(agent, 1);
    const reset = await agent.cli("trust", "reset", "--yes");
    expect([reset.code, reset.stderr]).toEqual([0, ""]);
    expect(reset.stdout).toContain("pods keep running");
    expect(await shown(node)).toMatchObject({ required: false, problems: [] });
    expect(await trustUnavailable(node)).toBeUndefined();
    expect(await runningApps(containerd(), node.name)).toEqual(running);
    // It need not be published again.
    await eventually("what was refused counts now", () => accepted(agent, 1) > ofGeneration);
    await always("the same pod of another authority runs on", 1_500, async () =>
      Bun.deepEquals(await runningApps(containerd(), node.name), running),
    );
    await agent.restart("SIGKILL");
    await isAccepted(node, document(node, 2, { epoch: "another" }), 2);
    expect(await runningApps(containerd(), node.name)).toEqual(running);
    await agent.kill();
    await broker.stop();
  },
  360_000,
);

e2e(
  "after a reset a signed document of any version is taken, with the key that is there",
  async () => {
    const node = await newNode(stage, "renewed");
    const { agent, broker, trustPath } = node;
    const [lost, renewed] = [makeKey(), makeKey()];
    trustKey(trustPath, "root.pub", lost);
    await agent.startReady();
    await isAccepted(node, signed(document(node, 9), [lost]), 9);
    const running = await untilRunning(node);

    trustKey(trustPath, "root.pub", renewed);
    const restart = signed(document(node, 2), [renewed]);
    await isRefused(node, restart, { code: 410, says: /generation 9/ });
    await isRefused(node, document(node, 1), { code: 401, says: /sign/ });
    const reset = await agent.cli("trust", "reset", "--yes");
    expect(reset.code).toBe(0);
    expect(reset.stderr).toContain("Documents must still be signed");
    // Nothing was accepted in between: a restart must not forget the reset.
    await agent.restart("SIGKILL");
    await isAccepted(node, restart, 2);
    await isRefused(node, signed(document(node, 1), [renewed]), {
      code: 410,
      says: /generation 2/,
    });
    expect(await runningApps(containerd(), node.name)).toEqual(running);
    await agent.kill();
    await broker.stop();
  },
  180_000,
);
