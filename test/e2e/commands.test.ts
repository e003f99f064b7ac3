// Commands over a real broker: asked, done, answered once, also over kill -9, and never with what is secret.

import { afterAll, beforeAll, expect } from "bun:test";
import { randomBytes } from "node:crypto";
import { join } from "node:path";

import { connectAsync } from "mqtt";

import type { CommandResponse } from "../../src/protocol/command.ts";
import type { LogBatch } from "../../src/protocol/log-batch.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import type { BrokerClient, Collector } from "../harness/broker-client.ts";
import { eventually } from "../harness/eventually.ts";
import { BUSYBOX_1 } from "../harness/images.ts";
import { openStage } from "./support-b-stage.ts";
import { desired, publishDesired, topicOf } from "./support-b-upstream.ts";
import { makeKey, signed, trustKey } from "./support-f-signing.ts";

const NODE = "servant";
const SECRET = `canary-${randomBytes(12).toString("hex")}`;
const PLAIN = `canary-${randomBytes(12).toString("hex")}`;

const { e2e, temp, containerd, agent: makeAgent } = await openStage();
let broker: Broker;
let client: BrokerClient;
let said: Collector;
let agent: AgentProcess;

/** Says a word every 100 ms; what it was given as a secret is what it says last. */
const TALK = `trap 'echo "$FROM_SECRET $PLAIN $(cat /secret/token)" >/dev/termination-log; sleep 1; exit 3' TERM
i=0; while true; do i=$((i+1)); echo "word $i"; sleep 0.1 & wait $!; done`;

function talker(): readonly object[] {
  return [
    { apiVersion: "v1", kind: "Secret", metadata: { name: "keys" }, stringData: { token: SECRET } },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "talker" },
      spec: {
        terminationGracePeriodSeconds: 2,
        containers: [
          {
            name: "main",
            image: BUSYBOX_1.name,
            command: ["sh", "-c", TALK],
            env: [
              { name: "FROM_SECRET", valueFrom: { secretKeyRef: { name: "keys", key: "token" } } },
              { name: "PLAIN", value: PLAIN },
            ],
            volumeMounts: [{ name: "secret", mountPath: "/secret" }],
          },
        ],
        volumes: [{ name: "secret", secret: { secretName: "keys" } }],
      },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "lost" },
      spec: { containers: [{ name: "main", image: "local/nowhere:1", imagePullPolicy: "Never" }] },
    },
  ];
}

/** Where containerd cannot run there is nothing to talk to. */
function isAvailable(): boolean {
  try {
    return containerd().endpoint !== "";
  } catch {
    return false;
  }
}

beforeAll(async () => {
  if (!isAvailable()) return;
  broker = await startBroker(temp);
  client = await broker.client();
  said = await client.collect(topicOf(NODE, "#"));
  agent = makeAgent(NODE, { broker });
  await agent.startReady();
  await publishDesired(broker, NODE, desired(NODE, { generation: 1, resources: talker() }));
  await eventually("the talker runs", () => restartsOf("talker"), { timeout: 60_000 });
}, 180_000);

afterAll(async () => {
  await agent?.kill();
  await client?.[Symbol.asyncDispose]();
}, 180_000);

async function podStatus(of: AgentProcess, name: string): Promise<PodOnApi | undefined> {
  const list = (await (await of.api("/pods")).json()) as { readonly items: readonly PodOnApi[] };
  return list.items.find((pod) => pod.metadata.name === name);
}

interface PodOnApi {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly containerStatuses?: readonly {
      readonly restartCount: number;
      readonly state: { readonly running?: object };
    }[];
  };
}

async function restartsOf(name: string): Promise<number> {
  return restartsOn(agent, name);
}

async function restartsOn(of: AgentProcess, name: string): Promise<number> {
  const [main] = (await podStatus(of, name))?.status.containerStatuses ?? [];
  if (main?.state.running === undefined) throw new Error(`${name} does not run`);
  return main.restartCount;
}

let ids = 0;
function newId(): string {
  ids += 1;
  return `01JD${String(Date.now()).padStart(16, "0")}${String(ids).padStart(6, "0")}`;
}

function answersTo(id: string, topic = topicOf(NODE, "response")): readonly CommandResponse[] {
  return said.messages
    .filter((message) => message.topic === topic)
    .map(({ payload }) => JSON.parse(payload) as CommandResponse)
    .filter((answer) => answer.id === id);
}

const FINAL = ["done", "failed", "denied", "expired", "duplicate"];

