// Performs: checks the certificates of the connection at each connect and every six hours, because a connection can
// last for months.

import type { MqttConfig } from "../../config/config.ts";
import type { NodeCondition } from "../../api/v1/pod-status.ts";
import type { Edges } from "../../edges.ts";
import { messageOf } from "../../lib/errors.ts";
import { certificateExpiries } from "../../mqtt/parse-certificates.ts";
import { readText } from "./connect-options.ts";
import { certificateConditions, type CertificateFile } from "./certificate-expiry.ts";

interface CertificateWatchOptions extends Pick<
  Edges,
  "clock" | "log" | "files" | "clockSynchronised"
> {
  readonly config: Pick<MqttConfig, "ca" | "caFile" | "certFile" | "keyFile">;
  /** `conditions()` has changed. */
  readonly onChange: () => void;
}

const CHECK_INTERVAL_MS = 6 * 3_600_000;

export class CertificateWatch {
  readonly #options: CertificateWatchOptions;
  #conditions: readonly NodeCondition[] = [];

  constructor(options: CertificateWatchOptions) {
    this.#options = options;
  }

  conditions(): readonly NodeCondition[] {
    return this.#conditions;
  }

  /** Reads the files as they are now. */
  look(): void {
    const { clock, clockSynchronised, log, onChange } = this.#options;
    const now = clockSynchronised() ? clock.now() : undefined;
    const next = certificateConditions(this.#read(), now);
    if (JSON.stringify(next) === JSON.stringify(this.#conditions)) return;
    this.#conditions = next;
    for (const { type, message } of next)
      log.warn("a certificate for the broker needs attention", { reason: type, message });
    onChange();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, config } = this.#options;
    const { ca, caFile, certFile } = config;
    if (ca === undefined && caFile === undefined && certFile === undefined) return;
    while (!signal.aborted) {
      this.look();
      await clock.sleep(CHECK_INTERVAL_MS, signal);
    }
  }

  #read(): readonly CertificateFile[] {
    const { ca, caFile, certFile, keyFile } = this.#options.config;
    const ofDocument =
      ca === undefined
        ? []
        : [{ field: "mqtt.ca", path: "of a document", expiries: certificateExpiries(ca) } as const];
    const named = [
      { field: "mqtt.caFile", path: caFile },
      { field: "mqtt.certFile", path: certFile },
      { field: "mqtt.keyFile", path: keyFile },
    ] as const;
    const files = named.flatMap(({ field, path }) =>
      path === undefined ? [] : this.#file(field, path),
    );
    return [...ofDocument, ...files];
  }

  #file(field: CertificateFile["field"], path: string): CertificateFile {
    try {
      const text = readText(this.#options.files, path);
      return { field, path, expiries: field === "mqtt.keyFile" ? [] : certificateExpiries(text) };
    } catch (error) {
      // Reported as a condition; the attempt to connect fails on its own.
      return { field, path, expiries: [], error: messageOf(error) };
    }
  }
}
