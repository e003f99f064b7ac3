// A first start takes over what a card brings, once, on real directories: each file alone, secrets away from the card, and
// never half of it, wherever the power is cut.

import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { AgentError } from "../../../src/lib/errors.ts";
import { eraseFile } from "../../../src/host/tree/erase-file.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { noticesOf, type ProvisionReport } from "../../../src/provision/report.ts";
import { cutFiles, PowerCut } from "../../fakes/cut-files.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";
import { CardStage, makeKeys, POD, type Keys, type Tree } from "./card-stage.ts";

const directory = temporaryDirectories();
let keys: Keys;
let stage: CardStage;

beforeAll(() => {
  keys = makeKeys(directory());
});
beforeEach(() => {
  stage = new CardStage(directory());
});

function whole(): Tree {
  return {
    "agent.yaml": stage.configText("nodeName: pi\n"),
    "mqtt-password": "secret word\n",
    "registry-auth.json": `{"auths":{}}`,
    "tls/ca.crt": keys.ca,
    "tls/client.crt": keys.cert,
    "tls/client.key": keys.key,
    "trust.d/root.pub": keys.rootKey,
    "manifests/web.yaml": POD("web"),
    "images/app.tar": "an archive",
  };
}

const onNode = (tree: Tree): Tree =>
  Object.fromEntries(Object.entries(tree).filter(([name]) => !name.startsWith("images/")));

const SECRETS = ["mqtt-password", "registry-auth.json", "tls/client.key"];

const without = (tree: Tree, names: readonly string[]): Tree =>
  Object.fromEntries(Object.entries(tree).filter(([name]) => !names.includes(name)));

const names = (list: readonly { readonly name: string }[] = []): readonly string[] =>
  list.map(({ name }) => name).toSorted();

const messages = (report: ProvisionReport | undefined): string =>
  report === undefined
    ? ""
    : noticesOf(report)
        .map(({ message, remedy }) => `${message}; ${remedy}`)
        .join("\n");

describe("the first start", () => {
  test("takes everything over, and secrets go from the card", () => {
    stage.insert(whole());
    const report = stage.start();
    expect(stage.onNode()).toEqual(onNode(whole()));
    expect(stage.onCard()).toEqual(without(whole(), SECRETS));
    expect(report?.archives).toEqual([join(stage.card, "images/app.tar")]);
    expect(report).toMatchObject({ refused: [], ignored: [], unknown: [], left: [] });
    expect(report?.failure).toBeUndefined();
    const modes = ["tls/client.key", "mqtt-password", "registry-auth.json", "tls/client.crt"];
    expect(modes.map((path) => stage.mode(path))).toEqual(["600", "600", "600", "644"]);
    expect(stage.state().toSorted()).toEqual(["provisioned.json"]);
  });

  test("costs nothing where there is no card", () => {
    const report = stage.start({ directories: [join(stage.root, "nowhere")] });
    expect(report).toBeUndefined();
    expect(stage.state()).toEqual([]);
  });

  test("replaces the configuration of the image, and keeps it beside", () => {
    writeFileSync(stage.configFile, "# of the image\n");
    stage.insert(whole());
    stage.start();
    expect(stage.onNode()).toEqual({
      ...onNode(whole()),
      "agent.yaml.before-provisioning": "# of the image\n",
    });
  });

  test("uses the places that the card's own configuration names", () => {
    const text = stage
      .configText()
      .replace(stage.config.staticPodPath, join(stage.node, "elsewhere"));
    stage.insert({ "agent.yaml": text, "manifests/web.yaml": POD("web") });
    stage.start();
    expect(Object.keys(stage.onNode())).toEqual(["agent.yaml", "elsewhere/web.yaml"]);
  });

  test("looks only, if asked", () => {
    stage.insert(whole());
    const report = stage.start({ isDry: true });
    expect(names(report?.taken)).toEqual(Object.keys(onNode(whole())).toSorted());
    expect(stage.onNode()).toEqual({});
    expect(stage.onCard()).toEqual(whole());
    expect(stage.state()).toEqual([]);
  });

  test("removes a manifest with a Secret from the card, as it does a key", () => {
    const secret = JSON.stringify({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s" },
      stringData: { word: "hidden" },
    });
    stage.insert({ "manifests/secret.yaml": secret, "manifests/web.yaml": POD("web") });
    stage.start();
    expect(Object.keys(stage.onCard())).toEqual(["manifests/web.yaml"]);
    expect(stage.mode("manifests/secret.yaml")).toBe("600");
    expect(stage.mode("manifests/web.yaml")).toBe("644");
  });

  test("leaves alone what desktops leave on a card", () => {
    stage.insert({
      "manifests/web.yaml": POD("web"),
      "manifests/._web.yaml": "x",
      "README.txt": "x",
      ".Trashes/x": "x",
    });
    expect(stage.start()).toMatchObject({ unknown: [], refused: [] });
  });
});

