// Performs: tries settings that a signed document wants, keeps them once the new connection has proved itself, and takes them
// back when it does not. Pods, their sources and their updates know nothing of it. Start reading in settings-record.ts.

import type { RecordEvent } from "../../api/v1/events.ts";
import type { NodeCondition } from "../../api/v1/pod-status.ts";
import type { Failure } from "../../api/pod/rollout.ts";
import type { AgentConfig } from "../../config/config.ts";
import type { MqttConfig } from "../../config/mqtt-config.ts";
import type { DeviceConfig, Edges } from "../../edges.ts";
import { deadline, type Monotonic } from "../../lib/clock.ts";
import { messageOf, reasonOf } from "../../lib/errors.ts";
import { parseJson } from "../../lib/json.ts";
import type { DesiredDocument, DocumentState } from "../../protocol/desired-document.ts";
import type { GroupMember } from "../../protocol/groups.ts";
import { subscriptionsFor } from "../../protocol/mqtt-topics.ts";
import {
  NO_SETTINGS,
  readKeptSettings,
  settingsText,
  type RemoteSettings,
} from "../../protocol/remote-settings.ts";
import type { ReportedSettings } from "../../protocol/reported-state.ts";
import type { KeptSettings, SettingsRecord } from "../../store/settings-file.ts";
import type { UpstreamPort } from "../upstream.ts";
import type { LinkConfig, LinkInForce } from "./link-in-force.ts";
import {
  committed,
  dropped,
  hasTooManyStarts,
  nextStep,
  proven,
  started,
  tooManyStarts,
  trialFailed,
  trying,
  wantedOf,
  wentBack,
  type SettingsStep,
  type WantedSettings,
} from "./settings-record.ts";
import { reportedSettings, settingsConditions } from "./settings-view.ts";
import { tryConnection } from "./try-connection.ts";

export interface RemoteSettingsOptions {
  readonly edges: Pick<Edges, "clock" | "log" | "files" | "mqtt" | "sha256"> & {
    readonly store: Pick<Edges["store"], "settings">;
  };
  readonly nodeName: string;
  readonly device: DeviceConfig;
  readonly link: LinkInForce;
  readonly port: Pick<UpstreamPort, "facts" | "report">;
  readonly documents: () => readonly DocumentState[];
  /** Topics of these groups and of those of the documents are subscribed to. */
  readonly groupsWith: (groups: readonly GroupMember[]) => readonly string[];
  /** The groups of the configuration are these from now on. */
  readonly onGroups: (groups: readonly GroupMember[]) => void;
  readonly record: RecordEvent;
  /** What is shown has changed. */
  readonly onChange: () => void;
}

/** Trial and proof together take at most ten minutes. */
const TRY_MS = 5 * 60_000;
const PROVE_MS = 5 * 60_000;
const AGAIN_MS = 10_000;
/** An answer of the broker that a later try may still change, but not many. */
const MOST_REFUSALS = 3;
const REFUSALS: readonly string[] = [
  "CertificateRefused",
  "ConnectRefused",
  "ReportRefused",
  "SubscribeRefused",
];
/** Without any answer since the start of the agent, the settings before are asked whether they still work. */
const UNREACHED_MS = 30 * 60_000;
const UNREACHED_AGAIN_MS = 5 * 60_000;
const IDLE_MS = 3_600_000;
const STORE_AGAIN_MS = 30_000;

type Outcome =
  | { readonly type: "Answered" }
  | { readonly type: "Failed"; readonly why: Failure }
  /** The agent stops, or something else is wanted. */
  | { readonly type: "Interrupted" };

export class RemoteSettingsKeeper {
  readonly #options: RemoteSettingsOptions;
  readonly #startedAt: Monotonic;
  readonly #nothing: string;
  readonly #texts = new WeakMap<RemoteSettings, string>();
  #wake = new AbortController();
  #askedAt: Monotonic;
  /** Last failure of the trial that goes on. */
  #trouble: Failure | undefined;

