// Trust on a real store, with real keys: what a node obeys over its whole life, restarts and full disks included.

import { Trust } from "../../../src/trust/trust.ts";
import { afterEach, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { DocumentState } from "../../../src/protocol/desired-document.ts";
import type { SourceSnapshot } from "../../../src/api/pod/desired-pod.ts";
import { verifyEd25519 } from "../../../src/host/crypto/ed25519.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { MqttSource } from "../../../src/source/document/mqtt-source.ts";
import type { Store } from "../../../src/store/store.ts";
import { aBundle, aSigner, anEnvelope, signed, type Signer } from "../../fakes/a-signer.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { sha256 } from "../../unit/api/digest.ts";
import { POD_RULES, aWrittenPod, bytes, written } from "../../unit/source/desired-arrival.ts";
import { openStore } from "../store/open-store.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";
import type { RootKeys } from "../../../src/protocol/trust-bundle.ts";

type TrustStore = Pick<Store["trust"], "read" | "write">;

const newDirectory = temporaryDirectories();
const DESIRED = "agent/v1/node/pi-1/desired";
const TRUST = "agent/v1/trust";
const root = aSigner();
const fresh = aSigner();
const deploy = aSigner();

const open: Disposable[] = [];
function closeAll(): void {
  for (const one of open.splice(0).toReversed()) one[Symbol.dispose]();
}
afterEach(closeAll);

interface NodeOptions {
  readonly requireSignature?: boolean;
  readonly trustStore?: (store: Store) => TrustStore;
}

/** One life of an agent on a state directory; it ends the one before. `trustd` is what lies in trust.d. */
class Node {
  readonly clock = new VirtualClock();
  readonly log: string[] = [];
  readonly snapshots: SourceSnapshot[] = [];
  readonly trust: Trust;
  readonly source: MqttSource;
  trustd: RootKeys;
  conditionsTold = 0;
  /** What signatures say of the time. */
  readonly issued: number[] = [];

  constructor(stateDir: string, keys: readonly Signer[], options: NodeOptions = {}) {
    closeAll();
    const store = openStore(stateDir);
    const { clock } = this;
    const log = createLogger({ clock, level: "debug", write: (line) => this.log.push(line) });
    this.trustd = found(...keys);
    this.trust = new Trust({
      store: options.trustStore?.(store) ?? store.trust,
      rootKeys: () => this.trustd,
      verify: verifyEd25519,
      sha256,
      clock,
      log,
      node: "pi-1",
      trustPath: "/trust.d",
      requireSignature: options.requireSignature ?? false,
      onConditions: () => {
        this.conditionsTold += 1;
      },
    });
    this.trust.onKeysChanged(() => this.source.judgeAgain());
    this.source = new MqttSource({
      documents: store.documents,
      meta: store.meta,
      clock,
      log,
      sha256,
      node: "pi-1",
      topicRoot: "agent/v1",
      facts: { agentVersion: "1.0.0", arch: "arm64", features: new Set() },
      trust: this.trust,
      podRules: POD_RULES,
      onIssued: (at) => this.issued.push(at),
      hasFailed: () => false,
      clockTrusted: () => true,
      emit: (snapshot) => this.snapshots.push(snapshot),
      onState: () => undefined,
    });
    open.push(store, this.source, this.trust);
    this.trust.look();
    this.source.start();
  }

  desired(message: string): void {
    this.source.receive(DESIRED, bytes(message));
  }

  bundle(message: string): void {
    this.source.receive(TRUST, bytes(message));
  }

  /** Names of the pods that the document asks for. */
  get pods(): readonly string[] {
    return this.snapshots.at(-1)?.pods.map(({ pod }) => pod.metadata.name) ?? [];
  }

  get state(): DocumentState | undefined {
    return this.source.states()[0];
  }

  get code(): number | undefined {
    return this.state?.lastRejected?.code;
  }

  said(text: string): number {
    return this.log.filter((line) => line.includes(text)).length;
  }
}

function found(...keys: readonly Signer[]): RootKeys {
  return { keys: keys.map(({ pub }) => pub), problems: [] };
}
function document(generation: number, more: object = {}): string {
  return written({ generation, resources: [aWrittenPod(`web-${generation}`)], ...more });
}
const from = (signer: Signer, generation: number, more: object = {}): string =>
  signed("desired", document(generation, more), signer);
function aTrustBundle(
  version: number,
  signers: readonly Signer[],
  { roots = [root], more = {} }: { roots?: readonly Signer[]; more?: object } = {},
): string {
  const keys = [{ pub: deploy.text, roles: ["desired", "command"] }];
  const text = aBundle({ version, root: roots.map((one) => one.text), keys, ...more });
  return signed("trust", text, ...signers);
}

describe("the first key that is ever seen", () => {
  test("makes signing required for good, though it is taken away again", () => {
    const directory = newDirectory();
    const before = new Node(directory, []);
    before.desired(document(1));
    expect([before.pods, before.trust.required()]).toEqual([["web-1"], false]);
    before.trustd = found(root);
    before.desired(document(2));
    expect([before.pods, before.code]).toEqual([["web-1"], 401]);
    const after = new Node(directory, []);
    after.desired(document(2));
    after.desired(from(root, 2));
    expect([after.pods, after.code]).toEqual([["web-1"], 401]);
    expect(after.state?.lastRejected?.message).toStartWith(
      "NoTrustedKey: no signature can be verified: there is no usable root key in /trust.d; put one there",
    );
    expect(after.trust.conditions()).toEqual([
      {
        type: "TrustUnavailable",
        status: "True",
        reason: "NoTrustedKey",
        message: expect.stringContaining("/trust.d") as string,
      },
    ]);
  });

  test("closes the node while it cannot be read, and for good only when it can", () => {
    const directory = newDirectory();
    const node = new Node(directory, []);
    node.trustd = { keys: [], problems: ["root.pub is no public key"] };
    node.desired(document(1));
    expect([node.pods, node.code, node.trust.required()]).toEqual([[], 401, true]);
    expect(node.trust.conditions()).toHaveLength(1);
    node.trustd = found();
    expect(node.trust.required()).toBe(false);
    node.desired(document(1));
    expect(node.pods).toEqual(["web-1"]);
    expect(new Node(directory, []).trust.required()).toBe(false);
  });

  test("counts although the disk is full, and is written down later", async () => {
    const directory = newDirectory();
    let isFull = true;
    const trustStore = (store: Store): TrustStore => ({
      read: () => store.trust.read(),
      write: (record) => {
        if (isFull) throw new Error("no space left");
        store.trust.write(record);
      },
    });
    const node = new Node(directory, [root], { trustStore });
    node.trustd = found();
    for (let times = 0; times < 20; times += 1) node.desired(document(1));
    expect([node.pods, node.code]).toEqual([[], 401]);
    expect(node.said("cannot store that documents must be signed")).toBe(1);
    isFull = false;
    await node.clock.advance(60_000);
    expect(new Node(directory, []).trust.required()).toBe(true);
  });

  test("is asked for by the configuration too, for good", () => {
    const directory = newDirectory();
    const node = new Node(directory, [], { requireSignature: true });
    node.desired(document(1));
    expect([node.pods, node.code]).toEqual([[], 401]);
    expect(new Node(directory, []).trust.required()).toBe(true);
  });

  test("a directory that cannot be read is told, and again that it can", async () => {
    const directory = newDirectory();
    const node = new Node(directory, [root]);
    node.desired(from(root, 1));
    node.trustd = { keys: [], problems: ["/trust.d: permission denied"] };
    node.desired(from(root, 2));
    node.desired(from(root, 2));
    expect([node.pods, node.code]).toEqual([["web-1"], 401]);
    expect(node.trust.conditions()[0]?.message).toContain("(/trust.d: permission denied)");
    expect([node.said("a root key cannot be used"), node.conditionsTold]).toEqual([1, 2]);
    node.trustd = found(root);
    await node.clock.advance(60_000);
    expect([node.pods, node.trust.conditions(), node.code]).toEqual([["web-2"], [], undefined]);
    expect(node.clock.pending).toBe(0);
  });

  test("is looked for again after a start without it, and nobody has to send anything twice", async () => {
    const directory = newDirectory();
    new Node(directory, [root]).desired(from(root, 1));
    const node = new Node(directory, []);
    node.desired(from(root, 2));
    expect([node.pods, node.code]).toEqual([["web-1"], 401]);
    node.trustd = found(root);
    await node.clock.advance(60_000);
    expect([node.pods, node.trust.conditions(), node.code]).toEqual([["web-2"], [], undefined]);
    expect(node.clock.pending).toBe(0);
  });
});

describe("a node that has lost what it knew of trust", () => {
  test("asks for signatures when its record is damaged, and obeys no plain document", () => {
    const directory = newDirectory();
    new Node(directory, [root]).desired(from(root, 1));
    closeAll();
    for (const name of ["agent.db", "agent.db-wal", "agent.db-shm"])
      rmSync(join(directory, name), { force: true });
    writeFileSync(join(directory, "trust.json"), "torn");
    const node = new Node(directory, []);
    node.desired(document(2));
    expect([node.pods, node.code, node.trust.required()]).toEqual([["web-1"], 401, true]);
  });
});

describe("a signed document", () => {
  test("runs after a restart without keys, and is still said to be signed", () => {
    const directory = newDirectory();
    new Node(directory, [root]).desired(from(root, 1));
    const node = new Node(directory, []);
    expect(node.pods).toEqual(["web-1"]);
    expect(node.state?.document).toMatchObject({ signed: true, pods: [{ signed: true }] });
  });

  test("is kept as what is inside the envelope", () => {
    const directory = newDirectory();
    new Node(directory, [root]).desired(from(root, 1));
    closeAll();
    const store = openStore(directory);
    open.push(store);
    expect(store.documents.get("mqtt:node")).toMatchObject({
      payload: bytes(document(1)),
      signed: true,
    });
  });

  test("one of another fleet's or node's, or an old one, changes nothing", () => {
    const node = new Node(newDirectory(), [root]);
    node.desired(from(root, 5));
    node.desired(from(root, 6, { target: { node: "pi-2" } }));
    expect(node.code).toBe(403);
    node.desired(from(root, 4));
    expect([node.pods, node.code]).toEqual([["web-5"], 410]);
  });
});

describe("a TrustBundle", () => {
  test("gives other keys the word, and takes it from the roots", () => {
    const node = new Node(newDirectory(), [root]);
    node.bundle(aTrustBundle(1, [root]));
    node.desired(from(root, 1));
    expect([node.pods, node.code]).toEqual([[], 401]);
    node.desired(from(deploy, 1));
    expect(node.pods).toEqual(["web-1"]);
    const { roots, signers, bundleDigest, ...ring } = node.trust.look();
    expect(ring).toEqual({ required: true, bundleVersion: 1 });
    expect(bundleDigest).toStartWith("sha256:");
    expect(roots.map(({ id }) => id)).toEqual([root.id]);
    expect(signers).toEqual([{ id: deploy.id, pub: deploy.pub, roles: ["desired", "command"] }]);
  });

  test("shows a key that is for some nodes as one that speaks to no group", () => {
    const node = new Node(newDirectory(), [root]);
    const keys = [{ pub: deploy.text, roles: ["desired"], nodes: ["pi-*"] }];
    node.bundle(aTrustBundle(1, [root], { more: { keys } }));
    expect(node.trust.look().signers).toMatchObject([{ nodes: ["pi-*"], groups: [] }]);
  });

  test("counts after a restart too, without trust.d", () => {
    const directory = newDirectory();
    new Node(directory, [root]).bundle(aTrustBundle(1, [root]));
    const node = new Node(directory, []);
    node.desired(from(deploy, 1));
    expect([node.pods, node.trust.conditions()]).toEqual([["web-1"], []]);
  });

  test("that comes after the document it vouches for lets that in", () => {
    const node = new Node(newDirectory(), [root]);
    node.desired(from(deploy, 1));
    expect([node.pods, node.code]).toEqual([[], 401]);
    node.bundle(aTrustBundle(1, [root]));
    expect([node.pods, node.code]).toEqual([["web-1"], undefined]);
  });

  test("revokes keys and old documents, and stops no pod", () => {
    const node = new Node(newDirectory(), [root]);
    node.bundle(aTrustBundle(1, [root]));
    node.desired(from(deploy, 1, { issuedAt: "2026-11-21T08:00:00Z" }));
    const notBefore = "2026-11-22T08:00:00Z";
    node.bundle(aTrustBundle(2, [root], { more: { notBefore } }));
    expect(node.pods).toEqual(["web-1"]);
    node.desired(from(deploy, 2, { issuedAt: "2026-11-21T09:00:00Z" }));
    expect([node.pods, node.code]).toEqual([["web-1"], 410]);
    node.bundle(aTrustBundle(3, [root], { more: { keys: [] } }));
    node.desired(from(deploy, 3, { issuedAt: "2026-11-23T09:00:00Z" }));
    expect([node.pods, node.code]).toEqual([["web-1"], 401]);
  });

  test("that came while no root key could be read counts as soon as one can, and so does what it vouches for", async () => {
    const directory = newDirectory();
    new Node(directory, [root]);
    const node = new Node(directory, []);
    node.bundle(aTrustBundle(1, [root]));
    node.desired(from(deploy, 1));
    expect([node.pods, node.code, node.trust.look().bundleVersion]).toEqual([[], 401, 0]);
    node.trustd = found(root);
    await node.clock.advance(60_000);
    expect([node.pods, node.code, node.trust.look().bundleVersion]).toEqual([
      ["web-1"],
      undefined,
      1,
    ]);
    expect(node.clock.pending).toBe(0);
  });

  test("an older one, or another of the same version, is refused, also after a restart", () => {
    const directory = newDirectory();
    new Node(directory, [root]).bundle(aTrustBundle(3, [root]));
    const node = new Node(directory, [root]);
    node.bundle(aTrustBundle(2, [root], { more: { keys: [] } }));
    node.bundle(aTrustBundle(3, [root], { more: { keys: [] } }));
    expect(node.trust.look()).toMatchObject({ bundleVersion: 3, signers: [{ id: deploy.id }] });
    expect(node.trust.lastRejected()).toMatchObject({ code: 409 });
  });

  test("changes the roots when an old and a new one sign, and then only the new one counts", () => {
    const directory = newDirectory();
    const node = new Node(directory, [root]);
    node.bundle(aTrustBundle(1, [root], { roots: [fresh] }));
    expect(node.trust.look()).toMatchObject({ bundleVersion: 0 });
    expect(node.trust.lastRejected()).toMatchObject({ code: 401 });
    node.bundle(aTrustBundle(1, [root, fresh], { roots: [fresh] }));
    expect(node.trust.look()).toMatchObject({ bundleVersion: 1, roots: [{ id: fresh.id }] });
    const later = new Node(directory, [root]);
    later.bundle(aTrustBundle(2, [root], { roots: [root] }));
    expect(later.trust.look()).toMatchObject({ bundleVersion: 1, roots: [{ id: fresh.id }] });
    later.bundle(aTrustBundle(2, [fresh], { roots: [fresh] }));
    expect(later.trust.look()).toMatchObject({ bundleVersion: 2 });
  });

  test("that was refused is told once for each content", async () => {
    const node = new Node(newDirectory(), [root]);
    const bad = aTrustBundle(1, [deploy]);
    for (let times = 0; times < 50; times += 1) node.bundle(bad);
    expect(node.said("refused a TrustBundle")).toBe(1);
    await node.clock.advance(3_600_000);
    node.bundle(bad);
    expect(node.said("refused a TrustBundle")).toBe(2);
  });

  test("that is the accepted one is written once", () => {
    const directory = newDirectory();
    let writes = 0;
    const trustStore = (store: Store): TrustStore => ({
      read: () => store.trust.read(),
      write: (record) => {
        writes += 1;
        store.trust.write(record);
      },
    });
    const node = new Node(directory, [root], { trustStore });
    for (let times = 0; times < 5; times += 1) node.bundle(aTrustBundle(1, [root]));
    expect([writes, node.said("accepted a TrustBundle")]).toEqual([2, 1]);
  });

  test("does not count before it is on the disk, and is tried again", async () => {
    let isFull = false;
    const trustStore = (store: Store): TrustStore => ({
      read: () => store.trust.read(),
      write: (record) => {
        if (isFull) throw new Error("no space left");
        store.trust.write(record);
      },
    });
    const node = new Node(newDirectory(), [root], { trustStore });
    isFull = true;
    node.bundle(aTrustBundle(1, [root]));
    node.desired(from(deploy, 1));
    expect([node.trust.look().bundleVersion, node.pods]).toEqual([0, []]);
    isFull = false;
    await node.clock.advance(60_000);
    expect([node.trust.look().bundleVersion, node.pods]).toEqual([1, ["web-1"]]);
    expect(node.clock.pending).toBe(0);
  });

  test("without any key is obeyed by nobody", () => {
    const node = new Node(newDirectory(), []);
    node.bundle(aTrustBundle(1, [root]));
    node.desired(document(1));
    expect([node.pods, node.trust.required()]).toEqual([["web-1"], false]);
  });
});

describe("a signed command", () => {
  const command = (signer: Signer) => anEnvelope("command", "{}", [signer]);

  test("needs the role command, for this node or the group", () => {
    const node = new Node(newDirectory(), [root]);
    expect(node.trust.judgeCommand(command(root))).toBeUndefined();
    const keys = [
      { pub: deploy.text, roles: ["command"], nodes: ["pi-*"], groups: ["kiosks"] },
      { pub: fresh.text, roles: ["desired"] },
    ];
    node.bundle(aTrustBundle(1, [root], { more: { keys } }));
    expect(node.trust.judgeCommand(command(deploy))).toBeUndefined();
    expect(node.trust.judgeCommand(command(deploy), "kiosks")).toBeUndefined();
    expect(node.trust.judgeCommand(command(deploy), "doors")).toContain("may not sign for group");
    expect(node.trust.judgeCommand(command(fresh))).toContain("has the role desired, not command");
    expect(node.trust.judgeCommand(command(root))).toContain("is a root key");
    expect(node.trust.judgeCommand(anEnvelope("desired", "{}", [deploy]))).toContain(
      "the payload type is",
    );
  });

  test("is obeyed by no node without a key", () => {
    const node = new Node(newDirectory(), []);
    expect(node.trust.judgeCommand(command(root))).toStartWith("NoTrustedKey: ");
  });
});

describe("agent trust reset", () => {
  const reset = (node: Node): void => {
    node.source.forgetVersion();
    node.trust.reset();
  };

  test("brings plain documents back where no key lies in trust.d", () => {
    const directory = newDirectory();
    const node = new Node(directory, [root]);
    node.bundle(aTrustBundle(1, [root]));
    node.trustd = found();
    node.desired(document(1));
    expect(node.code).toBe(401);
    reset(node);
    expect([node.pods, node.trust.required()]).toEqual([["web-1"], false]);
    const after = new Node(directory, []);
    expect([after.trust.required(), after.trust.look().bundleVersion]).toEqual([false, 0]);
  });

  test("forgets the bundle and the epoch, but not the keys that lie there", () => {
    const node = new Node(newDirectory(), [root]);
    node.desired(from(root, 9, { epoch: "e1" }));
    node.bundle(aTrustBundle(1, [root]));
    node.desired(from(root, 1, { epoch: "e2" }));
    expect([node.pods, node.code]).toEqual([["web-9"], 401]);
    reset(node);
    expect([node.pods, node.trust.required()]).toEqual([["web-1"], true]);
    node.desired(from(root, 3, { epoch: "e1" }));
    expect([node.pods, node.code]).toEqual([["web-1"], 409]);
  });

  test("the document that was there counts again when it comes again, and nothing older follows it", () => {
    const node = new Node(newDirectory(), [root]);
    for (const generation of [3, 7]) node.desired(from(root, generation));
    node.trust.reset();
    node.source.forgetVersion();
    node.desired(from(root, 7));
    node.desired(from(root, 3));
    expect([node.pods, node.code]).toEqual([["web-7"], 410]);
  });

  test("forgets nothing when the disk does not take it", () => {
    const trustStore = (store: Store): TrustStore => ({
      read: () => store.trust.read(),
      write: (record) => {
        if (!record.required) throw new Error("no space left");
        store.trust.write(record);
      },
    });
    const node = new Node(newDirectory(), [root], { trustStore });
    node.bundle(aTrustBundle(1, [root]));
    expect(() => reset(node)).toThrow("no space left");
    expect(node.trust.look()).toMatchObject({ required: true, bundleVersion: 1 });
  });
});

describe("the time that a signature proves", () => {
  const issuedAt = "2026-11-21T08:00:00Z";
  const proven = Date.parse(issuedAt);

  test("is that of a document that is accepted, and of the same one in a later life", () => {
    const directory = newDirectory();
    const node = new Node(directory, [root]);
    node.desired(from(root, 1, { issuedAt }));
    expect(node.issued).toEqual([proven]);
    const later = new Node(directory, [root]);
    expect(later.issued).toEqual([]);
    later.desired(from(root, 1, { issuedAt }));
    expect(later.issued).toEqual([proven]);
  });

  test("is not that of a stranger's document, nor of one that is refused", () => {
    const node = new Node(newDirectory(), [root]);
    node.desired(from(deploy, 1, { issuedAt }));
    node.desired(from(root, 1, { issuedAt, kind: "Nothing" }));
    expect(node.issued).toEqual([]);
  });

  test("is not that of a plain document", () => {
    const node = new Node(newDirectory(), []);
    node.desired(document(1, { issuedAt }));
    expect([node.pods, node.issued]).toEqual([["web-1"], []]);
  });
});