describe("a broken file keeps only itself from being taken over", () => {
  const cases: Readonly<
    Record<string, readonly [change: () => Tree, out: readonly string[], why: RegExp]>
  > = {
    "a configuration with an unknown field": [
      () => ({ "agent.yaml": `${stage.configText()}mqtt:\n  urll: mqtt://b\n` }),
      ["agent.yaml"],
      /agent\.yaml line \d+: mqtt\.urll: unknown field \(did you mean url\?\)/,
    ],
    "a configuration that is no YAML": [
      () => ({ "agent.yaml": "a: [" }),
      ["agent.yaml"],
      /agent\.yaml line 1: .*agent config print/,
    ],
    "a manifest": [
      () => ({ "manifests/web.yaml": POD("web").replace(`"image"`, `"imag"`) }),
      ["manifests/web.yaml"],
      /web\.yaml line 1: spec\.containers\[0\]\.imag: .*agent validate/,
    ],
    "a key of another certificate": [
      () => ({ "tls/client.key": keys.otherKey }),
      ["tls/client.crt", "tls/client.key"],
      /client\.key is not the key of tls\/client\.crt; put the certificate and the key/,
    ],
    "a certificate that is none": [
      () => ({ "tls/client.crt": "no PEM" }),
      ["tls/client.crt", "tls/client.key"],
      /client\.crt holds no certificate in PEM; [^]*client\.key belongs to tls\/client\.crt/,
    ],
    "a key with a pass phrase": [
      () => ({ "tls/client.key": "-----BEGIN ENCRYPTED PRIVATE KEY-----" }),
      ["tls/client.crt", "tls/client.key"],
      /client\.key holds a key with a pass phrase/,
    ],
    "a private key as root key": [
      () => ({ "trust.d/root.pub": keys.key }),
      ["trust.d/root.pub"],
      /root\.pub contains a private key, which must not be stored on a node; remove it/,
    ],
    "an empty password": [
      () => ({ "mqtt-password": "\n" }),
      ["mqtt-password"],
      /mqtt-password is empty; write the password/,
    ],
    "credentials that are no JSON": [
      () => ({ "registry-auth.json": "auths" }),
      ["registry-auth.json"],
      /registry-auth\.json is no JSON object/,
    ],
  };
  test.each(Object.entries(cases))("%s", (_, [change, out, why]) => {
    stage.insert({ ...whole(), ...change() });
    const report = stage.start();
    expect(names(report?.refused)).toEqual([...out]);
    expect(messages(report)).toMatch(why);
    expect(stage.onNode()).toEqual(without(onNode(whole()), out));
    // A secret that the node has not got stays on the card.
    for (const name of out) expect(Object.keys(stage.onCard())).toContain(name);

    // Corrected on the card, it is taken at the next start.
    stage.insert(
      without(
        whole(),
        SECRETS.filter((name) => !out.includes(name)),
      ),
    );
    expect(names(stage.start()?.taken)).toEqual([...out]);
    expect(stage.onNode()).toEqual(onNode(whole()));
  });

  test("a name that means nothing is told", () => {
    stage.insert({ "agent.yml": "x", "tls/key.txt": "x", "keys/a": "x", "images/app.zip": "x" });
    const report = stage.start();
    expect(report?.unknown).toEqual(["agent.yml", "images/app.zip", "keys/", "tls/key.txt"]);
    expect(messages(report)).toMatch(/agent\.yml is ignored: .*agent\.yaml, mqtt-password/);
  });
});