  constructor(options: RemoteSettingsOptions) {
    this.#options = options;
    this.#startedAt = options.edges.clock.monotonic();
    this.#askedAt = this.#startedAt;
    this.#nothing = this.#digest(settingsText(NO_SETTINGS));
  }

  /** In the report; undefined = no document has ever set anything. */
  reported(): ReportedSettings | undefined {
    return reportedSettings(this.#record, { step: this.#step(), trouble: this.#trouble });
  }

  conditions(): readonly NodeCondition[] {
    return settingsConditions(this.#record, this.#step());
  }

  /** The documents, or the connection, may have changed. */
  look(): void {
    this.#wake.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    let isCounted = false;
    while (!signal.aborted)
      try {
        if (!isCounted) this.#write(started(this.#record));
        isCounted = true;
        await this.#perform(this.#step(), signal);
      } catch (error) {
        // A disk that takes nothing lets nothing begin.
        const { clock, log } = this.#options.edges;
        log.error("cannot go on with settings of a document; trying again", {
          error: messageOf(error),
        });
        await clock.sleep(STORE_AGAIN_MS, signal);
      }
  }

  async #perform(step: SettingsStep, signal: AbortSignal): Promise<void> {
    const unfit = this.#options.device.settingsError(this.#settingsOf(this.#record.inForce));
    if (this.#record.inForce !== undefined && unfit !== undefined)
      return this.#goBack({ reason: "DoesNotFit", message: unfit });
    switch (step.type) {
      case "Rest":
        return this.#rest(signal);
      case "Try":
        return this.#try(step.wanted, signal);
      case "Prove":
        return this.#prove(signal);
      case "Undo":
        return this.#goBack(step.why);
    }
  }

  get #record(): SettingsRecord {
    return this.#options.edges.store.settings.read();
  }

  #step(): SettingsStep {
    return nextStep(this.#record, this.#wanted(), this.#nothing);
  }

  #wanted(): WantedSettings | undefined {
    const documents = this.#options.documents().map(({ document }) => document);
    return wantedOf(documents, (document) => this.#written(document));
  }

  #written({ config }: DesiredDocument): Pick<KeptSettings, "settings" | "digest"> | undefined {
    if (config === undefined) return undefined;
    const settings = this.#texts.get(config) ?? settingsText(config);
    this.#texts.set(config, settings);
    return { settings, digest: this.#digest(settings) };
  }

  #digest(text: string): string {
    return `sha256:${this.#options.edges.sha256(text)}`;
  }