async function finalAnswer(id: string, topic?: string): Promise<readonly CommandResponse[]> {
  return eventually(
    `${id} is answered`,
    () => {
      const answers = answersTo(id, topic);
      const last = answers.at(-1);
      if (last === undefined || !FINAL.includes(last.phase)) throw new Error("not yet");
      if (last.part !== undefined && last.last !== true) throw new Error("more parts follow");
      return answers;
    },
    { timeout: 60_000, explain: () => `${JSON.stringify(answersTo(id))}\n${agent.logTail(40)}` },
  );
}

/** All answers; the final one stands last. */
async function ask(
  verb: string,
  args: object = {},
  more: object = {},
): Promise<readonly CommandResponse[]> {
  const id = newId();
  await client.publish(topicOf(NODE, "command"), {
    id,
    verb,
    target: { node: NODE },
    args,
    ...more,
  });
  return finalAnswer(id);
}

const phases = (answers: readonly CommandResponse[]): readonly string[] =>
  answers.map(({ phase, code }) => `${phase} ${code}`);

e2e("ping, get, describe and explain answer at once", async () => {
  const [pong] = await ask("ping");
  expect(pong).toMatchObject({ phase: "done", code: 200, data: { node: NODE } });
  const { session } = (await client.retainedJSON(topicOf(NODE, "state"))) as { session: number };
  expect(pong?.data).toMatchObject({ session });

  const [pods] = await ask("get", { kind: "pods" });
  expect(pods?.data).toMatchObject({
    items: [{ metadata: { name: "lost" } }, { metadata: { name: "talker" } }],
  });
  const [node] = await ask("get", { kind: "node" });
  expect(node?.data).toMatchObject({ kind: "Node", metadata: { name: NODE } });
  const [described] = await ask("describe", { pod: "talker" });
  expect(described?.data).toMatchObject({ pod: { metadata: { name: "talker" } } });

  const [why] = await ask("explain", { pod: "lost" });
  expect(why?.data).toMatchObject({
    well: false,
    causes: [{ category: "pull", element: "main", reason: "ErrImageNeverPull" }],
  });
  const [well] = await ask("explain", { pod: "talker" });
  expect(well?.data).toMatchObject({ well: true, causes: [] });
  expect(phases(await ask("explain", { pod: "nobody" }))).toEqual(["failed 404"]);
});

e2e("a restart is accepted, told, done, counted, and done once", async () => {
  const before = await restartsOf("talker");
  const id = newId();
  const command = { id, verb: "restart", target: { node: NODE }, args: { pod: "talker" } };
  await client.publish(topicOf(NODE, "command"), command);
  await client.publish(topicOf(NODE, "command"), command);
  const answers = await eventually(
    "both are answered",
    () => {
      const all = answersTo(id);
      if (!all.some(({ phase }) => phase === "done")) throw new Error("not yet");
      return all;
    },
    { timeout: 60_000, explain: () => JSON.stringify(answersTo(id)) },
  );
  expect(phases(answers).toSorted()).toEqual([
    "accepted 202",
    "done 200",
    "duplicate 202",
    "running 202",
  ]);
  expect(await eventually("it runs again", () => restartsOf("talker"))).toBe(before + 1);

  await client.publish(topicOf(NODE, "command"), command);
  await eventually("the third is a duplicate too", () => {
    if (answersTo(id).at(-1)?.code !== 200 || answersTo(id).at(-1)?.phase !== "duplicate")
      throw new Error("not yet");
    return true;
  });
  expect(await restartsOf("talker")).toBe(before + 1);
});

e2e("kill -9 in the middle of a restart: the next process says that nobody knows", async () => {
  const id = newId();
  const command = { id, verb: "restart", target: { node: NODE }, args: { pod: "talker" } };
  await client.publish(topicOf(NODE, "command"), command);
  await eventually(
    "it is accepted",
    () => {
      if (answersTo(id).length === 0) throw new Error("not yet");
      return true;
    },
    { interval: 5 },
  );
  await agent.kill("SIGKILL");
  await agent.startReady();
  const answers = await finalAnswer(id);
  expect(phases(answers).at(-1)).toBe("failed 500");
  const final = phases(answers).filter((phase) => !/accepted|running/.test(phase));
  expect(final).toHaveLength(1);
  await client.publish(topicOf(NODE, "command"), command);
  await eventually(
    "it is not done again",
    () => {
      if (answersTo(id).at(-1)?.phase !== "duplicate") throw new Error("not yet");
      return true;
    },
    { timeout: 60_000 },
  );
  await eventually("the talker runs", () => restartsOf("talker"), { timeout: 60_000 });
});

