// Commands over every kind of broker and a real mosquitto: asked once or twice, in any order, answered where they may be.

import { describe, expect, test } from "bun:test";
import type { LogBatch } from "../../../src/protocol/log-batch.ts";
import { NODE_TOPIC, OWN, ulid } from "../../unit/upstream/a-command.ts";
import { CommandNode } from "./command-node.ts";
import { DOORS } from "./command-doors.ts";

const PING = ulid(1);
const LOG = "agent/v1/node/pi-1/log/default/web/main";
/** Of a document, and of any payload: what the strictest broker takes. */
const MOST_BYTES = 64 * 1024;
const restart = { verb: "restart", args: { pod: "web" } };

describe.each(DOORS.map((kind) => [kind.kind, kind] as const))("over %s", (_, kind) => {
  test("what only looks is answered, whatever comes first", async () => {
    await using node = await CommandNode.start(kind);
    await node.send({ id: ulid(1) });
    await node.send({ id: ulid(2), verb: "get", args: { kind: "pods" } });
    await node.send({ id: ulid(3), verb: "describe", args: { pod: "web" } });
    await node.door.clock.advance(5_000);
    const [ping] = await node.answers(ulid(1));
    const session = await node.session();
    expect(ping).toMatchObject({ phase: "done", code: 200, data: { node: "pi-1", session } });
    const [get] = await node.answers(ulid(2));
    expect(get?.data).toMatchObject({ items: [{ metadata: { name: "web" } }] });
    const [describe] = await node.answers(ulid(3));
    expect(describe?.data).toMatchObject({ pod: { metadata: { name: "web" } } });
    expect(node.door.breaches()).toEqual([]);
  });

  test("a restart is done once, however often and in what order it comes", async () => {
    await using node = await CommandNode.start(kind);
    const before = node.starts();
    await node.send({ ...restart, id: ulid(1) });
    await node.send({ id: ulid(2) });
    await node.send({ ...restart, id: ulid(1) });
    await node.door.clock.advance(60_000);
    expect(node.starts()).toBe(before + 1);
    expect(await node.phases(ulid(1))).toEqual(["accepted 202", "running 202", "done 200"]);
    const all = await node.answers(ulid(1));
    expect(all.length).toBe(3 + (kind.twice ? 3 : 1));
    // The code of an earlier answer is told to a late copy.
    await node.send({ ...restart, id: ulid(1) });
    await node.door.clock.advance(5_000);
    const [last] = (await node.answers(ulid(1))).slice(-1);
    expect(last).toMatchObject({ phase: "duplicate", code: 200 });
    expect(node.starts()).toBe(before + 1);
    expect(node.door.breaches()).toEqual([]);
  });

  test("a command of another session is not obeyed, and one of this session is", async () => {
    await using node = await CommandNode.start(kind);
    const before = node.starts();
    const session = await node.session();
    await node.door.line.cut();
    await node.comeBack();
    expect(await node.session()).toBeGreaterThan(session);
    await node.send({ ...restart, id: ulid(1), session });
    await node.door.clock.advance(30_000);
    expect(await node.phases(ulid(1))).toContain("expired 408");
    expect(node.starts()).toBe(before);
    await node.send({ ...restart, id: ulid(2), session: await node.session() });
    await node.door.clock.advance(30_000);
    expect(await node.phases(ulid(2))).toContain("done 200");
    expect(node.starts()).toBe(before + 1);
    expect(node.door.breaches()).toEqual([]);
  });

  test("what waited for longer than it may is expired when the node comes back", async () => {
    await using node = await CommandNode.start(kind);
    const before = node.starts();
    const issuedAt = new Date(node.door.clock.now()).toISOString();
    await node.door.line.cut();
    await node.send({ ...restart, id: ulid(1), issuedAt, ttl: 60 });
    await node.send({ ...restart, id: ulid(2), issuedAt, ttl: 3_600 });
    await node.door.clock.advance(120_000);
    await node.comeBack();
    await node.door.clock.advance(30_000);
    expect(await node.phases(ulid(1))).toContain("expired 408");
    expect(await node.phases(ulid(2))).toContain("done 200");
    expect(node.starts()).toBe(before + 1);
    expect(node.door.breaches()).toEqual([]);
  });

  test("answers go to the node's own response topic and below, nowhere else", async () => {
    await using node = await CommandNode.start(kind);
    for (const [n, replyTo] of [
      [1, `${OWN}/me`],
      [2, "agent/v1/node/pi-2/response"],
      [3, "agent/v1/node/pi-1/state"],
      [4, `${OWN}s`],
    ] as const)
      await node.send({ id: ulid(n), replyTo });
    await node.door.clock.advance(10_000);
    const [own] = (await node.answers(ulid(1))).filter(({ phase }) => phase === "done");
    expect(own).toMatchObject({ topic: `${OWN}/me`, code: 200 });
    for (const n of [2, 3, 4]) {
      const answers = await node.answers(ulid(n));
      expect(answers.length).toBeGreaterThan(0);
      for (const answer of answers)
        expect(answer).toMatchObject({ topic: OWN, phase: "denied", code: 403 });
    }
    expect(node.door.line.published.map(({ topic }) => topic)).not.toContain(
      "agent/v1/node/pi-2/response",
    );
    expect(node.door.breaches()).toEqual([]);
  });

  test("a command that somebody retained is passed over", async () => {
    const ping = JSON.stringify({ id: PING, verb: "ping", target: { node: "pi-1" } });
    await using node = await CommandNode.start(kind, (door) => door.send(NODE_TOPIC, ping, true));
    expect(await node.answers(PING)).toEqual([]);
    await node.send({ id: ulid(2) });
    await node.door.clock.advance(5_000);
    expect(await node.phases(ulid(2))).toContain("done 200");
    // Every SUBSCRIBE brings it again.
    await node.door.line.cut();
    await node.comeBack();
    expect(await node.answers(PING)).toEqual([]);
    expect(node.door.breaches()).toEqual([]);
  });

  test("an answer larger than any message comes in parts, whole and in order", async () => {
    await using node = await CommandNode.start(kind);
    const lines = Array.from({ length: 1_000 }, (_line, n) => `${n} ${"x".repeat(300)}`);
    node.write(lines);
    await node.send({ id: ulid(1), verb: "logs", args: { pod: "web", tail: 1_000 } });
    await node.door.clock.advance(60_000);
    const done = (await node.answers(ulid(1))).filter(({ phase }) => phase === "done");
    const all = done.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(all).toBeGreaterThan(4 * MOST_BYTES);
    expect(Math.max(...done.map(({ bytes }) => bytes))).toBeLessThanOrEqual(MOST_BYTES);
    expect(done.map(({ part }) => part)).toEqual(done.map((_answer, index) => index));
    expect(done.map(({ last }) => last === true).indexOf(true)).toBe(done.length - 1);
    const parts = done.map(({ data }) => (data ?? {}) as Pick<LogBatch, "lines">);
    const texts = parts.flatMap((one) => one.lines.map(({ text }) => text));
    expect(texts).toEqual(lines);
    expect(node.door.breaches()).toEqual([]);
  });

  test("a log lease speaks with QoS 0 on the container's own topic, and ends with the session", async () => {
    await using node = await CommandNode.start(kind);
    node.write(["before"]);
    await node.send({ id: ulid(1), verb: "logs", args: { pod: "web", follow: true } });
    await node.door.clock.advance(2_000);
    node.write(["one", "two"]);
    await node.door.clock.advance(2_000);
    const heard = (await node.door.heard()).filter(({ topic }) => topic === LOG);
    const batches = heard.map(({ text }) => JSON.parse(text) as LogBatch);
    expect(batches).toMatchObject([{ id: ulid(1), seq: 0 }]);
    expect(batches.flatMap((one) => one.lines).map(({ text }) => text)).toEqual(["one", "two"]);
    const logs = node.door.line.published.filter(({ topic }) => topic.includes("/log/"));
    expect(logs).toMatchObject([{ topic: LOG, qos: 0, retain: false }]);
    await node.door.line.cut();
    node.write(["nobody hears it"]);
    await node.comeBack();
    expect((await node.answers(ulid(1))).at(-1)).toMatchObject({
      phase: "done",
      code: 200,
      data: { why: "Disconnected", lines: 2, dropped: 0 },
    });
    node.write(["nor that"]);
    await node.door.clock.advance(10_000);
    expect((await node.door.heard()).filter(({ topic }) => topic === LOG)).toHaveLength(1);
    expect(node.door.breaches()).toEqual([]);
  });

  test("with the session goes what waited in it; the next command is heard", async () => {
    await using node = await CommandNode.start(kind);
    const before = node.starts();
    await node.door.line.cut();
    await node.send({ ...restart, id: ulid(1) });
    await node.door.forget();
    await node.comeBack();
    await node.door.clock.advance(30_000);
    expect(await node.answers(ulid(1))).toEqual([]);
    expect(node.starts()).toBe(before);
    await node.send({ ...restart, id: ulid(2), session: await node.session() });
    await node.door.clock.advance(30_000);
    expect(await node.phases(ulid(2))).toContain("done 200");
    expect(node.starts()).toBe(before + 1);
    expect(node.door.breaches()).toEqual([]);
  });
});
