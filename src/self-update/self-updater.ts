// Performs: updates the agent itself: brings a new version, tests it, and lets the launcher start it; a new version on trial
// proves itself. One update at a time; no container is touched by any of it.

import type { RecordEvent } from "../api/v1/events.ts";
import type { NodeCondition } from "../api/v1/pod-status.ts";
import type { Edges, SelfUpdateEdge } from "../edges.ts";
import type { Trial } from "../host/versions/versions.ts";
import { versionName } from "../host/versions/version-records.ts";
import { AgentError, messageOf, reasonOf } from "../lib/errors.ts";
import { withoutUndefined } from "../lib/json.ts";
import type { Platform } from "../protocol/agent-release.ts";
import type { DocumentState } from "../protocol/desired-document.ts";
import { DocumentOrders } from "./document-orders.ts";
import {
  fetchBinary,
  readRelease,
  type Fetched,
  type FetchOptions,
  type KnownOrder,
} from "./fetch-binary.ts";
import { proveTrial, type Proofs } from "./prove-trial.ts";
import {
  lineOf,
  readOutcome,
  updateConditions,
  writeOutcome,
  type SelfUpdateView,
  type UpdateOutcome,
  type UpdatePhase,
} from "./self-update-view.ts";
import { ALREADY, requireGo, UpdateGate, type UpdateGateOptions } from "./update-gate.ts";
import { shownSource, type UpdateOrder, type UpdateStep } from "./update-order.ts";

export interface SelfUpdaterOptions {
  readonly edges: Pick<
    Edges,
    | "clock"
    | "log"
    | "random"
    | "files"
    | "download"
    | "sha256"
    | "store"
    | "clockSynchronised"
    | "clockFloor"
  >;
  readonly edge: SelfUpdateEdge;
  readonly trust: FetchOptions["trust"];
  readonly nodeName: string;
  /** That runs. */
  readonly version: string;
  /** undefined = no binary is made for this machine. */
  readonly platform: Platform | undefined;
  readonly record: RecordEvent;
  readonly proofs: Proofs;
  readonly isConnected: () => boolean;
  readonly isShuttingDown: () => boolean;
  readonly documents: () => readonly DocumentState[];
  /** Of the node. */
  readonly maintenanceWindows: UpdateGateOptions["maintenanceWindows"];
  /** What is shown has changed. */
  readonly onChange: () => void;
  /** Ends this process, so that the service manager starts the launcher again. */
  readonly restart: () => void;
}

const WAIT_MS = 30_000;
const IDLE_MS = 3_600_000;
const WITHDRAWN = "Withdrawn";
/** The newest failure that an event and the outcome have reported. */
const REPORTED = "self-update.reported";
const OUTCOME = "self-update.outcome";

export class SelfUpdater {
  readonly #options: SelfUpdaterOptions;
  readonly #documents: DocumentOrders;
  readonly #gate: UpdateGate;
  #phase: UpdatePhase = "Idle";
  #update: SelfUpdateView["update"];
  #ordered: UpdateOrder | undefined;
  /** An operator need not wait with it. */
  #isAwaitingWindow = false;
  #wake = new AbortController();

  constructor(options: SelfUpdaterOptions) {
    const { versions } = options.edge;
    this.#options = options;
    this.#documents = new DocumentOrders({ ...options, failures: () => versions.failures() });
    this.#gate = new UpdateGate(options);
    this.#settle();
  }

