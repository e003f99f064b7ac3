// Whom the node of a simulated world shall obey: the hand that signs, publishes TrustBundles, forges, and empties trust.d,
// and knows of every digest who vouched for it.

import type { SigningRole } from "../../src/protocol/trust-bundle.ts";
import type { Ack } from "../../src/protocol/reported-state.ts";
import type { FakeBroker } from "../fakes/fake-mqtt-broker.ts";
import type { SimAgent } from "./sim-agent.ts";
import { TOPIC, type SimAuthority } from "./sim-authority.ts";
import { NODE, sha256 } from "./sim-manifest.ts";
import type { Forgery, SimAct } from "./sim-steps.ts";
import {
  bundleText,
  signedText,
  TRUST_TOPIC,
  type BundleContent,
  type BundleKey,
  type KeyName,
  type TrustDirectory,
} from "./sim-trust.ts";

export const FLEET = "north";

export type TrustAct = Extract<SimAct, { readonly type: "Trust" | "Forge" }>;

export interface TrustHandOptions {
  readonly broker: FakeBroker;
  readonly authority: SimAuthority;
  readonly directory: TrustDirectory;
  readonly agent: () => SimAgent | undefined;
  /** What the node knew of trust went with all else: whatever is old counts for it. */
  readonly lostEverything: () => boolean;
  readonly accuse: (text: string) => void;
}

interface Signing {
  readonly by: KeyName;
  /** It names this node, or all of its fleet. */
  readonly isOurs: boolean;
}

/** What it is answered with, where its keys can be used. */
export const ANSWERS: Readonly<Record<Forgery, number>> = {
  unsigned: 401,
  stranger: 401,
  removed: 401,
  root: 401,
  herald: 401,
  elsewhere: 401,
  tampered: 401,
  replay: 410,
  otherNode: 403,
  otherFleet: 403,
};

const OTHERS: readonly BundleKey[] = [
  { key: "herald", roles: ["command", "rollout"] },
  { key: "elsewhere", roles: ["desired", "command"], nodes: ["other-*"] },
];

export class TrustHand {
  readonly #options: TrustHandOptions;
  readonly #bundles: BundleContent[] = [];
  /** Digest → who has signed it. */
  readonly #signings = new Map<string, Signing[]>();
  /** Digest of what is forged → the codes with which it may be refused. */
  readonly #forged = new Map<string, readonly number[]>();
  #signer: KeyName = "root";
  #roots: readonly KeyName[] = ["root"];
  #count = 0;
  /** Generation of the newest document that the root has signed beside a TrustBundle. */
  #byRoot = 0;
  /** An agent was seen that had found the keys. */
  #hasLived = false;
  /** Of the TrustBundle that the node has. */
  #heard = 0;
  /** Whether the broker holds the newest good TrustBundle. */
  isRetained = true;

  constructor(options: TrustHandOptions) {
    this.#options = options;
    options.directory.lay(["root"]);
    options.authority.sign = (document) => this.#write(document, [this.#signer]);
  }

  /** Of the newest good TrustBundle; 0 = there is none. */
  get version(): number {
    return this.#bundles.length;
  }

  /** Who may order something just now. */
  get commander(): KeyName {
    return this.version === 0 ? "root" : "herald";
  }

