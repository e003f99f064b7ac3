import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decodeTrustBundle } from "../../../src/protocol/trust-bundle.ts";
import {
  keyIdOf,
  preAuthEncoding,
  readSignedEnvelope,
  type SignedEnvelope,
} from "../../../src/protocol/dsse.ts";
import { publicKeyOfPem, verifyEd25519 } from "../../../src/host/crypto/ed25519.ts";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import { containing, FleetStage, POD } from "./fleet-stage.ts";

let stage: FleetStage;
let keys: string;

beforeEach(async () => {
  stage = new FleetStage();
  keys = join(stage.directory, "keys");
  expect(
    (await stage.run(["keygen", "--dir", keys, "--node-globs", "pi-*", "--groups", "kiosks"])).code,
  ).toBe(0);
});

afterEach(() => stage[Symbol.dispose]());

function path(name: string): string {
  return join(keys, name);
}

function publicKey(name: string): Uint8Array {
  const key = publicKeyOfPem(readFileSync(path(`${name}.pub`), "utf8"));
  if (key === undefined) throw new Error(`${name}.pub holds no key`);
  return key;
}

function envelopeOf(text: string): SignedEnvelope {
  const read = readSignedEnvelope(JSON.parse(text));
  if (!read.ok) throw new Error(JSON.stringify(read.errors));
  return read.value;
}

/** Names of the keys whose signature counts. */
function signers(
  envelope: SignedEnvelope,
  names: readonly string[] = ["root", "signing"],
): readonly string[] {
  const message = preAuthEncoding(envelope.payloadType, envelope.payload);
  return names.filter((name) =>
    envelope.signatures.some(
      ({ keyid, sig }) =>
        keyid === keyIdOf(publicKey(name), sha256) && verifyEd25519(publicKey(name), message, sig),
    ),
  );
}

describe("keygen", () => {
  test("keeps private keys private and signs the first bundle with the root", () => {
    for (const name of ["root.pem", "signing.pem"])
      expect(statSync(path(name)).mode & 0o777).toBe(0o600);
    const envelope = envelopeOf(readFileSync(path("trust.json"), "utf8"));
    expect(signers(envelope)).toEqual(["root"]);
    expect(decodeTrustBundle(envelope.payload)).toMatchObject({
      ok: true,
      value: {
        version: 1,
        root: [publicKey("root")],
        keys: [
          {
            pub: publicKey("signing"),
            roles: ["desired", "rollout", "command"],
            nodes: ["pi-*"],
            groups: ["kiosks"],
          },
        ],
      },
    });
  });

  test("never overwrites a key", async () => {
    const before = readFileSync(path("root.pem"), "utf8");
    const { code, stderr } = await stage.run(["keygen", "--dir", keys]);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: containing("keys are never overwritten"),
    });
    expect(readFileSync(path("root.pem"), "utf8")).toBe(before);
  });

  test("writes nothing where one of its files is in the way", async () => {
    const other = join(stage.directory, "other");
    mkdirSync(other);
    writeFileSync(join(other, "trust.json"), "mine");
    expect(await stage.run(["keygen", "--dir", other])).toMatchObject({ code: 1 });
    expect(readdirSync(other)).toEqual(["trust.json"]);
  });

  test("refuses a role that does not exist", async () => {
    const other = join(stage.directory, "other");
    expect(await stage.run(["keygen", "--dir", other, "--roles", "king"])).toMatchObject({
      code: 2,
    });
  });
});

test("sign wraps one document for somebody else to publish", async () => {
  const file = stage.file(
    "doc.yaml",
    "apiVersion: agent/v1\nkind: DesiredState\ntarget: {node: pi-1}\ngeneration: 3\nallowEmpty: true\nresources: []\n",
  );
  const output = join(stage.directory, "out.json");
  expect(
    await stage.run(["sign", "-f", file, "--key", path("signing.pem"), "-o", output]),
  ).toMatchObject({ code: 0 });
  const envelope = envelopeOf(readFileSync(output, "utf8"));
  expect(signers(envelope)).toEqual(["signing"]);
  expect(envelope.payloadType).toBe("application/vnd.agent.desired.v1+json");
  expect(JSON.parse(new TextDecoder().decode(envelope.payload))).toMatchObject({ generation: 3 });
});

