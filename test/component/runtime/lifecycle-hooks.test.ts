import { describe, expect, test } from "bun:test";
import type { HttpGetHandler } from "../../../src/api/v1/probe.ts";
import type { HttpAnswer, HttpRequest } from "../../../src/host/probe/probe-edge.ts";
import { deadline } from "../../../src/lib/clock.ts";
import { FairPlaces } from "../../../src/lib/fair-places.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import type { CallOptions } from "../../../src/cri/grpc-connection.ts";
import {
  LifecycleRunner,
  type LifecycleRunnerOptions,
} from "../../../src/runtime/lifecycle-hooks.ts";
import { aContainer, aPod, UID } from "../../fakes/a-pod.ts";
import { KillWorld, outcome, takePlace, type KillWorldOptions } from "./kill-world.ts";
import { type LifecycleHandler } from "../../../src/api/v1/lifecycle.ts";

const SECRET = "s3cr3t-value";
const TOO_LARGE = {
  type: "fail",
  code: GrpcCode.RESOURCE_EXHAUSTED,
  details: "too large",
} as const;

type Edge = (request: HttpRequest, signal: AbortSignal) => Promise<HttpAnswer>;

interface Hook extends KillWorldOptions, CallOptions {
  readonly handler: LifecycleHandler;
  readonly edge?: Edge;
  readonly podIP?: string;
  readonly takePlace?: LifecycleRunnerOptions["takePlace"];
  readonly before?: (world: KillWorld) => void;
  /** Virtual seconds to wait for it; default 100. */
  readonly forSeconds?: number;
}