describe("later starts", () => {
  test("take nothing a second time, and tell what differs", () => {
    stage.insert(whole());
    stage.start();
    writeFileSync(join(stage.node, "manifests/web.yaml"), POD("edited"));
    stage.insert({
      ...whole(),
      "manifests/web.yaml": POD("other"),
      "images/app.tar": "longer archive",
    });
    const report = stage.start();
    expect(report?.taken).toEqual([]);
    expect(names(report?.ignored)).toEqual(["images/app.tar", "manifests/web.yaml"]);
    expect(report?.archives).toEqual([]);
    expect(messages(report)).toMatch(/web\.yaml is ignored: it differs .*agent provision --again/);
    expect(stage.onNode()["manifests/web.yaml"]).toBe(POD("edited"));
    // Secrets that were put there once more do not stay either.
    expect(Object.keys(stage.onCard())).not.toContain("tls/client.key");

    expect(names(stage.start({ again: true })?.taken)).toContain("manifests/web.yaml");
    expect(stage.onNode()["manifests/web.yaml"]).toBe(POD("other"));
    expect(stage.start()?.ignored).toEqual([]);
  });

  test("what a person has removed on the node stays removed", () => {
    stage.insert({ "manifests/web.yaml": POD("web") });
    stage.start();
    realFiles().remove(join(stage.node, "manifests/web.yaml"));
    expect(stage.start()).toMatchObject({ taken: [], ignored: [] });
    expect(stage.onNode()).toEqual({});
  });

  test("take a file that came later, unless the node has another one there", () => {
    stage.insert({ "manifests/web.yaml": POD("web") });
    stage.start();
    writeFileSync(join(stage.node, "manifests/own.yaml"), POD("own"));
    stage.insert({
      "manifests/web.yaml": POD("web"),
      "manifests/new.yaml": POD("new"),
      "manifests/own.yaml": POD("card"),
    });
    const report = stage.start();
    expect(names(report?.taken)).toEqual(["manifests/new.yaml"]);
    expect(messages(report)).toMatch(/own\.yaml is ignored: it came after the first start/);
    expect(stage.onNode()["manifests/own.yaml"]).toBe(POD("own"));
  });

  test("a damaged mark stops them", () => {
    stage.insert({ "manifests/web.yaml": POD("web") });
    stage.start();
    writeFileSync(join(stage.node, "state/provisioned.json"), "{");
    stage.insert({ "manifests/web.yaml": POD("other") });
    expect(stage.start()?.failure).toMatch(/provisioned\.json is damaged.*agent provision --again/);
    expect(stage.onNode()["manifests/web.yaml"]).toBe(POD("web"));
  });
});

describe("a card that cannot be written", () => {
  const message = "cannot erase: read-only file system";
  const erase = (): never => {
    throw new AgentError({ reason: "FileError", message });
  };

  test("keeps its secrets, is told so, and is tried again at each start", () => {
    stage.insert(whole());
    const first = stage.start({ erase });
    expect(stage.onNode()).toEqual(onNode(whole()));
    expect(names(first?.left)).toEqual(SECRETS);
    expect(messages(first)).toMatch(
      /client\.key holds a secret and stays .*read-only file system; make the file/,
    );
    expect(names(stage.start({ erase })?.left)).toEqual(SECRETS);
    expect(stage.start()?.left).toEqual([]);
    expect(stage.onCard()).toEqual(without(whole(), SECRETS));
  });
});

describe("a power cut at any change", () => {
  /** Cuts at each change in turn; `then` judges what the next start makes of it. */
  function atEachCut(then: (isStaged: boolean) => void): number {
    for (let after = 0; ; after += 1) {
      stage.reset();
      stage.insert(whole());
      const cut = cutFiles(realFiles(), after);
      const erase = (path: string): void => cut.change(() => eraseFile(path));
      const report = provisionUntilCut({ files: cut.files, erase });
      if (report !== undefined && report.failure === undefined && cut.changes() <= after)
        return after;
      then(stage.state().includes("provisioned.json") || isStaged());
    }
  }

  const isStaged = (): boolean =>
    realFiles().info(join(stage.node, "state/provisioning/plan.json")) !== undefined;

  function provisionUntilCut(
    parts: Parameters<CardStage["start"]>[0],
  ): ProvisionReport | undefined {
    try {
      return stage.start(parts);
    } catch (error) {
      if (!(error instanceof PowerCut)) throw error;
      return undefined;
    }
  }

  test("the same card: all of it is there, and no secret on the card", () => {
    const cuts = atEachCut(() => {
      stage.start();
      expect(stage.onNode()).toEqual(onNode(whole()));
      expect(stage.onCard()).toEqual(without(whole(), SECRETS));
      expect(stage.state()).toEqual(["provisioned.json"]);
    });
    expect(cuts).toBeGreaterThan(20);
  }, 60_000);

  test("no card any more: all of it or nothing", () => {
    let finished = 0;
    atEachCut((isOnNode) => {
      const before = stage.onNode();
      stage.start({ directories: [] });
      expect(stage.onNode()).toEqual(isOnNode ? onNode(whole()) : {});
      if (!isOnNode) expect(before).toEqual({});
      if (isOnNode) finished += 1;
    });
    expect(finished).toBeGreaterThan(10);
  }, 60_000);

  test("another card: never a mix of the two", () => {
    const other = (): Tree => ({
      "agent.yaml": stage.configText(),
      "manifests/other.yaml": POD("other"),
    });
    atEachCut((isOnNode) => {
      stage.insert(other());
      stage.start();
      const now = stage.onNode();
      if (!isOnNode) expect(now).toEqual(other());
      // What is new on the other card is taken by the rule of later starts.
      else expect(without(now, ["manifests/other.yaml"])).toEqual(onNode(whole()));
    });
  }, 60_000);
});