test("nothing that is signed is written over a private key", async () => {
  const file = stage.file(
    "doc.yaml",
    "apiVersion: agent/v1\nkind: DesiredState\ntarget: {node: pi-1}\ngeneration: 3\nallowEmpty: true\nresources: []\n",
  );
  const before = readFileSync(path("root.pem"), "utf8");
  const { code, stderr } = await stage.run([
    "sign",
    "-f",
    file,
    "--key",
    path("signing.pem"),
    "-o",
    path("root.pem"),
  ]);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: containing("is never overwritten") });
  expect(readFileSync(path("root.pem"), "utf8")).toBe(before);
});

test.each([
  ["a public key", "signing.pub", "holds a public key"],
  ["no key at all", "trust.json", "holds no private key in PEM"],
])("nothing is signed with %s", async (_, name, sentence) => {
  const app = stage.file("app.yaml", POD);
  const { code, stderr } = await stage.fleet(`apply -f ${app} --node pi-1 --key ${path(name)}`);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: containing(sentence) });
});

test("apply signs the whole document, and warns when a successor is not signed", async () => {
  const app = stage.file("app.yaml", POD);
  const apply = `apply -f ${app} --node pi-1`;
  expect(await stage.fleet(`${apply} --key ${path("signing.pem")}`)).toMatchObject({
    code: 0,
    stderr: "",
  });
  const envelope = envelopeOf(stage.broker.retained("agent/v1/node/pi-1/desired") ?? "");
  expect(signers(envelope)).toEqual(["signing"]);
  const { stdout, stderr } = await stage.fleet(apply);
  expect(stdout).toStartWith("generation 2 of node pi-1");
  expect(stderr).toContain("nodes with keys will answer 401");
});

test("a command is signed with target and session inside", async () => {
  stage.state("pi-1", "online", 42);
  await stage.fleet(`restart pi-1 web --key ${path("signing.pem")} --timeout 2s`);
  const envelope = envelopeOf(stage.broker.texts("agent/v1/node/pi-1/command")[0] ?? "");
  expect(signers(envelope)).toEqual(["signing"]);
  expect(envelope.payloadType).toBe("application/vnd.agent.command.v1+json");
  expect(JSON.parse(new TextDecoder().decode(envelope.payload))).toMatchObject({
    target: { node: "pi-1" },
    session: 42,
  });
});