e2e("pull makes sure of a pod's images, and tells what is missing", async () => {
  expect(phases(await ask("pull", { pod: "talker" })).at(-1)).toBe("done 200");
  const failed = (await ask("pull", { pod: "lost" })).at(-1);
  expect(failed).toMatchObject({
    phase: "failed",
    code: 502,
    error: { category: "ErrImageNeverPull" },
  });
  expect(phases(await ask("pull", { image: "local/other:1" })).at(-1)).toBe("failed 404");
});

e2e("the last lines of a log come in the answer, the next ones while a lease runs", async () => {
  const lines = await eventually("three lines are there", async () => {
    const [tail] = (await ask("logs", { pod: "talker", tail: 3 })).slice(-1);
    const { lines: found = [] } = (tail?.data ?? {}) as {
      readonly lines?: readonly { text: string }[];
    };
    return found.length === 3 && found;
  });
  for (const { text } of lines) expect(text).toMatch(/^word \d+$/);
  const previous = (await ask("logs", { pod: "talker", tail: 1, previous: true })).at(-1);
  expect(previous?.code).toBe(200);

  const answers = await ask("logs", { pod: "talker", follow: true, seconds: 4 });
  expect(phases(answers)).toEqual(["accepted 202", "running 202", "done 200"]);
  expect(answers.at(-1)?.data).toMatchObject({ why: "Expired", dropped: 0 });
  const published = said.messages
    .filter(({ topic }) => topic === topicOf(NODE, "log/default/talker/main"))
    .map(({ payload }) => JSON.parse(payload) as LogBatch)
    .filter(({ id }) => id === answers[0]?.id);
  const words = published.flatMap((batch) =>
    batch.lines.map(({ text }) => Number(text.split(" ")[1])),
  );
  expect(words.length).toBeGreaterThan(15);
  expect(words).toEqual(words.map((_, index) => (words[0] ?? 0) + index));
});

e2e("a new lease on the same log replaces the one before", async () => {
  const first = newId();
  const args = { pod: "talker", follow: true, seconds: 60 };
  const command = { verb: "logs", target: { node: NODE } };
  await client.publish(topicOf(NODE, "command"), { ...command, id: first, args });
  await eventually("the first runs", () => {
    if (answersTo(first).at(-1)?.phase !== "running") throw new Error("not yet");
    return true;
  });
  await ask("logs", { ...args, seconds: 1 });
  expect((await finalAnswer(first)).at(-1)?.data).toMatchObject({ why: "Replaced" });
});

e2e(
  "answers go where MQTT 5 says, with the correlation data, if that is below the node's own",
  async () => {
    const asker = await connectAsync(broker.url, { protocolVersion: 5 });
    try {
      const heard: { topic: string; back: string | undefined }[] = [];
      asker.on("message", (topic, _, { properties }) =>
        heard.push({ topic, back: properties?.correlationData?.toString() }),
      );
      const responseTopic = topicOf(NODE, "response/asker");
      await asker.subscribeAsync(responseTopic, { qos: 1 });
      const id = newId();
      const payload = JSON.stringify({ id, verb: "ping", target: { node: NODE } });
      const properties = { responseTopic, correlationData: Buffer.from("c-1") };
      await asker.publishAsync(topicOf(NODE, "command"), payload, { qos: 1, properties });
      await finalAnswer(id, responseTopic);
      await eventually("it is heard", () => {
        if (heard.length === 0) throw new Error("not yet");
        return true;
      });
      expect(heard).toEqual([{ topic: responseTopic, back: "c-1" }]);
    } finally {
      await asker.endAsync();
    }
    expect(phases(await ask("ping", {}, { replyTo: topicOf("other", "response") }))).toEqual([
      "denied 403",
    ]);
  },
);

e2e("what is retained, meant for others, too late, unknown or not built is not done", async () => {
  const retained = newId();
  await client.publish(
    topicOf(NODE, "command"),
    { id: retained, verb: "ping", target: { node: NODE } },
    { retain: true },
  );
  expect(phases(await ask("ping", {}, { target: { node: "other" } }))).toEqual(["denied 403"]);
  expect(phases(await ask("ping", {}, { session: 1_000_000 }))).toEqual(["expired 408"]);
  expect(phases(await ask("reformat"))).toEqual(["failed 400"]);
  expect(phases(await ask("reboot"))).toEqual(["denied 501"]);
  expect(phases(await ask("restart", { pod: "talker", force: true })).at(-1)).toBe("failed 400");
  expect(answersTo(retained)).toEqual([]);
  await client.publish(topicOf(NODE, "command"), "", { retain: true });
});

