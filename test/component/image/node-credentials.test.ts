import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { ProgramCall, ProgramEnd } from "../../../src/host/run-program.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { parseImageReference } from "../../../src/image/image-reference.ts";
import { NodeCredentials } from "../../../src/image/node-credentials.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

let directory = "";
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), "credentials-"))));
afterEach(() => rmSync(directory, { recursive: true }));

const ANN = { username: "ann", password: "ann-secret" };
const IMAGE = "1234.dkr.ecr.eu-west-1.amazonaws.com/team/app:1";
const PLUGIN = {
  name: "ecr",
  matchImages: ["*.dkr.ecr.*.amazonaws.com"],
  defaultCacheDuration: "10m",
  apiVersion: "credentialprovider.kubelet.k8s.io/v1",
  args: ["get-credentials"],
  env: [{ name: "AWS_PROFILE", value: "fleet" }],
};

function answer(more: object = {}): ProgramEnd {
  const stdout = JSON.stringify({
    kind: "CredentialProviderResponse",
    apiVersion: "credentialprovider.kubelet.k8s.io/v1",
    cacheKeyType: "Registry",
    auth: { "*.dkr.ecr.*.amazonaws.com": ANN },
    ...more,
  });
  return { exitCode: 0, stdout };
}

class Node {
  readonly clock = new VirtualClock();
  readonly lines: string[] = [];
  readonly runs: ProgramCall[] = [];
  /** What the next program does. */
  program: (call: ProgramCall) => ProgramEnd = () => ({ exitCode: 0, stdout: "{}" });
  readonly credentials = new NodeCredentials({
    clock: this.clock,
    files: realFiles(),
    log: createLogger({
      clock: this.clock,
      level: "debug",
      write: (line) => this.lines.push(line),
    }),
    runProgram: (call) => {
      this.runs.push(call);
      return Promise.try(() => this.program(call));
    },
    config: {
      registryAuthFile: join(directory, "auth.json"),
      imageCredentialProviderConfigFile: join(directory, "providers.json"),
      imageCredentialProviderBinDir: directory,
    },
  });

  auth(config: object | string): void {
    const text = typeof config === "string" ? config : JSON.stringify(config);
    writeFileSync(join(directory, "auth.json"), text);
  }

  plugins(providers: readonly object[]): void {
    const config = {
      apiVersion: "kubelet.config.k8s.io/v1",
      kind: "CredentialProviderConfig",
      providers,
    };
    writeFileSync(join(directory, "providers.json"), JSON.stringify(config));
  }

  async of(image = IMAGE): Promise<readonly unknown[]> {
    const access = this.credentials.of(parseImageReference(image));
    return Array.fromAsync(access.list(new AbortController().signal));
  }
}

describe("registryAuthFile", () => {
  test("is read, and read again when it has changed", async () => {
    const node = new Node();
    expect(await node.of("r.test/app")).toEqual([]);
    node.auth({ auths: { "r.test": ANN } });
    expect(await node.of("r.test/app")).toEqual([ANN]);
    node.auth({ auths: { "r.test": { auth: btoa("bob:b"), identitytoken: "token" } } });
    expect(await node.of("r.test/app")).toEqual([{ identityToken: "token" }]);
    rmSync(join(directory, "auth.json"));
    expect(await node.of("r.test/app")).toEqual([]);
  });

  test("a faulty edit keeps what was good, and is reported once, without its content", async () => {
    const node = new Node();
    node.plugins([PLUGIN]);
    node.auth({ auths: { "r.test": ANN } });
    await node.of("r.test/app");
    node.auth('{"auths": {"r.test": {"password": "half-secret');
    expect(await node.of("r.test/app")).toEqual([ANN]);
    expect(await node.of("r.test/app")).toEqual([ANN]);
    expect(node.lines).toHaveLength(1);
    expect(node.lines[0]).toContain("is not a JSON object");
    expect(node.lines.join()).not.toContain("secret");
  });

  test("what nothing obeys is a warning, once, without a secret, and the rest counts", async () => {
    const node = new Node();
    node.auth({
      "insecure-registries": ["r.test"],
      auths: {
        "r.test": ANN,
        "broken.test": { auth: "no-base64-secret!" },
        "helped.test": {},
        "logged-out.test": { auth: "" },
      },
    });
    expect(await node.of("r.test/app")).toEqual([ANN]);
    await node.of("r.test/app");
    const warned = node.lines.filter((line) => line.includes("is not used"));
    expect(warned).toHaveLength(2);
    expect(warned[0]).toContain("insecure-registries does nothing here");
    expect(warned[0]).toContain("hosts.toml");
    expect(warned[1]).toContain("the entry of broken.test has no credentials");
    expect(node.lines.join()).not.toContain("secret");
  });

  test("other credentials are another key, those of other registries are not", () => {
    const node = new Node();
    const keyOf = (image: string) => node.credentials.of(parseImageReference(image)).key;
    expect(keyOf("r.test/app")).toBe("");
    node.auth({ auths: { "r.test": ANN } });
    const key = keyOf("r.test/app");
    node.auth({ auths: { "r.test": ANN, "other.test": ANN } });
    expect(keyOf("r.test/app")).toBe(key);
    node.auth({ auths: { "r.test": { ...ANN, password: "new" } } });
    expect(keyOf("r.test/app")).not.toBe(key);
  });
});

