// Performs: asks an HTTP server for manifests, as a source of pods and objects. kubelet: sourceURL

import type { SourceSnapshot } from "../../api/pod/desired-pod.ts";
import type { DecodedObject } from "../../api/decode/decode-context.ts";
import { decodeManifest } from "../../api/decode/decode-manifest.ts";
import { FILE_LIMITS } from "../../api/yaml/text-limits.ts";
import { decodeText } from "../../api/yaml/yaml-documents.ts";
import type { AgentConfig } from "../../config/config.ts";
import type { Edges } from "../../edges.ts";
import type { DownloadAnswer } from "../../host/http/download-edge.ts";
import { aborted } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import { withoutUndefined } from "../../lib/json.ts";
import { jitter } from "../../lib/random.ts";
import type { FieldError } from "../../lib/result.ts";
import { fileHand } from "../../store/start-guard/hand.ts";
import { START_GUARD, UNGUARDED, type WorkGuard } from "../../store/start-guard/start-guard.ts";
import type { LastGoodManifests } from "../../store/last-good-manifests.ts";
import type { ManifestFile, Reading } from "../file/manifest-entry.ts";
import { lastGoodChanges, restoreEntries, type Outcomes } from "../file/manifest-last-good.ts";
import {
  afterAnswer,
  afterFailure,
  afterNotModified,
  cleared,
  isSameView,
  nextRequestMs,
  restored,
  snapshotOfUrl,
  urlRef,
  urlWarnings,
  type UrlState,
} from "./manifest-url.ts";

export interface HttpSourceOptions extends Pick<
  Edges,
  "clock" | "random" | "log" | "files" | "sha256" | "download"
> {
  readonly config: Pick<
    AgentConfig,
    | "staticPodURL"
    | "staticPodURLHeader"
    | "httpCheckFrequency"
    | "staticPodURLCAFile"
    | "staticPodURLCertFile"
    | "staticPodURLKeyFile"
  >;
  /** The rows of URLs. */
  readonly lastGood: Pick<LastGoodManifests, "load" | "save">;
  /** Whether a valid answer was ever stored in this database. */
  readonly synced: { get(): boolean; set(): void };
  readonly nodeName: string;
  /** Whether the node has servers for `dnsPolicy: ClusterFirst`. */
  readonly clusterDNS: boolean;
  /** Absent = no answer waits. */
  readonly guard?: WorkGuard;
  /** Receives a snapshot at the start and after every change. */
  readonly emit: (snapshot: SourceSnapshot) => void;
}

/** Share of each pause that is random: nodes that boot together must not ask together. */
const JITTER = 0.2;
/** Of the first request, if pods run from the checkpoint, ms. */
const FIRST_SPREAD_MS = 10_000;
const PEM_BYTES = 1024 * 1024;
const NO_LOOK = { size: 0, mtimeMs: 0, identity: "" };
const REMOVED =
  'staticPodURL is no longer configured, and its pods run on; write staticPodURL: "" to stop them, or the URL again';

const ONLY_OTHER_KINDS =
  "the answer holds only objects of kinds that this node skips, so it is probably not the right one; its pods run on: an empty List stops them";

type Validators = Pick<Extract<DownloadAnswer, { type: "Text" }>, "etag" | "lastModified">;

export class HttpSource {
  readonly #options: HttpSourceOptions;
  readonly #url: string;
  #warnings: readonly FieldError[];
  /** The content of the checkpoint. */
  #stored: Outcomes = new Map();
  #state: UrlState;
  #published: UrlState | undefined;
  /** Of the last text that was taken in whole. */
  #validators: Validators = {};
  #logged: ReadonlySet<string> = new Set();

  constructor(options: HttpSourceOptions) {
    this.#options = options;
    const { staticPodURL } = options.config;
    this.#url = staticPodURL ?? "";
    this.#warnings = this.#url === "" ? [] : urlWarnings(this.#url);
    const ref = this.#url === "" ? "staticPodURL" : urlRef(this.#url);
    this.#state = restored(ref, new Map(), false);
  }

