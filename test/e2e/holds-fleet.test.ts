// Updates that wait, from the operator's side: commands over the broker, signed where keys are required, and what `apply --wait` shows.

import { expect } from "bun:test";

import type { CommandResponse } from "../../src/protocol/command.ts";
import { agentBinary } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { topicOf } from "./support-b-upstream.ts";
import { makeKey, signed, trustKey } from "./support-f-signing.ts";
import { MovingRegistry } from "./support-h-registry.ts";
import { HoldStage, type HeldNode } from "./support-k-holds.ts";

const stage = await HoldStage.open();
const { hub } = stage;
const { e2e, temp } = stage.stage;
const LIMIT = 360_000;

interface Watched {
  shown: string;
  readonly exited: Promise<number>;
}

/** `agent fleet apply --wait` of the node's next document. */
function apply(node: HeldNode, resources: readonly object[], policy: object = {}): Watched {
  const file = stage.file(`${node.name}.json`, node.document(resources, policy));
  const flags = ["-f", file, "--node", node.name, "--wait", "--timeout", "100s"];
  const child = Bun.spawn([agentBinary(), "fleet", "apply", ...flags, "--url", stage.broker.url], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const read = async (): Promise<number> => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream()))
      watched.shown += text;
    return child.exited;
  };
  const watched: Watched = { shown: "", exited: Promise.resolve().then(read) };
  return watched;
}

async function endsHealthy(watched: Watched): Promise<void> {
  const code = await watched.exited;
  expect(watched.shown).toEndWith(": Healthy\n");
  expect(code).toBe(0);
}

async function shows(watched: Watched, line: RegExp): Promise<void> {
  await eventually(`apply shows ${line}`, () => line.test(watched.shown), {
    timeout: 90_000,
    explain: () => watched.shown,
  });
}

e2e.concurrent(
  "apply --wait shows that an update is held and why, goes on, and shows a rollback and why",
  async () => {
    await using node = await stage.node("wait-held");
    const first = apply(node, [node.pod()]);
    await endsHealthy(first);

    expect(await stage.fleet("hold", "wait-held", "web")).toMatchObject({
      code: 0,
      stdout: "hold on wait-held: done\n",
    });
    const held = apply(node, [node.pod({ variant: "2" })]);
    await shows(
      held,
      /^wait-held: Held: pod default\/web: held since \S+; agent release ends it$/m,
    );
    expect(await stage.fleet("release", "wait-held", "web")).toMatchObject({ code: 0 });
    await endsHealthy(held);

    hub.move("wait-held:2", "broken");
    const bad = apply(node, [node.pod({ image: hub.reference("wait-held:2") })]);
    expect(await bad.exited).toBe(1);
    expect(bad.shown).toMatch(
      /^wait-held: RolledBack to generation 2: pod default\/web was taken back: CrashLoopBackOff: /m,
    );
    expect((await stage.fleet("status")).stdout).toMatch(/^wait-held .*node 3 RolledBack 424: /m);
  },
  LIMIT,
);

e2e.concurrent(
  "apply --wait counts the images that are there",
  async () => {
    await using node = await stage.node("wait-images");
    using own = new MovingRegistry();
    own.move("slow:1", "1");
    await own.goAway();
    const slow = { name: "slow", image: own.reference("slow:1"), command: ["sleep", "1000000"] };
    const watched = apply(node, [node.pod({ containers: [slow] })]);
    await shows(watched, /^wait-images: Downloading 1\/2: pod default\/web /m);
    own.comeBack();
    await endsHealthy(watched);
  },
  LIMIT,
);

e2e.concurrent(
  "hold and release of the whole node are commands like the others",
  async () => {
    await using node = await stage.node("command-all");
    const responses = await stage.client.collect(topicOf(node.name, "response"));
    let count = 0;
    const ask = async (verb: string, args: object): Promise<CommandResponse> => {
      count += 1;
      const id = `01JD00000000000000000000${String(count).padStart(2, "0")}`;
      const { session } = await node.upstream.retainedState();
      const target = { node: node.name };
      const command = { id, verb, target, session, args, issuedAt: new Date().toISOString() };
      await stage.client.publish(topicOf(node.name, "command"), command);
      const { payload } = await responses.next(({ payload: text }) => {
        const answer = JSON.parse(text) as CommandResponse;
        return answer.id === id && ["done", "failed", "denied"].includes(answer.phase);
      }, 180_000);
      return JSON.parse(payload) as CommandResponse;
    };
    const before = await node.good([node.pod()]);
    expect(await ask("hold", {})).toMatchObject({ phase: "failed", code: 400 });
    expect(await ask("hold", { pod: "nobody" })).toMatchObject({ phase: "failed", code: 404 });
    expect(await ask("hold", { all: true })).toMatchObject({ phase: "done", code: 200 });
    await node.publish([node.pod({ variant: "2" })]);
    await node.held(/all updates of this node are held/, before);
    expect(await stage.fleet("release", node.name, "--all")).toMatchObject({ code: 0 });
    await node.replaced(before);
    await node.healthy();
    expect(await stage.fleet("hold", node.name)).toMatchObject({ code: 2 });
  },
  LIMIT,
);

e2e.concurrent(
  "a node with keys is held and released by who has signed it, and by nobody else",
  async () => {
    const trustPath = temp.directory("hold-keys-trust.d");
    const key = makeKey();
    trustKey(trustPath, "root.pub", key);
    const pem = stage.file(
      "hold-keys.pem",
      String(key.privateKey.export({ format: "pem", type: "pkcs8" })),
    );
    await using node = await stage.node("hold-keys", { config: { trustPath } });
    const sign = (document: object): string => signed(document, [key]);
    await node.publish([node.pod()], {}, sign);
    await node.healthy();
    const before = await node.container();

    const unsigned = await stage.fleet("hold", node.name, "web");
    expect(unsigned.code).toBe(1);
    expect(unsigned.stderr).toContain("hold-keys answered denied 401");
    expect(await stage.fleet("hold", node.name, "web", "--key", pem)).toMatchObject({ code: 0 });
    await node.publish([node.pod({ variant: "2" })], {}, sign);
    await node.held(/held since /, before);
    expect((await stage.fleet("release", node.name, "web")).stderr).toContain("denied 401");
    await node.staysHeld(before);
    expect(await stage.fleet("release", node.name, "web", "--key", pem)).toMatchObject({ code: 0 });
    await node.replaced(before);
    await node.healthy();
  },
  LIMIT,
);