  async #rest(signal: AbortSignal): Promise<void> {
    if (this.#record.trying !== undefined) this.#write(dropped(this.#record));
    const { clock } = this.#options.edges;
    const { hasAcknowledged = false } = this.#options.port.facts();
    const isSafe = hasAcknowledged || this.#record.inForce === undefined;
    if (isSafe) return this.#sleep(IDLE_MS, signal);
    const askAt = Math.max(this.#startedAt + UNREACHED_MS, this.#askedAt + UNREACHED_AGAIN_MS);
    const wait = askAt - clock.monotonic();
    if (wait > 0) return this.#sleep(wait, signal);
    await this.#askPrevious(signal);
  }

  /** Goes back only to what answers: a line that is down changes nothing. */
  async #askPrevious(signal: AbortSignal): Promise<void> {
    this.#askedAt = this.#options.edges.clock.monotonic();
    try {
      await this.#attempt(this.#settingsOf(this.#record.previous), signal);
    } catch (error) {
      this.#options.edges.log.debug("the settings before do not connect either", {
        error: messageOf(error),
      });
      return;
    }
    const message = `the broker has not answered for ${UNREACHED_MS / 60_000} minutes, and that of the settings before does`;
    this.#goBack({ reason: "Unreachable", message });
  }

  async #try(wanted: WantedSettings, signal: AbortSignal): Promise<void> {
    const { edges } = this.#options;
    const before = this.#record;
    this.#write(trying(before, wanted));
    if (hasTooManyStarts(this.#record))
      return this.#failed(wanted, tooManyStarts("during the trial"));
    if (this.#record !== before)
      this.#event("Normal", "SettingsTried", `settings of ${originOf(wanted)} are tried`);
    const outcome = await this.#untilAnswered(wanted, signal);
    this.#trouble = undefined;
    switch (outcome.type) {
      case "Interrupted":
        return;
      case "Failed":
        return this.#failed(wanted, outcome.why);
      case "Answered": {
        this.#write(committed(this.#record, wanted, edges.clock.now()));
        edges.log.info("settings of a document are in force", { ...originFields(wanted) });
        this.#connect();
      }
    }
  }

  /** Tries until the broker has answered everything, has refused it several times, or the time is over. */
  async #untilAnswered(wanted: WantedSettings, signal: AbortSignal): Promise<Outcome> {
    const { edges } = this.#options;
    const settings = this.#settingsOf(wanted);
    const unfit = this.#options.device.settingsError(settings);
    if (unfit !== undefined)
      return { type: "Failed", why: { reason: "DoesNotFit", message: unfit } };
    using limit = deadline(edges.clock, TRY_MS, signal);
    let refusals = 0;
    for (;;) {
      try {
        await this.#attempt(settings, limit.signal);
        return { type: "Answered" };
      } catch (error) {
        if (signal.aborted) return { type: "Interrupted" };
        const why = failureOf(error, this.#trouble, limit.signal);
        if (REFUSALS.includes(why.reason)) refusals += 1;
        edges.log.warn("the new connection does not work yet", { ...why });
        this.#trouble = why;
        this.#options.onChange();
        if (limit.signal.aborted || refusals >= MOST_REFUSALS) return { type: "Failed", why };
      }
      await edges.clock.sleep(AGAIN_MS, limit.signal);
      if (signal.aborted || this.#wanted()?.digest !== wanted.digest)
        return { type: "Interrupted" };
      if (limit.signal.aborted)
        return { type: "Failed", why: this.#trouble ?? failureOf(undefined, undefined, signal) };
    }
  }

  async #attempt(settings: RemoteSettings, signal: AbortSignal): Promise<void> {
    const { edges, nodeName, port, link, groupsWith } = this.#options;
    const config = this.#options.device.configWith(settings).mqtt;
    const report = port.report();
    if (config === undefined || report === undefined) throw new Error("there is no connection yet");
    const groups = groupsWith(config.groups ?? []);
    const filters = subscriptionsFor(config.topicRoot, nodeName, groups);
    const clientId = clientIdOf(nodeName, { config, now: link.get().mqtt });
    await tryConnection({ edges, config, clientId, filters, report }, signal);
  }

  /** In force and unproven: the connection itself is the proof. */
  async #prove(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options.edges;
    using limit = deadline(clock, PROVE_MS, signal);
    while (!limit.signal.aborted) {
      const { port, link } = this.#options;
      if (link.isInUse && port.facts().hasAcknowledged === true) {
        const { inForce } = this.#record;
        this.#write(proven(this.#record));
        log.info("settings of a document have proved themselves", {
          ...(inForce === undefined ? {} : originFields(inForce)),
        });
        const message =
          inForce === undefined
            ? "the settings of the device are in force"
            : `settings of ${originOf(inForce)} are in force`;
        this.#event("Normal", "SettingsInForce", message);
        return this.#useGroups();
      }
      await this.#sleep(AGAIN_MS, limit.signal);
    }
    if (signal.aborted) return;
    const message = `the broker has acknowledged nothing within ${PROVE_MS / 60_000} minutes after the change`;
    this.#goBack({ reason: "NotProven", message });
  }

  #goBack(why: Failure): void {
    const { clock, log } = this.#options.edges;
    const { inForce } = this.#record;
    this.#write(wentBack(this.#record, { why, now: clock.now() }));
    log.error("settings of a document are taken back", { ...why });
    const what = inForce === undefined ? "settings" : `settings of ${originOf(inForce)}`;
    this.#event("Warning", "SettingsUndone", `${what} were taken back: ${why.message}`);
    this.#connect();
    this.#useGroups();
  }

  #failed(wanted: WantedSettings, why: Failure): void {
    const { clock, log } = this.#options.edges;
    this.#write(trialFailed(this.#record, wanted, { why, now: clock.now() }));
    log.error("settings of a document are not used", { ...originFields(wanted), ...why });
    const message = `settings of ${originOf(wanted)} are not used: ${why.message}`;
    this.#event("Warning", "SettingsUndone", message);
  }

  #connect(): void {
    const { link, device, onChange } = this.#options;
    const next = linkOf(device.configWith(this.#settingsOf(this.#record.inForce)));
    // Settings never take the broker away.
    if (next !== undefined) link.set(next);
    onChange();
  }

  /** Only of what has proved itself: a group that is left takes its pods along. */
  #useGroups(): void {
    const { mqtt } = this.#options.device.configWith(this.#settingsOf(this.#record.inForce));
    this.#options.onGroups(mqtt?.groups ?? []);
    this.#options.onChange();
  }

  #settingsOf(kept: KeptSettings | undefined): RemoteSettings {
    return readKeptSettings(kept === undefined ? undefined : parseJson(kept.settings));
  }

  /** Throws when the disk takes nothing. */
  #write(record: SettingsRecord): void {
    if (record === this.#record) return;
    this.#options.edges.store.settings.write(record);
    this.#options.onChange();
  }

  #event(type: "Normal" | "Warning", reason: string, message: string): void {
    const { record, nodeName: name } = this.#options;
    record({ type, reason, message, object: { kind: "Node", name } });
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#wake.signal.aborted) this.#wake = new AbortController();
    const woken = AbortSignal.any([signal, this.#wake.signal]);
    await this.#options.edges.clock.sleep(ms, woken);
  }
}