  /** Ends when `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#restore();
    this.#publish();
    if (this.#url === "") return aborted(signal);
    const { clock, random, config, log } = this.#options;
    for (const { code, message } of this.#warnings) log.warn("manifest URL", { code, message });
    const hasPods = this.#state.outcome.entries.length > 0;
    const spread = Math.min(FIRST_SPREAD_MS, config.httpCheckFrequency);
    await clock.sleep(hasPods ? random.next() * spread : 0, signal);
    while (!signal.aborted) {
      const retryAfterMs = await this.#ask(signal);
      if (signal.aborted) return;
      this.#publish();
      const pause = nextRequestMs(this.#state, config.httpCheckFrequency, retryAfterMs);
      await clock.sleep(jitter(random, pause, JITTER), signal);
    }
  }

  #restore(): void {
    const { lastGood, synced, log, config } = this.#options;
    this.#stored = restoreEntries(lastGood.load(), { ...this.#options, source: "http" });
    const state = restored(this.#state.ref, this.#stored, synced.get());
    for (const { kind, namespace, name, why } of state.outcome.lost) {
      const object = `${kind} ${namespace}/${name}`;
      log.error("last good manifest cannot be read", { ref: state.ref, object, why });
    }
    this.#state = config.staticPodURL === "" ? cleared(state) : state;
    if (config.staticPodURL === undefined && state.outcome.entries.length > 0)
      this.#warnings = [{ path: "", code: "URLRemoved", message: REMOVED }];
  }

  /** One request; returns when the server wants to be asked again, in ms. Never rejects. */
  async #ask(signal: AbortSignal): Promise<number | undefined> {
    const { config, download } = this.#options;
    try {
      const answer = await download(
        {
          url: this.#url,
          headers: config.staticPodURLHeader,
          ...this.#validators,
          ...this.#pemFiles(),
          maxBytes: FILE_LIMITS.bytes,
        },
        signal,
      );
      if (signal.aborted) return undefined;
      return this.#take(answer);
    } catch (error) {
      if (!signal.aborted) this.#failed(messageOf(error));
      return undefined;
    }
  }

  #take(answer: DownloadAnswer): number | undefined {
    switch (answer.type) {
      case "Status":
        this.#failed(`the server answers ${answer.status}; its pods run on`);
        return answer.retryAfterMs;
      case "NotModified":
        this.#answered(afterNotModified(this.#state));
        return undefined;
      case "Text": {
        const reading = this.#read(answer.bytes);
        const { etag, lastModified } = answer;
        // What waits is asked for again.
        const isWaiting = reading.type === "Refused" && reading.waits !== undefined;
        this.#validators = isWaiting ? {} : withoutUndefined({ etag, lastModified });
        const file: ManifestFile = { path: this.#state.ref, look: NO_LOOK, reading };
        this.#answered(afterAnswer(this.#state, file));
        return undefined;
      }
    }
  }

  #read(bytes: Uint8Array): Reading {
    const { sha256, guard = UNGUARDED, nodeName, clusterDNS } = this.#options;
    const { ref } = this.#state;
    const refused = ({ code, message }: Pick<FieldError, "code" | "message">) => ({
      type: "Refused" as const,
      rejection: { source: "http" as const, ref, path: "", code, message },
      mayHoldPods: true,
    });
    const text = decodeText(bytes);
    if (!text.ok) return refused(text.errors[0] ?? { code: "Syntax", message: "is not text" });
    const digest = sha256(bytes);
    const hand = fileHand(ref, digest);
    const waits = guard.waits(hand);
    if (waits !== undefined)
      return { ...refused({ code: START_GUARD, message: waits }), waits: hand };
    using held = guard.hold(hand);
    const context = { source: "http", ref, nodeName, clusterDNS, sha256 } as const;
    const manifest = decodeManifest(text.value, context);
    held.settle();
    return hasOnlyOtherKinds(manifest)
      ? refused({ code: "Empty", message: ONLY_OTHER_KINDS })
      : { type: "Decoded", digest, manifest };
  }

  /** Read for each request: they are renewed while the agent runs. */
  #pemFiles(): { readonly ca?: string; readonly cert?: string; readonly key?: string } {
    const { config, files } = this.#options;
    const textOf = (path: string | undefined): string | undefined =>
      path === undefined
        ? undefined
        : new TextDecoder().decode(files.readFollowing(path, PEM_BYTES));
    return withoutUndefined({
      ca: textOf(config.staticPodURLCAFile),
      cert: textOf(config.staticPodURLCertFile),
      key: textOf(config.staticPodURLKeyFile),
    });
  }

  #failed(message: string): void {
    const { log } = this.#options;
    const { ref, failure } = this.#state;
    if (failure !== message) log.warn("manifest URL cannot be read", { ref, message });
    this.#state = afterFailure(this.#state, message);
  }

  #answered(next: UrlState): void {
    const { ref, failure } = this.#state;
    if (failure !== undefined) this.#options.log.info("manifest URL answers again", { ref });
    this.#state = next;
  }

  #publish(): void {
    const { emit } = this.#options;
    this.#save();
    const before = this.#published;
    this.#published = this.#state;
    if (before !== undefined && isSameView(before, this.#state)) return;
    const snapshot = snapshotOfUrl(this.#state, this.#warnings);
    this.#logRejected(snapshot);
    emit(snapshot);
  }

  /** Each mistake once; failures of requests are logged when they happen. */
  #logRejected({ rejected }: SourceSnapshot): void {
    const { log } = this.#options;
    const logged = new Set<string>();
    for (const { ref, line, path, code, message } of rejected) {
      if (code === "URLFailed") continue;
      const facts = { ref, line, path, code, message };
      const key = JSON.stringify(facts);
      if (!this.#logged.has(key)) log.warn("manifest not applied as written", facts);
      logged.add(key);
    }
    this.#logged = logged;
  }

  /** A checkpoint that cannot be written is written after the next request. */
  #save(): void {
    const { lastGood, synced, log } = this.#options;
    const { ref, outcome, ready, file } = this.#state;
    const isRestored = file === undefined && this.#options.config.staticPodURL !== "";
    if (isRestored) return;
    const now: Outcomes = new Map([[ref, outcome]]);
    try {
      lastGood.save(lastGoodChanges(this.#stored, now));
      this.#stored = now;
      if (ready) synced.set();
    } catch (thrown) {
      log.error("last good manifests not saved", { message: messageOf(thrown) });
    }
  }
}

/** As of the wrong address, or an error of a server that answers 200. */
function hasOnlyOtherKinds(manifest: DecodedObject): boolean {
  const { pods, objects, runs, services, errors, ignoredKinds } = manifest;
  const isNothing = [pods, objects, runs, services, errors].every(({ length }) => length === 0);
  return isNothing && ignoredKinds.length > 0;
}
