// Performs: the certificates and users of the API: makes what is due, adds and revokes, and stores every change first.

import type { Logger } from "../../lib/logger.ts";
import { AgentError } from "../../lib/errors.ts";
import { randomSecret, type Random } from "../../lib/random.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import type { KubeconfigParts } from "./kubeconfig.ts";
import type { PkiFile } from "./pki-file.ts";
import { NO_PKI, type Access, type PkiState } from "./pki-state.ts";
import {
  certifiable,
  isAuthorityDue,
  isServerDue,
  serverAuthority,
  withoutEnded,
} from "./plan-pki.ts";

export interface PkiOptions {
  readonly file: PkiFile;
  readonly random: Random;
  readonly log: Logger;
  readonly nodeName: string;
  /** Wall-clock ms, at least the earliest that is possible. */
  readonly now: () => number;
  /** Wall-clock ms; undefined = the clock is not certain. */
  readonly certainTime: () => number | undefined;
}

export interface NewUser {
  readonly user: string;
  readonly access: Access;
  readonly kind: "Certificate" | "Token";
}

/** Of all users. */
const MAX_CREDENTIALS = 256;
/** Of --server. */
const MAX_EXTRA_NAMES = 16;

/** The caller lets one change after the other happen. */
export class Pki {
  readonly #options: PkiOptions;
  #state: PkiState | undefined;

  constructor(options: PkiOptions) {
    this.#options = options;
  }

  /** undefined = not loaded, or there is none. */
  get state(): PkiState | undefined {
    return this.#state;
  }

  /** Throws if the file cannot be read. */
  load(): PkiState | undefined {
    this.#state ??= this.#options.file.read();
    return this.#state;
  }

  /** `names`: undefined = the server has a certificate of its own. Of what is loaded. */
  isDue(names: readonly string[] | undefined): boolean {
    const [state, now] = [this.#state ?? NO_PKI, this.#options.now()];
    return (
      isAuthorityDue(state, now) || (names !== undefined && isServerDue(state, { now, names }))
    );
  }

  /** Makes the certificates that are due. Throws if they cannot be stored. */
  async renew(names: readonly string[] | undefined): Promise<PkiState> {
    const before = this.load() ?? NO_PKI;
    if (!this.isDue(names) && this.#state !== undefined) return before;
    const { random, log, nodeName, certainTime } = this.#options;
    const now = this.#options.now();
    const made = await import("./issue-certificates.ts");
    let state = withoutEnded(before, certainTime());
    if (isAuthorityDue(state, now)) {
      const authority = await made.issueAuthority(nodeName, { random, now });
      state = { ...state, authorities: [authority, ...state.authorities] };
      log.info("made a certificate authority for the API", { serial: authority.id });
    }
    const signer = serverAuthority(state, now);
    if (names !== undefined && signer !== undefined && isServerDue(state, { now, names })) {
      const server = await made.issueServer(signer, certifiable(names), { random, now });
      state = { ...state, server };
      log.info("made a server certificate for the API", { names: server.names });
    }
    return this.#store(state);
  }

  /** After `renew`. Throws AgentError `TooMany` beyond the limit, and if the file cannot be written. */
  async add({ user, access, kind }: NewUser): Promise<KubeconfigParts["credential"]> {
    const { random, log, certainTime } = this.#options;
    const state = withoutEnded(this.#state ?? NO_PKI, certainTime());
    const { certificates, tokens } = state;
    if (certificates.length + tokens.length >= MAX_CREDENTIALS)
      throw tooMany(`there are ${MAX_CREDENTIALS} certificates and tokens`);
    log.info("adds a user of the API", { user, access, kind });
    if (kind === "Token") {
      const token = randomSecret(random);
      this.#store({ ...state, tokens: [...tokens, { user, access, sha256: sha256(token) }] });
      return { type: "Token", token };
    }
    const [authority] = state.authorities;
    if (authority === undefined) throw new Error("there is no certificate authority");
    const { issueUser } = await import("./issue-certificates.ts");
    const issued = await issueUser(
      authority,
      { user, access },
      { random, now: this.#options.now() },
    );
    const { certificate, key, sha256: digest, notAfter } = issued;
    const entry = { user, access, sha256: digest, notAfter };
    this.#store({ ...state, certificates: [...certificates, entry] });
    return { type: "Certificate", certificate, key };
  }

  /** What no longer counts; [] = there is no such user. Throws if the file cannot be written. */
  revoke(user: string): readonly string[] {
    const state = this.load();
    if (state === undefined) return [];
    const isOther = (one: { readonly user: string }): boolean => one.user !== user;
    const gone = [...state.certificates, ...state.tokens].filter((one) => !isOther(one));
    if (gone.length === 0) return [];
    this.#store({
      ...state,
      certificates: state.certificates.filter(isOther),
      tokens: state.tokens.filter(isOther),
    });
    this.#options.log.info("revoked a user of the API", { user, credentials: gone.length });
    return gone.map(({ sha256: digest }) => digest);
  }

  /** Whether the API is open where the configuration has no `listen`. */
  setOpen(isOpen: boolean): void {
    const state = this.load() ?? NO_PKI;
    if (state.isOpen !== isOpen) this.#store({ ...state, isOpen });
  }

  /** A name or address under which clients reach this node. */
  addName(name: string): void {
    const state = this.load() ?? NO_PKI;
    if (state.names.includes(name)) return;
    if (state.names.length >= MAX_EXTRA_NAMES)
      throw tooMany(`--server has given this node ${MAX_EXTRA_NAMES} names`);
    this.#store({ ...state, names: [...state.names, name] });
  }

  #store(state: PkiState): PkiState {
    this.#options.file.write(state);
    this.#state = state;
    return state;
  }
}

function tooMany(what: string): AgentError {
  const message = `${what}, which is the limit: revoke users with "agent kubeconfig --revoke NAME", or start anew by removing the directory pki in stateDir and restarting the agent`;
  return new AgentError({ reason: "TooMany", message });
}