async function run(hook: Hook) {
  const world = await KillWorld.of(aPod({ containers: [aContainer("web")] }), hook);
  hook.before?.(world);
  const { clock, runtime: cri } = world;
  const requests: HttpRequest[] = [];
  const redact = (text: string): string => text.replaceAll(SECRET, "<hidden>");
  const httpGet = async (
    request: HttpRequest,
    call: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<HttpAnswer> => {
    requests.push(request);
    using limit = deadline(clock, call.timeoutMs, call.signal);
    return await (hook.edge?.(request, limit.signal) ?? answer(200));
  };
  const places = { takePlace: hook.takePlace ?? takePlace };
  const runner = new LifecycleRunner({ cri, clock, redact, edge: { httpGet }, ...places });
  const target = {
    uid: UID,
    containerId: world.idOf("web"),
    podIP: hook.podIP ?? "10.88.0.1",
    ports: [{ name: "http", containerPort: 8080, protocol: "TCP" } as const],
  };
  let endedAt = -1;
  const result = outcome(runner.run(hook.handler, target, hook)).then((value) => {
    endedAt = clock.monotonic() / 1000;
    return value;
  });
  await clock.advance((hook.forSeconds ?? 100) * 1000);
  const pending = clock.pending;
  return {
    world,
    requests,
    endedAt,
    pending,
    result: await Promise.race([result, Promise.resolve("waiting")]),
  };
}

function answer(status: number, location = ""): Promise<HttpAnswer> {
  return Promise.resolve({ status, location, body: "" });
}

function refused(message: string, cause?: unknown): Promise<HttpAnswer> {
  return Promise.reject(new AgentError({ reason: "ConnectionFailed", message, cause }));
}

const exec = { type: "exec", command: ["sh", "-c", "bye"] } as const;
const get = (more: Partial<HttpGetHandler> = {}): HttpGetHandler => ({
  type: "httpGet",
  path: "/bye",
  port: "http",
  scheme: "HTTP",
  httpHeaders: [],
  ...more,
});

describe("an exec hook", () => {
  test("runs the command in the container and ends with it", async () => {
    const { world, result, endedAt } = await run({
      handler: exec,
      latencyMs: { execSync: 4000 },
      timeoutMs: 9500,
    });
    expect([result, endedAt]).toEqual(["done", 4]);
    const [call] = world.runtime.calls.filter((one) => one.call === "execSync");
    // The runtime would end it too, at the next whole second.
    expect(call?.args).toEqual([
      world.idOf("web"),
      { cmd: ["sh", "-c", "bye"], timeoutSeconds: 10 },
    ]);
  });

  test("that ends badly says with what and why, and no more than 1 KiB of it", async () => {
    const { result } = await run({
      handler: exec,
      exec: () => ({ exitCode: 3, stdout: "o".repeat(2000), stderr: "no such file" }),
    });
    expect(result).toMatchObject({
      reason: "LifecycleHookFailed",
      message: `exec [sh -c bye] hook failed: exit code 3: ${"o".repeat(1012)}no such file`,
    });
  });

  test("that prints a Secret shows it nowhere, nor the rest of one that is cut", async () => {
    const { result } = await run({
      handler: exec,
      exec: () => ({ exitCode: 1, stdout: SECRET, stderr: `${SECRET}${"o".repeat(1020)}` }),
    });
    expect(result).toMatchObject({
      message: `exec [sh -c bye] hook failed: exit code 1: den>${"o".repeat(1020)}`,
    });
  });

  test("that prints too much fails with what to do", async () => {
    const { result } = await run({
      handler: exec,
      before: ({ runtime }) => runtime.faults.order("execSync", TOO_LARGE),
    });
    expect(result).toMatchObject({
      reason: "LifecycleHookFailed",
      message:
        "exec [sh -c bye] hook failed: the command wrote more than 1 MiB of output; make it write less",
    });
  });

  test("that hangs is cut off at its time", async () => {
    const hangs = (world: KillWorld): void =>
      world.runtime.faults.order("execSync", { type: "hang" });
    const { result, endedAt, pending } = await run({
      handler: exec,
      timeoutMs: 5000,
      before: hangs,
    });
    expect(endedAt).toBe(5);
    expect(result).toMatchObject({
      reason: "Timeout",
      message: "exec [sh -c bye] hook did not end within 5 s",
    });
    expect(pending).toBe(0);
  });

  test("waits for its place, and gives it back however it ends", async () => {
    const places = new FairPlaces({ places: 1, perOwner: 1 });
    const first = await places.take("other", new AbortController().signal);
    const takePlace: Hook["takePlace"] = (uid, signal) => places.take(uid, signal);
    const waiting = await run({ handler: exec, takePlace, timeoutMs: 5000 });
    expect(waiting.result).toMatchObject({ reason: "Timeout" });
    expect(waiting.world.runtime.calls.filter(({ call }) => call === "execSync")).toEqual([]);
    first?.[Symbol.dispose]();
    const fails = await run({ handler: exec, takePlace, exec: () => ({ exitCode: 1 }) });
    expect(fails.result).toMatchObject({ reason: "LifecycleHookFailed" });
    expect((await run({ handler: exec, takePlace })).result).toBe("done");
  });

  test("ends with the signal, also before it began", async () => {
    const gone = await run({ handler: exec, signal: AbortSignal.abort() });
    expect(gone.result).toMatchObject({ reason: "Aborted" });
  });
});

describe("an httpGet hook", () => {
  test.each([200, 404, 500])("takes any answer: %d", async (status) => {
    const { result, requests } = await run({ handler: get(), edge: () => answer(status) });
    expect(result).toBe("done");
    expect(requests).toMatchObject([
      { scheme: "HTTP", host: "10.88.0.1", port: 8080, path: "/bye" },
    ]);
  });

  test("takes an answer whose body breaks off", async () => {
    const broken = new AgentError({ reason: "BodyFailed", message: "connection reset" });
    expect((await run({ handler: get(), edge: () => Promise.reject(broken) })).result).toBe("done");
  });

  test("fails when nobody answers", async () => {
    const { result } = await run({ handler: get(), edge: () => refused("connection refused") });
    expect(result).toMatchObject({
      reason: "LifecycleHookFailed",
      message: "httpGet HTTP :http/bye hook failed: connection refused",
    });
  });

  test("follows redirects on the same host, and no more than ten", async () => {
    const once = await run({
      handler: get(),
      edge: ({ path }) => (path === "/bye" ? answer(302, "/done") : answer(200)),
    });
    expect([once.result, once.requests.map(({ path }) => path)]).toEqual([
      "done",
      ["/bye", "/done"],
    ]);
    const round = await run({ handler: get(), edge: () => answer(302, "/bye") });
    expect([String(round.result), round.requests.length]).toEqual([
      "AgentError: httpGet HTTP :http/bye hook failed: stopped after 10 redirects",
      10,
    ]);
  });

  const tls = new Error("SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER");
  const plain: Edge = ({ scheme }) =>
    scheme === "HTTPS" ? refused("TLS handshake failed", tls) : answer(200);

  test("by HTTPS to a server that speaks plain text is asked again in plain text, without the password", async () => {
    const httpHeaders = [{ name: "Authorization", value: "secret" }];
    const { result, requests } = await run({
      handler: get({ scheme: "HTTPS", httpHeaders }),
      edge: plain,
    });
    expect(result).toBe("done");
    expect(requests.map(({ scheme }) => scheme)).toEqual(["HTTPS", "HTTP"]);
    const headers = requests.map((one) => one.headers.map(({ name }) => name));
    expect(headers).toEqual([
      ["User-Agent", "Accept", "Authorization"],
      ["User-Agent", "Accept"],
    ]);
  });

  test("by HTTPS to a server that is not there is not", async () => {
    const { result, requests } = await run({
      handler: get({ scheme: "HTTPS" }),
      edge: () => refused("connection refused"),
    });
    expect(requests.length).toBe(1);
    expect(String(result)).toContain("connection refused");
  });

  test("that hangs is cut off at its time, however many questions it took", async () => {
    const { result, endedAt, pending } = await run({
      handler: get(),
      timeoutMs: 5000,
      edge: ({ path }, signal) =>
        path === "/bye"
          ? answer(302, "/slow")
          : new Promise((_, reject) =>
              signal.addEventListener("abort", () => reject(new Error("gone"))),
            ),
    });
    expect([endedAt, pending]).toEqual([5, 0]);
    expect(result).toMatchObject({ reason: "Timeout" });
  });

  test("without an address is an error", async () => {
    const { result, requests } = await run({ handler: get(), podIP: "" });
    expect([requests.length, String(result)]).toEqual([
      0,
      "AgentError: httpGet HTTP :http/bye hook failed: the pod has no address yet",
    ]);
  });
});

describe("a sleep hook", () => {
  test("sleeps", async () => {
    const { result, endedAt } = await run({ handler: { type: "sleep", seconds: 7 } });
    expect([result, endedAt]).toEqual(["done", 7]);
  });

  test("of no time is over at once", async () => {
    const { result, endedAt } = await run({ handler: { type: "sleep", seconds: 0 } });
    expect([result, endedAt]).toEqual(["done", 0]);
  });

  test("is woken by the end of its time", async () => {
    const { result, endedAt, pending } = await run({
      handler: { type: "sleep", seconds: 70 },
      timeoutMs: 5000,
    });
    expect([endedAt, pending]).toEqual([5, 0]);
    expect(result).toMatchObject({
      reason: "Timeout",
      message: "sleep 70 s hook did not end within 5 s",
    });
  });
});