  view(): SelfUpdateView {
    const { edge, version } = this.#options;
    const { versions } = edge;
    const previous = versions.hasPrevious() ? (versions.previous() ?? "installed") : undefined;
    return {
      version,
      phase: this.#phase,
      failed: versions.failures(),
      ...withoutUndefined({ update: this.#update, previous, last: this.#outcome() }),
    };
  }

  conditions(): readonly NodeCondition[] {
    const last = this.#outcome();
    const update = this.#update;
    return updateConditions({ phase: this.#phase, ...withoutUndefined({ update, last }) });
  }

  /** Begins an update; the result is why it does not begin. */
  order(order: UpdateOrder): string | undefined {
    const busy = this.#busy();
    if (busy !== undefined) return busy;
    this.#ordered = order;
    this.#show("Waiting", order);
    this.look();
    return undefined;
  }

  /** Runs the previous version again; the result is why not. */
  back(): string | undefined {
    const busy = this.#busy();
    if (busy !== undefined) return busy;
    const { edge, edges, restart } = this.#options;
    if (!edge.versions.hasPrevious()) return "there is no previous version on this node";
    const to = edge.versions.previous() ?? "the installed one";
    edge.versions.back();
    edges.log.info("goes back to the previous version of the agent", { to });
    this.#event("Normal", "AgentUpdateStarted", `the agent goes back to version ${to}`);
    this.#phase = "Restarting";
    restart();
    return undefined;
  }

  /** The documents may have changed. */
  look(): void {
    this.#wake.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    const trial = this.#trial();
    if (trial !== undefined) await this.#prove(trial, signal);
    while (!signal.aborted) {
      const order = await this.#next(signal);
      if (order === undefined) return;
      await this.#perform(order, signal);
    }
  }

  #busy(): string | undefined {
    if (this.#phase === "OnTrial")
      return `version ${this.#options.version} is on trial; wait until it has proved itself`;
    const waits = this.#phase === "Idle" || this.#isAwaitingWindow;
    if (waits && this.#ordered === undefined) return undefined;
    return `an update of the agent is under way (${this.#phase}); see agent self-update --status`;
  }

  /** What earlier processes and the launcher have left. */
  #settle(): void {
    const { edge, edges, version } = this.#options;
    const { versions } = edge;
    const trial = versions.trial();
    if (trial !== undefined && versions.launch.trial !== trial.name)
      versions.giveUp(trial, "it could not be started");
    else if (trial !== undefined) {
      this.#phase = "OnTrial";
      this.#update = { version, source: "trial" };
    }
    versions.removeScratch();
    const last = versions.failures().at(-1);
    if (last === undefined || lineOf(last) === edges.store.meta.get(REPORTED)) return;
    edges.store.meta.set(REPORTED, lineOf(last));
    this.#failed({
      version: last.name,
      reason: "WentBack",
      message: `version ${last.name} was given up: ${last.reason}; version ${version} runs`,
    });
  }

  #trial(): Trial | undefined {
    return this.#phase === "OnTrial" ? this.#options.edge.versions.trial() : undefined;
  }

  async #prove(trial: Trial, signal: AbortSignal): Promise<void> {
    const { edge, edges, proofs, version, restart } = this.#options;
    const end = await proveTrial(trial, { edges, versions: edge.versions, proofs }, signal);
    switch (end) {
      case "Stopped":
        return;
      case "OutOfTime":
        edges.log.error("this version did not prove itself in time; it ends", { version });
        return restart();
      case "Confirmed": {
        const message = `the agent was updated from version ${trial.from} to ${version}`;
        this.#outcomeIs({ result: "Updated", version, message });
        this.#event("Normal", "AgentUpdated", message);
        this.#idle();
      }
    }
  }