describe("trust publish", () => {
  test("lays the signed bundle on the broker as it is, once", async () => {
    const publish = `trust publish -f ${path("trust.json")}`;
    expect(await stage.fleet(publish)).toMatchObject({
      code: 0,
      stdout: "TrustBundle version 1 (1 root, 1 signing keys) is published\n",
    });
    expect(stage.broker.retained("agent/v1/trust")).toBe(readFileSync(path("trust.json"), "utf8"));
    expect(await stage.fleet(publish)).toMatchObject({
      code: 1,
      stderr: containing("version 1 is not newer than version 1 on the broker"),
    });
  });

  test("signs a bundle in YAML, its keys named by files, as the next version", async () => {
    await stage.fleet(`trust publish -f ${path("trust.json")}`);
    const bundle = stage.file(
      "keys/bundle.yaml",
      "root: [root.pub]\nkeys:\n  - {pub: signing.pub, roles: [desired]}\n",
    );
    expect(await stage.fleet(`trust publish -f ${bundle} --key ${path("root.pem")}`)).toMatchObject(
      { code: 0 },
    );
    const envelope = envelopeOf(stage.broker.retained("agent/v1/trust") ?? "");
    expect(signers(envelope)).toEqual(["root"]);
    expect(decodeTrustBundle(envelope.payload)).toMatchObject({
      ok: true,
      value: { version: 2, root: [publicKey("root")], keys: [{ roles: ["desired"] }] },
    });
  });

  const BUNDLE = "root: [root.pub]\nkeys:\n  - {pub: signing.pub, roles: [desired]}\n";

  test("takes what was signed where the root key is, with the version that was named", async () => {
    await stage.fleet(`trust publish -f ${path("trust.json")}`);
    const bundle = stage.file("keys/bundle.yaml", BUNDLE);
    const signed = join(stage.directory, "signed.json");
    const sign = `trust sign -f ${bundle} --bundle-version 2 --key ${path("root.pem")} -o ${signed}`;
    expect(await stage.run(sign.split(" "))).toMatchObject({ code: 0 });
    expect(await stage.fleet(`trust publish -f ${signed}`)).toMatchObject({
      code: 0,
      stdout: containing("version 2 "),
    });
    expect(stage.broker.retained("agent/v1/trust")).toBe(readFileSync(signed, "utf8"));
  });

  test("does not let the root sign a version that nobody vouches for", async () => {
    const bundle = stage.file("keys/bundle.yaml", BUNDLE);
    const forged = { version: 2 ** 40 - 1, root: [publicKey("root").toBase64()], keys: [] };
    const payload = new TextEncoder().encode(JSON.stringify(forged));
    const signatures = [
      { keyid: keyIdOf(publicKey("root"), sha256), sig: new Uint8Array(64).toBase64() },
    ];
    stage.broker.publish("agent/v1/trust", {
      payloadType: "application/vnd.agent.trust.v1+json",
      payload: payload.toBase64(),
      signatures,
    });
    const publish = `trust publish -f ${bundle} --key ${path("root.pem")}`;
    expect(await stage.fleet(publish)).toMatchObject({
      code: 1,
      stderr: containing("name the version with --bundle-version"),
    });
    expect(await stage.fleet(`${publish} --bundle-version 7`)).toMatchObject({ code: 0 });
    const envelope = envelopeOf(stage.broker.retained("agent/v1/trust") ?? "");
    expect(decodeTrustBundle(envelope.payload)).toMatchObject({ value: { version: 7 } });
  });

  test("says that the first version may be too low", async () => {
    const bundle = stage.file("keys/bundle.yaml", BUNDLE);
    expect(await stage.fleet(`trust publish -f ${bundle} --key ${path("root.pem")}`)).toMatchObject(
      { code: 0, stderr: containing("warning: the broker holds no TrustBundle") },
    );
  });

  test("signs no version after which there are hardly any", async () => {
    const bundle = stage.file("keys/bundle.yaml", `version: ${2 ** 40 + 1}\n${BUNDLE}`);
    const flags = `-f ${bundle} --key ${path("root.pem")}`;
    for (const verb of ["sign", "publish"])
      expect(await stage.fleet(`trust ${verb} ${flags}`)).toMatchObject({
        code: 2,
        stderr: containing("is too high"),
      });
  });

  test("compares what the broker holds byte for byte", async () => {
    stage.broker.faults.latency = 50;
    const { code, stderr } = await stage.fleet(`trust publish -f ${path("trust.json")}`, {
      2800: () =>
        stage.broker.publish("agent/v1/trust", `${readFileSync(path("trust.json"), "utf8")} `),
    });
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: containing("another operator published at the same time"),
    });
  });

  test.each([
    [
      "an unsigned one without a key",
      "root: [root.pub]\nkeys: []\n",
      "",
      "name the root key with --key",
    ],
    [
      "a misspelt restriction",
      "root: [root.pub]\nkeys: [{pub: signing.pub, roles: [desired], node: [a]}]\n",
      "root.pem",
      "unknown field",
    ],
    ["a key that is nowhere", "root: [gone.pub]\nkeys: []\n", "root.pem", "root[0]"],
  ])("refuses %s", async (_, content, key, sentence) => {
    const bundle = stage.file("keys/bundle.yaml", content);
    const flag = key === "" ? "" : ` --key ${path(key)}`;
    const { code, stderr } = await stage.fleet(`trust publish -f ${bundle}${flag}`);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: containing(sentence) });
    expect(stage.broker.retained("agent/v1/trust")).toBeUndefined();
  });
});
