// The root key rests: a bundle on the broker says who signs what, takes it back from a key, and replaces the root itself.

import { expect } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { keyIdOf } from "../../src/protocol/dsse.ts";
import { sha256 } from "../../src/lib/system-sha256.ts";
import { eventually } from "../harness/eventually.ts";
import { run } from "../harness/run-command.ts";
import { openStage, runningApps } from "./support-b-stage.ts";
import {
  document,
  isAccepted,
  isRefused,
  newNode,
  shown,
  trustUnavailable,
  untilRunning,
  type KeyedNode,
} from "./support-f-node.ts";
import { makeKey, signed, trustKey, type TestKey } from "./support-f-signing.ts";

const stage = await openStage();
const { e2e, temp, containerd } = stage;

interface Bundle {
  readonly version: number;
  readonly root: readonly string[];
  readonly [field: string]: unknown;
}

async function publishBundle(node: KeyedNode, payload: string): Promise<void> {
  await using client = await node.broker.client();
  await client.publish("agent/v1/trust", payload, { retain: true });
}

async function isInForce(node: KeyedNode, bundle: Bundle, by: readonly TestKey[]): Promise<void> {
  await publishBundle(node, signed(bundle, by, "trust"));
  await eventually(
    `bundle ${bundle.version} is in force`,
    async () => (await shown(node)).bundle?.version === bundle.version,
    { timeout: 60_000, explain: () => node.agent.logTail(20) },
  );
}

e2e(
  "a bundle gives signing to other keys, takes it from a stolen one, and changes the root",
  async () => {
    const node = await newNode(stage, "bundled");
    const { agent, broker, trustPath } = node;
    const [root, next, signing, renewed, other] = [
      makeKey(),
      makeKey(),
      makeKey(),
      makeKey(),
      makeKey(),
    ];
    trustKey(trustPath, "root.pub", root);
    await agent.startReady();
    const by = (generation: number, key: TestKey, fields: object = {}): string =>
      signed(document(node, generation, fields), [key]);
    const keys = [
      { pub: signing.pub, roles: ["desired"], nodes: ["bund*"] },
      { pub: other.pub, roles: ["desired"], nodes: ["pi-*"] },
    ];
    await isInForce(node, { version: 1, root: [root.pub], keys }, [root]);
    await isRefused(node, by(1, root), { code: 401, says: /root key/ });
    await isRefused(node, by(1, other), { code: 401, says: /bundled/ });
    await isAccepted(node, by(1, signing), 1);
    const running = await untilRunning(node);

    // The signing key was stolen: another one takes over, and what was signed before counts no more.
    const notBefore = new Date().toISOString();
    const after = [{ pub: renewed.pub, roles: ["desired"] }];
    await isInForce(node, { version: 2, notBefore, root: [root.pub], keys: after }, [root]);
    await isRefused(node, by(2, signing), { code: 401, says: new RegExp(signing.keyid) });
    await isRefused(node, by(2, renewed, { issuedAt: "2020-01-01T00:00:00Z" }), {
      code: 410,
      says: /notBefore/,
    });
    const issuedAt = new Date(Date.now() + 1_000).toISOString();
    await isAccepted(node, by(2, renewed, { issuedAt }), 2);
    expect(await runningApps(containerd(), node.name)).toEqual(running);

    // A new root must have signed too; afterwards the file in trust.d signs nothing.
    const moved = { version: 3, root: [next.pub], keys: after };
    await publishBundle(node, signed(moved, [root], "trust"));
    await eventually("the new root is asked for", async () =>
      (await shown(node)).problems.some((problem) => problem.includes(next.keyid)),
    );
    await isInForce(node, moved, [root, next]);
    expect(await shown(node)).toMatchObject({
      rootKeys: [
        { keyid: next.keyid, inForce: true },
        { keyid: root.keyid, file: join(trustPath, "root.pub"), inForce: false },
      ],
      problems: [],
    });
    await publishBundle(node, signed({ ...moved, version: 4, root: [root.pub] }, [root], "trust"));
    await eventually("the old root is refused", async () =>
      (await shown(node)).problems.some((problem) => problem.includes("root key in force")),
    );

    // All of that is there after a power cut of the agent, and needs no file.
    await agent.restart("SIGKILL");
    await isAccepted(node, by(3, renewed), 3);
    await isRefused(node, by(4, signing), { code: 401, says: new RegExp(signing.keyid) });
    expect(await trustUnavailable(node)).toBeUndefined();
    expect(await runningApps(containerd(), node.name)).toEqual(running);
    await agent.kill();
    await broker.stop();
  },
  180_000,
);

e2e(
  "a key of openssl is a root key, as the documentation makes it",
  async () => {
    const node = await newNode(stage, "openssl");
    const { agent, broker, trustPath } = node;
    const directory = temp.directory("openssl-keys");
    const [secret, open] = [join(directory, "root.pem"), join(trustPath, "root.pub")];
    mkdirSync(trustPath);
    const make = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", secret];
    expect(await run(make)).toMatchObject({ code: 0 });
    const publish = ["openssl", "pkey", "-in", secret, "-pubout", "-out", open];
    expect(await run(publish)).toMatchObject({ code: 0 });
    const pem = readFileSync(open, "utf8");
    const raw = Buffer.from(pem.split("\n")[1] ?? "", "base64").subarray(-32);
    await agent.startReady();
    expect((await shown(node)).rootKeys).toEqual([
      { keyid: keyIdOf(raw, sha256), file: open, inForce: true },
    ]);
    await isRefused(node, document(node, 1), { code: 401, says: /not signed/ });
    await agent.kill();
    await broker.stop();
  },
  180_000,
);