  perform(act: TrustAct): void {
    if (this.#options.agent() !== undefined) this.#hasLived = true;
    if (act.type === "Forge") return void this.forge(act.how);
    const { directory } = this.#options;
    switch (act.how) {
      case "handOver":
        return this.#handOver();
      case "newRoots":
        this.#roots = ["laterRoot"];
        return this.#handOver();
      case "forgedBundle":
        return this.#publishForged();
      case "oldBundle":
        return this.#publishOld();
      case "mended":
        return directory.mend();
      case "emptied":
      case "unreadable":
      case "mistyped":
        // A node that knows nothing any more, or nothing yet, and finds no key is one that has never seen any.
        if (this.#hasLived && !this.#options.lostEverything()) directory.trouble(act.how);
    }
  }

  /** Whoever provides a device anew brings its keys, and the newest word on them. */
  provide(): void {
    this.#options.directory.mend();
    this.publish();
  }

  calm(): void {
    const { authority, directory, lostEverything } = this.#options;
    directory.mend();
    // Whoever knows of no TrustBundle any more takes the root's word, if he hears it first.
    if (lostEverything()) authority.goOnAfter(this.#byRoot);
    if (!this.isRetained) this.publish();
  }

  /** The newest good bundle once more. */
  publish(): void {
    const bundle = this.#bundles.at(-1);
    this.isRetained = true;
    if (bundle === undefined) return this.#options.broker.publish(TRUST_TOPIC, "");
    this.#options.broker.publish(TRUST_TOPIC, bundleText(bundle, ["root", "laterRoot"]));
  }

  /** What must not be obeyed; the answer is what it must be refused with, undefined = it cannot be forged now. */
  forge(how: Forgery): { readonly code: number; readonly digest: string } | undefined {
    const { authority, broker, lostEverything } = this.#options;
    if (how === "replay") {
      const recorded = lostEverything() ? undefined : authority.recorded;
      if (recorded === undefined) return undefined;
      authority.isRetained = false;
      broker.publish(TOPIC.desired, recorded);
      return undefined;
    }
    const removed = this.#removed();
    if ((how === "removed" || how === "root") && removed === undefined) return undefined;
    // A key that comes back makes its old words count: the node must have another document of this generation by then.
    if (how === "removed" && !this.#isAccepted()) return undefined;
    this.#count += 1;
    if (how === "root") this.#byRoot = authority.generation + 1;
    const document = this.#forgedDocument(how);
    const payload = JSON.stringify(document);
    const digest = `sha256:${sha256(payload)}`;
    const code = ANSWERS[how];
    this.#forged.set(digest, how === "removed" ? [code, 401, 409, 410] : [code, 401]);
    authority.isRetained = false;
    broker.publish(TOPIC.desired, this.#forgedText(how, document, removed));
    return { code, digest };
  }

  /** After everything that happens. */
  look(): void {
    const { agent, lostEverything, accuse } = this.#options;
    const trusted = agent()?.store.trust.read();
    if (trusted === undefined || lostEverything()) return;
    const version = trusted.bundle?.version ?? 0;
    if (version < this.#heard) accuse(`TrustBundle ${version} is in force after ${this.#heard}`);
    this.#heard = Math.max(version, this.#heard);
  }

  /** A document is on the node's disk now. */
  onAccepted(digest: string): void {
    const { agent, accuse } = this.#options;
    const trusted = agent()?.store.trust.read();
    if (trusted === undefined) return;
    const version = trusted.bundle?.version ?? 0;
    const signings = this.#signings.get(digest) ?? [];
    if (signings.some(({ by, isOurs }) => isOurs && this.#maySign(by, version))) return;
    const by = signings.map((one) => one.by).join() || "no known key";
    accuse(`a document signed by ${by} is accepted under TrustBundle ${version}`);
  }

  /** The node has said this of its document. */
  onAck({ generation, signed, lastRejected }: Ack): void {
    const { accuse } = this.#options;
    if (generation > 0 && !signed) accuse(`generation ${generation} is said to be unsigned`);
    const codes = this.#forged.get(lastRejected?.digest ?? "");
    if (lastRejected === undefined || codes === undefined) return;
    const { code, message } = lastRejected;
    if (!codes.includes(code))
      accuse(`what is forged is refused with ${code} (${message}), not ${codes.join(" or ")}`);
  }

  /** Others sign from now on, and whoever did signs nothing any more; what is wanted is signed anew. */
  #handOver(): void {
    this.#signer = this.#signer === "desk" ? "laterDesk" : "desk";
    const keys: readonly BundleKey[] = [{ key: this.#signer, roles: ["desired"] }, ...OTHERS];
    this.#bundles.push({ version: this.version + 1, root: this.#roots, keys });
    this.publish();
    this.#options.authority.resend();
  }

  #publishForged(): void {
    const keys: readonly BundleKey[] = [{ key: "stranger", roles: ["desired", "command"] }];
    const content = { version: this.version + 1, root: this.#roots, keys };
    this.isRetained = false;
    this.#options.broker.publish(TRUST_TOPIC, bundleText(content, ["stranger", "desk"]));
  }

  #publishOld(): void {
    const [first] = this.#bundles;
    if (first === undefined || this.#options.lostEverything()) return;
    this.isRetained = this.version === 1;
    this.#options.broker.publish(TRUST_TOPIC, bundleText(first, ["root", "laterRoot"]));
  }

  /** A key that the node knows to sign no more. */
  #removed(): KeyName | undefined {
    const heard = this.#options.agent()?.store.trust.read().bundle?.version;
    if (heard === undefined || heard !== this.version || this.#options.lostEverything())
      return undefined;
    return this.#signer === "desk" ? "laterDesk" : "desk";
  }

  /** The node has the newest document of the authority, and there is one. */
  #isAccepted(): boolean {
    const { agent, authority } = this.#options;
    const accepted = agent()?.store.documents.get("mqtt:node")?.generation;
    return accepted !== undefined && accepted === authority.generation;
  }

  #forgedDocument(how: Forgery): object {
    const node = how === "otherNode" ? "other-1" : NODE;
    const fleet = how === "otherFleet" ? "south" : FLEET;
    return {
      apiVersion: "agent/v1",
      kind: "DesiredState",
      target: { node, fleet },
      generation: this.#options.authority.generation + (how === "removed" ? 0 : 1),
      labels: { forged: `${this.#count}` },
      resources: [],
      allowEmpty: true,
    };
  }

  #forgedText(how: Forgery, document: object, removed: KeyName = "stranger"): string {
    switch (how) {
      case "unsigned":
        return JSON.stringify(document);
      case "stranger":
      case "root":
      case "herald":
      case "elsewhere":
        return this.#write(document, [how]);
      case "removed":
        return this.#write(document, [removed]);
      case "tampered":
      case "replay":
        return signedText("desired", document, { by: [this.#signer], tampered: true });
      case "otherNode":
      case "otherFleet":
        return this.#write(document, [this.#signer], false);
    }
  }

  #write(document: object, by: readonly KeyName[], isOurs = true): string {
    const digest = `sha256:${sha256(JSON.stringify(document))}`;
    const known = this.#signings.get(digest) ?? [];
    this.#signings.set(digest, [...known, ...by.map((one) => ({ by: one, isOurs }))]);
    return signedText("desired", document, { by });
  }

  #maySign(by: KeyName, version: number): boolean {
    if (version === 0) return by === "root";
    const role: SigningRole = "desired";
    const keys = this.#bundles[version - 1]?.keys ?? [];
    return keys.some(
      (one) => one.key === by && one.roles.includes(role) && one.nodes === undefined,
    );
  }
}