  /** Waits for the next update that may begin; undefined = `signal` has aborted. */
  async #next(signal: AbortSignal): Promise<UpdateOrder | undefined> {
    const { clock } = this.#options.edges;
    while (!signal.aborted) {
      const ordered = this.#ordered;
      if (ordered !== undefined) return ordered;
      const wanted = this.#documents.next();
      const now = clock.monotonic();
      if (wanted !== undefined && wanted.due <= now) return wanted.order;
      await this.#sleep(wanted === undefined ? undefined : wanted.due - now, signal);
    }
    return undefined;
  }

  async #sleep(ms: number | undefined, signal: AbortSignal): Promise<void> {
    if (this.#wake.signal.aborted) this.#wake = new AbortController();
    const woken = AbortSignal.any([signal, this.#wake.signal]);
    // Documents wake it up; the time is only a limit.
    await this.#options.edges.clock.sleep(ms ?? IDLE_MS, woken);
  }

  async #perform(order: UpdateOrder, signal: AbortSignal): Promise<void> {
    const { edges, edge, version } = this.#options;
    this.#ordered = undefined;
    try {
      await this.#steps(order, signal);
    } catch (error) {
      if (signal.aborted) return;
      const reason = reasonOf(error, "Failed");
      if (reason === WITHDRAWN) return this.#ordered === undefined ? this.#idle() : undefined;
      this.#idle();
      edge.versions.removeScratch();
      const message = messageOf(error);
      if (reason === ALREADY) return this.#outcomeIs({ result: "Updated", version, message });
      edges.log.error("the agent is not updated", { source: shownSource(order.source), message });
      this.#failed({ ...withoutUndefined({ version: order.version }), reason, message });
      this.#documents.failed(order);
    }
  }

  async #steps(ordered: UpdateOrder, signal: AbortSignal): Promise<void> {
    const { edges, edge, platform, trust, nodeName: node } = this.#options;
    if (platform === undefined)
      throw new AgentError({
        reason: "NoBinary",
        message: "no agent is built for the processor of this machine",
      });
    await this.#pass("Download", ordered, signal);
    this.#show("Downloading", ordered);
    const options = { edges, edge, trust, node, platform };
    const order = await readRelease(ordered, options, signal);
    this.#mayGo(order);
    const fetched = await this.#fetch(order, options, signal);
    this.#mayGo({ ...order, sha256: fetched.sha256 });
    this.#show("Testing", order);
    const tested = await this.#test(fetched.path, { ...order, sha256: fetched.sha256 }, signal);
    const judged = { ...order, version: tested, sha256: fetched.sha256 };
    this.#mayGo(judged);
    await this.#pass("Switch", judged, signal);
    this.#switch(judged, fetched.path);
  }

  /** In as many windows as it takes. */
  async #fetch(order: KnownOrder, options: FetchOptions, signal: AbortSignal): Promise<Fetched> {
    const onBytes = (bytes: number): void => {
      this.#update = { ...this.#update, source: shownSource(order.source), bytes };
    };
    for (;;) {
      this.#show("Downloading", order);
      try {
        const run = (until: AbortSignal) => fetchBinary(order, { options, onBytes }, until);
        return await this.#gate.within("Download", order, { run, signal });
      } catch (error) {
        if (!this.#gate.isOver(error)) throw error;
        options.edges.log.info("the download is interrupted", { why: messageOf(error) });
      }
      await this.#pass("Download", order, signal);
    }
  }

  #mayGo(order: UpdateOrder): void {
    const { edge, version } = this.#options;
    requireGo(order, { version, failures: edge.versions.failures() });
  }

  /** Resolves to the version that the binary says it is. */
  async #test(
    path: string,
    order: UpdateOrder & { readonly sha256: string },
    signal: AbortSignal,
  ): Promise<string> {
    const { edge, edges } = this.#options;
    const { versions } = edge;
    const scratch = versions.scratch();
    try {
      edges.store.database.copyTo(`${scratch}/agent.db`);
      const said = await edge.selfTest(path, scratch, signal);
      if (order.version !== undefined && said !== order.version)
        throw new AgentError({
          reason: "SelfTestFailed",
          message: `the binary is version ${said}, not ${order.version}`,
        });
      return said;
    } catch (error) {
      // The same binary would fail again.
      if (reasonOf(error, "") === "SelfTestFailed" && !signal.aborted) {
        const name = versionName(order.version ?? "unknown", order.sha256);
        versions.remember({ name, sha256: order.sha256, reason: messageOf(error) });
        this.#allReported();
      }
      throw error;
    } finally {
      versions.removeScratch();
    }
  }

  #switch(
    { version, sha256 }: UpdateOrder & { readonly version: string; readonly sha256: string },
    path: string,
  ): void {
    const { edge, edges, isConnected, restart } = this.#options;
    const { versions } = edge;
    const from = this.#options.version;
    const name = versionName(version, sha256);
    versions.add({ name, path });
    versions.forget(sha256);
    this.#allReported();
    const hadBroker = isConnected();
    const message = `the agent is updated from version ${from} to ${version}`;
    this.#event("Normal", "AgentUpdateStarted", message);
    versions.begin({ name, sha256, version, from, hadBroker });
    edges.log.info("ends, so that the new version starts", { version, hadBroker });
    this.#phase = "Restarting";
    restart();
  }

  /** The launcher adds failures; what is there now is no news at the next start. */
  #allReported(): void {
    const last = this.#options.edge.versions.failures().at(-1);
    this.#options.edges.store.meta.set(REPORTED, last === undefined ? "" : lineOf(last));
  }

  async #pass(step: UpdateStep, order: UpdateOrder, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      this.#mayWait(order);
      const waits = this.#gate.waits(step, order);
      this.#isAwaitingWindow = waits !== undefined && order.origin === "Document";
      if (waits === undefined) return;
      if (this.#phase !== "Waiting" || this.#update?.waits !== waits)
        this.#show("Waiting", order, waits);
      await this.#sleep(WAIT_MS, signal);
    }
  }

  /** A window may be days away: what no document asks for any more, or an operator has ordered meanwhile, ends the wait. */
  #mayWait({ origin, sha256 }: UpdateOrder): void {
    if (origin !== "Document") return;
    const isWanted = this.#documents.next()?.order.sha256 === sha256;
    if (isWanted && this.#ordered === undefined) return;
    this.#isAwaitingWindow = false;
    throw new AgentError({ reason: WITHDRAWN, message: "another version is wanted by now" });
  }

  #show(phase: UpdatePhase, { version, source, size }: UpdateOrder, waits?: string): void {
    this.#phase = phase;
    this.#update = {
      source: shownSource(source),
      ...withoutUndefined({ version, size, waits }),
    };
    this.#options.onChange();
  }

  #idle(): void {
    this.#phase = "Idle";
    this.#update = undefined;
    this.#options.onChange();
  }

  #failed(outcome: Omit<UpdateOutcome, "result">): void {
    this.#outcomeIs({ ...outcome, result: "Failed" });
    this.#event("Warning", "AgentUpdateFailed", outcome.message);
  }

  #outcome(): UpdateOutcome | undefined {
    return readOutcome(this.#options.edges.store.meta.get(OUTCOME));
  }

  #outcomeIs(outcome: UpdateOutcome): void {
    this.#options.edges.store.meta.set(OUTCOME, writeOutcome(outcome));
    this.#options.onChange();
  }

  #event(type: "Normal" | "Warning", reason: string, message: string): void {
    const { record, nodeName: name } = this.#options;
    record({ type, reason, message, object: { kind: "Node", name } });
  }
}