describe("a credential helper", () => {
  test("is asked about its registry, before what the file contains", async () => {
    const node = new Node();
    node.auth({ auths: { "r.test": ANN }, credHelpers: { "r.test": "pass" }, credsStore: "store" });
    node.program = () => ({ exitCode: 0, stdout: '{"Username":"bob","Secret":"b"}' });
    expect(await node.of("r.test/app")).toEqual([{ username: "bob", password: "b" }, ANN]);
    expect(node.runs).toMatchObject([
      { path: "docker-credential-pass", args: ["get"], stdin: "r.test" },
    ]);
  });

  test("of all other registries knows Docker's hub by its old name, and may have a token", async () => {
    const node = new Node();
    node.auth({ credHelpers: { "r.test": "pass" }, credsStore: "store" });
    node.program = () => ({ exitCode: 0, stdout: '{"Username":"<token>","Secret":"t"}' });
    expect(await node.of("busybox")).toEqual([{ identityToken: "t" }]);
    expect(node.runs).toMatchObject([
      { path: "docker-credential-store", stdin: "https://index.docker.io/v1/" },
    ]);
  });

  test("that knows nothing is no failure; one that fails is, without what it wrote", async () => {
    const node = new Node();
    node.auth({ credsStore: "store" });
    node.plugins([PLUGIN]);
    const stdout = "credentials not found in native keychain\n";
    node.program = () => ({ exitCode: 1, stdout });
    expect(await node.of("r.test/app")).toEqual([]);
    expect(node.lines).toEqual([]);
    node.program = () => ({ exitCode: 2, stdout: "my-secret" });
    expect(await node.of("r.test/app")).toEqual([]);
    expect(node.lines.join()).toContain("exit code 2");
    expect(node.lines.join()).not.toContain("my-secret");
  });

  test("with a path as its name is refused", async () => {
    const node = new Node();
    node.auth({ credsStore: "../../bin/sh" });
    expect(await node.of("r.test/app")).toEqual([]);
    expect(node.runs).toEqual([]);
    expect(node.lines.join()).toContain("no helper can have");
  });
});

