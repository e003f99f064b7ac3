import { expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { eventually } from "../../harness/eventually.ts";
import { Mulberry32 } from "../../fakes/mulberry32.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";
import { likelyRequest, mutatedRequest } from "./mutate-request.ts";
import { podEntry } from "./pod-entry.ts";
import { openSecure, type SecureStage } from "./secure-stage.ts";

const newDirectory = temporaryDirectories();
/** Of each way in; a long run raises it. */
const COUNT = Number(process.env["AGENT_MUTATED_REQUESTS"] ?? 600);
const AT_ONCE = 24;
const SEED = Number(process.env["AGENT_MUTATED_SEED"] ?? 1);

/** What came before the end, which must come: of the answer or of the connection. A stream is left after its first part. */
function exchange(client: Socket, request: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    client.on("data", (part: Buffer) => {
      answer += part.toString("latin1");
      client.destroy();
    });
    client.on("error", () => undefined);
    client.once("close", () => resolve(answer));
    client.end(request);
  });
}

/** The answers that say that the agent has failed, by the number of their request. */
async function send(open: () => Promise<Socket>, dice: Mulberry32): Promise<readonly string[]> {
  const failures: string[] = [];
  let sent = 0;
  const lane = async (): Promise<void> => {
    while (sent < COUNT) {
      sent += 1;
      const number = sent;
      const request = dice.chance(0.3) ? likelyRequest(dice) : mutatedRequest(dice);
      // Cut off during the handshake.
      const client = await open().catch(() => undefined);
      if (client === undefined) continue;
      const answer = await exchange(client, request);
      if (/^HTTP\/1\.1 (?:5|[^1-5])/.test(answer))
        failures.push(`${number}: ${request.toString("latin1")}: ${answer}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return failures;
}

const ways: Readonly<Record<string, (stage: SecureStage) => Promise<() => Promise<Socket>>>> = {
  "the unix socket": (stage) =>
    Promise.resolve(
      () =>
        new Promise((resolve, reject) => {
          const client = connect(stage.socket, () => resolve(client));
          client.once("error", reject);
        }),
    ),
  "TLS as a known user": async (stage) => {
    const admin = await stage.make();
    return () => stage.tls(admin);
  },
  "TLS as a read-only user": async (stage) => {
    const viewer = await stage.make("user=viewer&access=ReadOnly");
    return () => stage.tls(viewer);
  },
  "TLS as an unknown user": (stage) => Promise.resolve(() => stage.tls({})),
  "TCP without TLS": (stage) => Promise.resolve(() => stage.tcp()),
};

test.each(Object.entries(ways))(
  "mutated requests over %s are answered or cut off, and leave nothing behind",
  async (way, prepare) => {
    const facts = { pods: () => [podEntry()] };
    const policy = { burst: 1_000_000, perSecond: 1 };
    const settings = { handshakes: { ofAddress: policy, all: policy } };
    using stage = await openSecure({ directory: newDirectory(), facts, settings });
    const open = await prepare(stage);
    // The cache of watches has a timer of its own.
    await stage.local("/api/v1/pods");
    const before = stage.clock.pending;
    // Slow answers to unknown users wait for it.
    const isDone = new AbortController();
    const running = (async (): Promise<void> => {
      while (!isDone.signal.aborted) {
        await new Promise((resolve) => setImmediate(resolve));
        if (way.includes("unknown")) await stage.clock.advance(50);
      }
    })();
    const failures = await send(open, new Mulberry32(SEED));
    isDone.abort();
    await running;
    expect(failures).toEqual([]);
    expect((await stage.local("/healthz")).status).toBe(200);
    const admin = await stage.make();
    expect((await stage.get("/healthz", admin)).status).toBe(200);
    await eventually(
      "no timer of a connection or a request is left",
      () => stage.clock.pending <= before,
    );
  },
  60_000 + COUNT * 60,
);