/** The part of a configuration that the connection needs; undefined = no broker is configured. */
export function linkOf(config: AgentConfig): LinkConfig | undefined {
  const { mqtt, nodeStatusReportFrequencyMs: frequency } = config;
  return mqtt === undefined ? undefined : { mqtt, frequency };
}

/** What is used until the first decision: groups only of what has proved itself. */
export function settingsAtStart(
  record: SettingsRecord,
  { configWith, settingsError }: DeviceConfig,
): { readonly link: LinkConfig | undefined; readonly groups: readonly GroupMember[] } {
  const configOf = (kept: KeptSettings | undefined): AgentConfig => {
    const settings = readKeptSettings(kept === undefined ? undefined : parseJson(kept.settings));
    return configWith(settingsError(settings) === undefined ? settings : NO_SETTINGS);
  };
  const { inForce, previous, unproven } = record;
  const groups = configOf(unproven === true ? previous : inForce).mqtt?.groups ?? [];
  return { link: linkOf(configOf(inForce)), groups };
}

/** On the same broker a second session of the same client would end the first one. */
function clientIdOf(
  nodeName: string,
  { config, now }: { readonly config: MqttConfig; readonly now: MqttConfig },
): string {
  const mine = hostsOf(now);
  const isSame = hostsOf(config).some((host) => mine.includes(host));
  return isSame ? `${nodeName}-settings` : nodeName;
}

function hostsOf({ url, alternateUrls = [] }: MqttConfig): readonly string[] {
  return [url, ...alternateUrls].map((one) => URL.parse(one)?.hostname ?? one);
}

function failureOf(error: unknown, before: Failure | undefined, signal: AbortSignal): Failure {
  // The end of the time is no reason of its own where there was another one.
  if (signal.aborted && before !== undefined) return before;
  return { reason: reasonOf(error, "ConnectFailed"), message: messageOf(error) };
}

function originOf({ source, generation }: KeptSettings): string {
  return `generation ${generation} of ${source}`;
}

function originFields({ source, generation, digest }: KeptSettings) {
  return { source, generation, digest };
}