e2e("no answer ever showed an environment's or a Secret's value, or a last word", async () => {
  await ask("restart", { pod: "talker" });
  await ask("get", { kind: "pods" });
  await ask("get", { kind: "events" });
  await ask("get", { kind: "rejected" });
  await ask("describe", { pod: "talker" });
  await ask("explain", { pod: "talker" });
  const own = JSON.stringify(await (await agent.api("/pods")).json());
  // Its last word was there to be shown.
  expect(own).toContain("<hidden> <hidden> <hidden>");
  const answers = said.messages.filter(({ topic }) => topic.startsWith(topicOf(NODE, "response")));
  expect(answers.length).toBeGreaterThan(20);
  for (const { payload } of answers)
    for (const value of [SECRET, PLAIN, btoa(SECRET), btoa(PLAIN)])
      expect(payload).not.toContain(value);
});

e2e(
  "with keys: unsigned commands only look, a signed one counts in its session, a recording never",
  async () => {
    const node = "guarded";
    const key = makeKey();
    const stranger = makeKey();
    const trustPath = join(temp.directory(`${node}-etc`), "trust.d");
    trustKey(trustPath, "root.pub", key);
    const guarded = makeAgent(node, { broker, config: { trustPath } });
    const responses = await client.collect(topicOf(node, "response"));
    const final = async (id: string): Promise<string> =>
      eventually(
        `${node} answers ${id}`,
        () => {
          const answers = responses.messages
            .map(({ payload }) => JSON.parse(payload) as CommandResponse)
            .filter((answer) => answer.id === id && FINAL.includes(answer.phase));
          return phases(answers).at(-1);
        },
        { timeout: 60_000, explain: () => guarded.logTail(30) },
      );
    const send = async (command: object, keys: readonly (typeof key)[] = []): Promise<string> => {
      const id = newId();
      const whole = { id, target: { node }, ...command };
      const message = keys.length === 0 ? whole : signed(whole, keys, "command");
      await client.publish(topicOf(node, "command"), message);
      return final(id);
    };
    const presentSession = async (before = -1): Promise<number> =>
      eventually("it is born", async () => {
        const state = await client.retainedJSON(topicOf(node, "state"));
        const { state: word, session } = state as {
          readonly state: string;
          readonly session: number;
        };
        if (word !== "online" || session <= before) throw new Error("not yet");
        return session;
      });
    try {
      await guarded.startReady();
      const session = await presentSession();
      const pod = { metadata: { name: "web" }, apiVersion: "v1", kind: "Pod" };
      const spec = {
        containers: [{ name: "main", image: BUSYBOX_1.name, command: ["sleep", "9999"] }],
      };
      const document = desired(node, {
        generation: 1,
        issuedAt: new Date().toISOString(),
        resources: [{ ...pod, spec: { ...spec, terminationGracePeriodSeconds: 1 } }],
      });
      await publishDesired(broker, node, signed(document, [key]));
      const restart = { verb: "restart", args: { pod: "web" } };
      await eventually(
        "the pod runs, as an unsigned look tells",
        async () =>
          (await send({ verb: "ping" })) === "done 200" && (await restartsOn(guarded, "web")) === 0,
        { timeout: 60_000, explain: () => guarded.logTail(30) },
      );
      expect(await send({ verb: "get", args: { kind: "pods" } })).toBe("done 200");
      expect(await send(restart)).toBe("denied 401");
      expect(await send({ ...restart, session }, [stranger])).toBe("denied 401");
      expect(await send(restart, [key])).toBe("expired 408");

      const id = newId();
      const recorded = signed({ id, target: { node }, session, ...restart }, [key], "command");
      await client.publish(topicOf(node, "command"), recorded);
      expect(await final(id)).toBe("done 200");
      expect(await restartsOn(guarded, "web")).toBe(1);

      await guarded.restart("SIGKILL");
      await guarded.waitReady();
      await presentSession(session);
      await client.publish(topicOf(node, "command"), recorded);
      expect(
        await eventually("the recording is refused", async () => {
          const answer = await final(id);
          return answer === "done 200" ? undefined : answer;
        }),
      ).toBe("expired 408");
      expect(await restartsOn(guarded, "web")).toBe(1);
    } finally {
      await guarded.kill();
    }
  },
);