describe("a plugin", () => {
  test("is asked with the kubelet's words, its arguments and its variables only", async () => {
    const node = new Node();
    node.plugins([PLUGIN]);
    node.program = () => answer();
    expect(await node.of()).toEqual([ANN]);
    const [call] = node.runs;
    expect(call).toMatchObject({ path: join(directory, "ecr"), args: ["get-credentials"] });
    expect(JSON.parse(call?.stdin ?? "")).toEqual({
      apiVersion: "credentialprovider.kubelet.k8s.io/v1",
      kind: "CredentialProviderRequest",
      image: "1234.dkr.ecr.eu-west-1.amazonaws.com/team/app",
    });
    expect(Object.keys(call?.env ?? {}).toSorted()).toEqual(["AWS_PROFILE", "HOME", "PATH"]);
  });

  test("is asked about its own registries only", async () => {
    const node = new Node();
    node.plugins([PLUGIN]);
    expect(await node.of("r.test/app")).toEqual([]);
    expect(node.runs).toEqual([]);
  });

  test.each([
    ["Registry", { cacheKeyType: "Registry" }, [1, 1, 2]],
    ["Image", { cacheKeyType: "Image" }, [1, 2, 3]],
    ["Global", { cacheKeyType: "Global" }, [1, 1, 1]],
    ["nothing", { cacheDuration: "0s" }, [1, 2, 3]],
  ])("its answer counts for: %s", async (_, more, expected) => {
    const node = new Node();
    node.plugins([PLUGIN]);
    node.program = () => answer(more);
    const counts: number[] = [];
    for (const image of [IMAGE, IMAGE.replace("app", "b"), IMAGE.replace("1234", "5678")]) {
      await node.of(image);
      counts.push(node.runs.length);
    }
    expect(counts).toEqual(expected);
  });

  test("its answer counts as long as it names, else by the configuration", async () => {
    const node = new Node();
    node.plugins([PLUGIN]);
    node.program = () => answer({ cacheDuration: "1m" });
    await node.of();
    await node.clock.advance(59_000);
    await node.of();
    expect(node.runs).toHaveLength(1);
    await node.clock.advance(1_000);
    node.program = () => answer();
    await node.of();
    await node.clock.advance(599_000);
    await node.of();
    expect(node.runs).toHaveLength(2);
    await node.clock.advance(1_000);
    await node.of();
    expect(node.runs).toHaveLength(3);
  });

  test("is asked again after the registry has refused its answer", async () => {
    const node = new Node();
    node.plugins([PLUGIN]);
    node.program = () => answer();
    await node.of();
    node.credentials.of(parseImageReference(IMAGE)).refused();
    await node.of();
    expect(node.runs).toHaveLength(2);
  });

  test.each<[string, (call: ProgramCall) => ProgramEnd, string]>([
    ["fails", () => ({ exitCode: 1, stdout: "its-secret" }), "exit code 1"],
    ["answers no JSON", () => ({ exitCode: 0, stdout: "its-secret" }), "not a JSON object"],
    ["speaks another protocol", () => answer({ apiVersion: "v2" }), "CredentialProviderResponse"],
    ["has an unknown cache key", () => answer({ cacheKeyType: "Pod" }), "cacheKeyType"],
    ["has no duration", () => answer({ cacheDuration: "soon" }), "cacheDuration"],
    [
      "does not end",
      () => {
        throw new AgentError({ reason: "NoAnswer", message: "no answer within 60 s" });
      },
      "no answer within 60 s",
    ],
  ])("that %s gives no credentials, and a line of the log", async (_, program, line) => {
    const node = new Node();
    node.plugins([PLUGIN]);
    node.program = program;
    expect(await node.of()).toEqual([]);
    expect(node.lines).toHaveLength(1);
    expect(node.lines[0]).toContain(line);
    expect(node.lines[0]).not.toContain("secret");
  });

  test.each<[string, object, string]>([
    ["with a slash in its name", { name: "../sh" }, "providers[0].name"],
    ["without registries", { matchImages: [] }, "providers[0].matchImages"],
    ["with a scheme in a pattern", { matchImages: ["https://r.test"] }, "matchImages[0]"],
    ["without a duration", { defaultCacheDuration: undefined }, "defaultCacheDuration"],
    ["of another protocol", { apiVersion: "v1" }, "apiVersion"],
    ["with an unknown field", { tokenAttributes: {} }, "tokenAttributes"],
  ])("%s is refused with its path", async (_, more, path) => {
    const node = new Node();
    node.plugins([{ ...PLUGIN, ...more }]);
    expect(await node.of()).toEqual([]);
    expect(node.lines).toHaveLength(1);
    expect(node.lines[0]).toContain(path);
  });

  test("whose configuration does not exist is reported", async () => {
    const node = new Node();
    await node.of();
    await node.of();
    expect(node.lines).toHaveLength(1);
    expect(node.lines[0]).toContain("there is no such file");
  });
});
