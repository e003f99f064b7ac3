// What a node keeps (docs/mqtt-api.md, Answers): one document once, one authority's at a time, and what it cannot write down or pull yet.

import { expect } from "bun:test";
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

import type { ReportedState } from "../../src/protocol/reported-state.ts";
import { always, eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { BUSYBOX_1 } from "../harness/images.ts";
import { runSync } from "../harness/run-command.ts";
import { openStage, runningApps } from "./support-b-stage.ts";
import { publishDesired } from "./support-b-upstream.ts";
import { makeKey, signed, type TestKey } from "./support-f-signing.ts";
import {
  answering,
  ends,
  goodPod,
  isRefusedWith,
  isTaken,
  judged,
  judgements,
  nextDocument,
  refusesAll,
  type Answering,
} from "./support-g-answers.ts";

const stage = await openStage();
const { e2e, containerd } = stage;

e2e.concurrent("the same document once more, however often it comes, does nothing", async () => {
  const root = makeKey();
  const node = await answering(stage, "same", { root });
  const { agent, broker, upstream, name, pods } = node;
  const document = nextDocument(name, { generation: 5 });
  const checkpoint = join(agent.paths.state, "desired", "mqtt-node.doc");
  const writtenAt = statSync(checkpoint).ctimeMs;
  const ack = upstream.acks().at(-1);
  expect(judgements(agent)).toEqual(["accepted 5"]);
  const another = makeKey();
  await publishDesired(broker, name, signed(document, [root]));
  await publishDesired(broker, name, signed(document, [another, root]));
  // The broker keeps the order: this one is judged after those.
  expect(await judged(node, nextDocument(name))).toBe("refused 401");
  expect(judgements(agent)).toEqual(["accepted 5", "refused 401"]);
  expect(statSync(checkpoint).ctimeMs).toBe(writtenAt);
  const told = await upstream.ack("the refusal is told", (one) => one.lastRejected?.code === 401);
  expect(told).toMatchObject({ ...ack });
  expect(await runningApps(containerd(), name)).toEqual([...pods]);
  await ends(node);
});

/** The root rests; `signing` signs documents, `commander` commands. */
async function publishTrust({ broker, agent }: Answering, root: TestKey, keys: readonly object[]) {
  await using client = await broker.client();
  const bundle = { version: 1, root: [root.pub], keys };
  await client.publish("agent/v1/trust", signed(bundle, [root], "trust"), { retain: true });
  await eventually("the bundle is in force", async () =>
    (await agent.cli("trust", "show", "-o", "json")).stdout.includes('"version": 1'),
  );
}

e2e.concurrent("a key signs what its role says, and only as what it was signed", async () => {
  const [root, signing, commander] = [makeKey(), makeKey(), makeKey()];
  const node = await answering(stage, "roles", { root });
  await publishTrust(node, root, [
    { pub: signing.pub, roles: ["desired"] },
    { pub: commander.pub, roles: ["command", "rollout"] },
  ]);
  const document = nextDocument(node.name);
  const good = JSON.parse(signed(document, [signing])) as Record<string, unknown>;
  const rubbish = Buffer.from("rubbish: [").toString("base64");
  await refusesAll(node, [
    {
      what: "a document by a key for commands",
      code: 401,
      says: new RegExp(`key ${commander.keyid} has the role command, rollout, not desired`),
      payload: signed(document, [commander]),
    },
    {
      what: "a document that was signed as a command",
      code: 401,
      says: /payload type is .*command/,
      payload: signed(document, [signing], "command"),
    },
    {
      what: "a document without signatures",
      code: 401,
      says: /signatures/,
      payload: { ...good, signatures: [] },
    },
    {
      what: "rubbish in an envelope, which nobody reads",
      code: 401,
      says: /does not match this payload/,
      payload: { ...good, payload: rubbish },
    },
  ]);
  await isTaken(node, signed(document, [commander, signing]), { generation: 6, signed: true });
  await ends(node);
});

e2e.concurrent(
  "another epoch follows if a root key has signed that it does, or after a reset",
  async () => {
    const [root, signing] = [makeKey(), makeKey()];
    const node = await answering(stage, "epochs", { root });
    await publishTrust(node, root, [{ pub: signing.pub, roles: ["desired"] }]);
    const restored = (fields: object): object =>
      nextDocument(node.name, { epoch: "e2", generation: 1, ...fields });
    const conflict = { code: 409, says: /EpochConflict: epoch "e\d" does not follow .*"e1"/ };
    const follows = restored({ previousEpoch: "e1" });
    await refusesAll(node, [
      { ...conflict, what: "a foreign epoch", payload: signed(restored({}), [signing, root]) },
      { ...conflict, what: "one without the root's word", payload: signed(follows, [signing]) },
      {
        ...conflict,
        what: "one that follows another",
        payload: signed(restored({ previousEpoch: "e0" }), [signing, root]),
      },
    ]);
    const version = { epoch: "e2", generation: 1, observedGeneration: 1 };
    await isTaken(node, signed(follows, [signing, root]), version);

    const foreign = nextDocument(node.name, { epoch: "e3", generation: 1 });
    expect(await judged(node, signed(foreign, [signing, root]))).toBe("refused 409");
    expect((await node.agent.cli("trust", "reset", "--yes")).code).toBe(0);
    await eventually(
      "it is taken without being sent again",
      () => judgements(node.agent).at(-1) === "accepted 1",
    );
    expect(await runningApps(containerd(), node.name)).toEqual([...node.pods]);
    await ends(node);
  },
);

e2e.concurrent("after documents without an epoch any epoch follows, signed or not", async () => {
  const root = makeKey();
  const node = await answering(stage, "no-epoch", { root, first: false });
  const version = (fields: object): string => signed(nextDocument(node.name, fields), [root]);
  await isTaken(node, version({ epoch: "", generation: 8 }), { epoch: "", generation: 8 });
  await isTaken(node, version({ epoch: "e1", generation: 1 }), { epoch: "e1", generation: 1 });
  expect(await judged(node, version({ epoch: "", generation: 9 }))).toBe("refused 409");
  await ends(node);
});

e2e.concurrent(
  "a full disk is 507, a broken one 500; what was sent is kept by itself later",
  async () => {
    const node = await answering(stage, "disk", {
      prepare: ({ paths }) => {
        mkdirSync(paths.state, { recursive: true });
        const mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", paths.state];
        expect(runSync(mount)).toMatchObject({ code: 0 });
      },
    });
    const { agent, broker, name, upstream, pods } = node;
    const { state } = agent.paths;
    const checkpoint = join(state, "desired", "mqtt-node.doc");
    const written = readFileSync(checkpoint);
    const filler = join(state, "filler");
    fill(filler);
    await isRefusedWith(node, {
      what: "a document without room",
      code: 507,
      says: /no space left to keep the document/,
      payload: nextDocument(name),
    });
    expect(readFileSync(checkpoint).equals(written)).toBe(true);
    rmSync(filler);
    const isWell = (generation: number) =>
      upstream.ack(
        `generation ${generation} is kept without being sent again`,
        (ack) => ack.generation === generation && ack.code === 200,
        180_000,
      );
    expect((await isWell(6)).lastRejected).toBeUndefined();

    renameSync(join(state, "desired"), join(state, "elsewhere"));
    closeSync(openSync(join(state, "desired"), "w"));
    await publishDesired(broker, name, nextDocument(name, { generation: 7 }));
    const broken = await upstream.ack(
      "500 is told",
      ({ lastRejected }) => lastRejected?.code === 500,
    );
    expect(broken).toMatchObject({ generation: 6, code: 200, phase: "Healthy" });
    expect(broken.lastRejected?.message).toMatch(/could not be kept .*tried again by itself/);
    rmSync(join(state, "desired"));
    renameSync(join(state, "elsewhere"), join(state, "desired"));
    expect((await isWell(7)).lastRejected).toBeUndefined();
    expect(await runningApps(containerd(), name)).toEqual([...pods]);
    await ends(node);
  },
);

function fill(path: string): void {
  const file = openSync(path, "w");
  try {
    const block = new Uint8Array(4_096);
    expect(() => {
      for (;;) writeSync(file, block);
    }).toThrow("ENOSPC");
  } finally {
    closeSync(file);
  }
}

e2e.concurrent(
  "an image that is missing is waited for, while the old pod runs, and then used",
  async () => {
    const node = await answering(stage, "late");
    const { name, broker, upstream, pods } = node;
    const image = `127.0.0.1:${freePort()}/late:1`;
    const [old] = pods;
    const command = ["sh", "-c", "trap 'exit 0' TERM; sleep 2147483647 & wait $!"];
    const resources = [goodPod(name, { containers: [{ name: "main", image, command }] })];
    await publishDesired(broker, name, nextDocument(name, { resources }));
    const waiting = await upstream.ack(
      "202 Downloading is told",
      ({ generation, phase }) => generation === 6 && phase === "Downloading",
    );
    expect(waiting).toMatchObject({ code: 202, observedGeneration: 5 });
    expect(waiting.message).toContain("good");
    await always("the old pod runs and 202 stays", 12_000, async () => {
      const now = await runningApps(containerd(), name);
      return Bun.deepEquals(now, pods) && upstream.acks().at(-1)?.code === 202;
    });
    await containerd().ctr("images", "tag", `docker.io/${BUSYBOX_1.name}`, image);
    await upstream.ack(
      "200 is told",
      ({ observedGeneration, code }) => observedGeneration === 6 && code === 200,
      180_000,
    );
    const after = await runningApps(containerd(), name);
    expect(after).toHaveLength(1);
    expect(after[0]?.id).not.toBe(old?.id ?? "");
    await ends(node);
  },
);

e2e.concurrent(
  "a newer document while an older one is applied takes over, and the older one is superseded",
  async () => {
    const node = await answering(stage, "newer");
    const { name, broker, upstream, agent } = node;
    const command = ["sh", "-c", "trap 'exit 0' TERM; sleep 2147483647 & wait $!"];
    const never = { exec: { command: ["false"] }, periodSeconds: 1 };
    const main = { name: "main", image: BUSYBOX_1.name, command };
    const sick = goodPod(name, { containers: [{ ...main, readinessProbe: never }] });
    await publishDesired(broker, name, nextDocument(name, { resources: [sick] }));
    const told = ({ generation, phase }: { generation: number; phase: string }): boolean =>
      generation === 6 && ["Applying", "Progressing"].includes(phase);
    await upstream.ack("the older one is applied", told);
    const well = goodPod(name, { containers: [main] });
    const newer = nextDocument(name, { generation: 7, resources: [well] });
    const older = upstream.acks().at(-1);
    await publishDesired(broker, name, newer);
    await eventually("the older one is told as superseded, after the newer one", () => {
      const said = upstream
        .reports()
        .at(-1)
        ?.desired.filter(({ source }) => source === "node");
      expect(said).toMatchObject([
        { generation: 7 },
        {
          generation: 6,
          observedGeneration: 5,
          digest: older?.digest,
          phase: "Superseded",
          code: 410,
          message: "generation 7 took its place before it had converged",
        },
      ]);
      return true;
    });
    const ack = await upstream.ack("200 is told", ({ generation, code }) => {
      return generation === 7 && code === 200;
    });
    expect(ack).toMatchObject({ observedGeneration: 7 });
    const last = (): ReportedState | undefined => upstream.reports().at(-1);
    await eventually(
      "nothing is said of the older one any more",
      () => last()?.desired.every(({ generation }) => generation !== 6),
      { timeout: 60_000 },
    );
    expect(await runningApps(containerd(), name)).toHaveLength(1);
    const { stdout } = await agent.cli("get", "events");
    expect(stdout).toContain(
      "generation 6 of mqtt:node was superseded by generation 7 before it had converged",
    );
    await ends(node);
  },
);
