// Performs: the API over TLS: open on the `listen` of the configuration, or since the first `agent kubeconfig`.

import { X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import { DEFAULT_LISTEN, hostAndPort, listenAddress } from "../../config/listen-config.ts";
import type { ListenAddress } from "../../config/listen-config.ts";
import type { Files } from "../../host/files.ts";
import { rfc3339, type Clock } from "../../lib/clock.ts";
import { Limiter } from "../../lib/concurrency-limit.ts";
import { AgentError, messageOf } from "../../lib/errors.ts";
import { withoutUndefined } from "../../lib/json.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Meter } from "../../lib/meter.ts";
import type { Random } from "../../lib/random.ts";
import { TOKEN_MS, type Holder } from "../access/browser-access.ts";
import { BrowserSessions } from "../access/browser-sessions.ts";
import type { KnownUsers } from "../access/gate.ts";
import type { TlsPeer } from "../access/peer.ts";
import { Connections } from "./connections.ts";
import { HandshakeRate, type HandshakeLimits } from "./handshake-rate.ts";
import { kubeconfig } from "./kubeconfig.ts";
import { PkiFile } from "./pki-file.ts";
import type { PkiState } from "./pki-state.ts";
import { Pki, type NewUser } from "./pki.ts";
import { OwnCertificateFiles, type CertificateFiles } from "./server-certificate.ts";
import { defaultServer, isLoopback, serverNames } from "./server-names.ts";
import { TlsListener, type TlsKeys } from "./tls-listener.ts";

export interface SecureDoorSettings {
  readonly stateDir: string;
  /** Of the configuration; undefined = it has none. */
  readonly listen: ListenAddress | undefined;
  /** Where it is opened without `listen`; absent = DEFAULT_LISTEN. */
  readonly fallback?: ListenAddress;
  /** The server's own certificate; undefined = one of this node's authority. */
  readonly certificateFiles: CertificateFiles | undefined;
  readonly nodeName: string;
  readonly hostname: string;
  readonly random: Random;
  /** IP addresses of the node, those of the default route first. */
  readonly addresses: () => readonly string[];
  /** Wall-clock ms before which it cannot be. */
  readonly clockFloor: () => number;
  readonly clockSynchronised: () => boolean;
  /** Absent = HANDSHAKES. */
  readonly handshakes?: HandshakeLimits;
}

export interface SecureDoorOptions extends SecureDoorSettings {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Logger;
  /** Absent = nothing is counted. */
  readonly meter?: Meter;
  readonly accept: (socket: Duplex, peer: TlsPeer) => void;
  /** Ends what runs for these credentials. */
  readonly end: (credentials: readonly string[]) => void;
}

export interface KubeconfigOrder extends NewUser {
  /** undefined = the address that is listened on. */
  readonly server: { readonly url: string; readonly host: string } | undefined;
}

export interface MadeKubeconfig {
  readonly config: object;
  /** What the caller should know, as sentences. */
  readonly notes: readonly string[];
}

/** How a browser reaches the page once. */
export interface BrowserAddress {
  readonly url: string;
  readonly seconds: number;
  readonly notes: readonly string[];
}

const FALLBACK: ListenAddress = listenAddress(DEFAULT_LISTEN) ?? { host: "127.0.0.1", port: 6450 };
/** The shortest time between two looks at addresses and certificates, which happen only when something else does. */
const LOOK_MS = 5_000;
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

export class SecureDoor implements KnownUsers {
  readonly #options: SecureDoorOptions;
  readonly #pki: Pki;
  readonly #file: PkiFile;
  readonly #own: OwnCertificateFiles | undefined;
  readonly #connections: Connections;
  readonly #rate: HandshakeRate;
  readonly #turn = new Limiter(1);
  readonly browsers: BrowserSessions;
  readonly #stop = new AbortController();
  #listener: TlsListener | undefined;
  #lookedAt: number | undefined;
  #hosts: ReadonlySet<string> = new Set();

  constructor(options: SecureDoorOptions) {
    this.#options = options;
    const { stateDir, clock, random, log, nodeName, certificateFiles, clockFloor } = options;
    this.#file = new PkiFile(stateDir, options);
    this.#own = certificateFiles && new OwnCertificateFiles(certificateFiles, options);
    this.#connections = new Connections(clock);
    this.browsers = new BrowserSessions({ clock, random, end: options.end });
    this.#rate = new HandshakeRate(options.handshakes);
    this.#pki = new Pki({
      file: this.#file,
      random,
      log,
      nodeName,
      now: () => Math.max(clock.now(), clockFloor()),
      certainTime: () => this.certainTime(),
    });
  }

  state(): PkiState | undefined {
    return this.#pki.state;
  }

  hosts(): ReadonlySet<string> {
    return this.#hosts;
  }

  certainTime(): number | undefined {
    const { clock, clockSynchronised } = this.#options;
    return clockSynchronised() ? clock.now() : undefined;
  }

  /** Where it is open; undefined = it is closed. */
  get address(): ListenAddress | undefined {
    if (this.#listener === undefined) return undefined;
    return { ...this.#address(), port: this.#listener.port };
  }

  /** Opens it if it should be open, and tries until it is. Never rejects. */
  async start(): Promise<void> {
    const { listen, log, clock } = this.#options;
    if (listen === undefined && !this.#file.exists) return;
    let last = "";
    for (let wait = RETRY_MS; !this.#stop.signal.aborted;) {
      try {
        return await this.#turn.run(() => this.#openIfWanted());
      } catch (error) {
        const message = messageOf(error);
        if (message !== last)
          log.error("the API over TLS is not open; trying again", { error: message });
        last = message;
      }
      await clock.sleep(wait, this.#stop.signal);
      wait = Math.min(2 * wait, LONGEST_RETRY_MS);
    }
  }

  stop(): void {
    this.#stop.abort();
    this.browsers.revoke();
    this.#listener?.close();
    this.#listener = undefined;
  }

  /** Whether a request of a known user runs on a connection. */
  setBusy(socket: Duplex, isBusy: boolean): void {
    if (isBusy) this.#connections.busy(socket);
    else this.#connections.idle(socket);
  }

  /** A new user; opens the API if it is closed. Throws AgentError, and if it cannot be stored. */
  kubeconfig(order: KubeconfigOrder): Promise<MadeKubeconfig> {
    return this.#turn.run(() => this.#make(order));
  }

  /** An address with a one-time token; opens the API if it is closed. Throws like `kubeconfig`. */
  browserAddress(holder: Holder): Promise<BrowserAddress> {
    return this.#turn.run(async () => {
      const { url, notes } = await this.#reached(undefined);
      const address = `${url}/ui/login#token=${this.browsers.offer(holder)}`;
      return {
        url: address,
        seconds: TOKEN_MS / 1000,
        notes: [...notes, this.#unknownToBrowsers()],
      };
    });
  }

  /** Ends certificates, tokens and sessions of a user. How many there were. */
  revoke(user: string): Promise<number> {
    return this.#turn.run(() => {
      const gone = this.#pki.revoke(user);
      this.#options.end(gone);
      return Promise.resolve(gone.length + this.browsers.revoke(user));
    });
  }

  /** Closes what `kubeconfig` has opened; users stay, sessions end. false = the configuration has it open. */
  close(): Promise<boolean> {
    return this.#turn.run(() => {
      if (this.#options.listen !== undefined) return Promise.resolve(false);
      this.#pki.setOpen(false);
      this.browsers.revoke();
      this.#listener?.close();
      this.#listener = undefined;
      return Promise.resolve(true);
    });
  }

  /** With all users. Throws if the file cannot be read. */
  users(): PkiState | undefined {
    return this.#pki.load();
  }

  /** Of browsers, with the wall-clock time of their end as far as the clock is right. */
  sessions(): readonly {
    readonly user: string;
    readonly access: string;
    readonly notAfter: string;
  }[] {
    const { clock } = this.#options;
    return this.browsers.list().map(({ user, access, endsAt }) => ({
      user,
      access,
      notAfter: rfc3339(clock.now() + endsAt - clock.monotonic()),
    }));
  }

  /** When something has changed, or a client comes: whether the certificate still fits. Costs nothing while all is quiet. */
  look(): void {
    const { clock, log } = this.#options;
    const now = clock.monotonic();
    if (this.#listener === undefined) return;
    if (this.#lookedAt !== undefined && now - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = now;
    const isOther = this.#own?.refresh() === true;
    this.#hosts = this.#ownHosts();
    if (!isOther && !this.#pki.isDue(this.#certified())) return;
    void this.#turn
      .run(() => this.#open())
      .catch((error: unknown) => {
        log.error("the certificate of the API cannot be renewed", { error: messageOf(error) });
      });
  }

  async #openIfWanted(): Promise<void> {
    const isWanted = this.#options.listen !== undefined || this.#pki.load()?.isOpen === true;
    if (isWanted && !this.#stop.signal.aborted) await this.#open();
  }

  /** Also takes what has changed to a listener that is open. */
  async #open(): Promise<void> {
    this.#own?.refresh();
    this.#pki.load();
    const state = await this.#pki.renew(this.#certified());
    this.#hosts = this.#ownHosts();
    const keys = keysOf(state, this.#own?.current);
    if (this.#listener !== undefined) return this.#listener.setKeys(keys);
    const { accept, clock, log, meter } = this.#options;
    const address = this.#address();
    this.#listener = await TlsListener.open({
      address,
      keys,
      clock,
      connections: this.#connections,
      rate: this.#rate,
      accept,
      ...withoutUndefined({ meter }),
      onConnection: () => this.look(),
    }).catch((cause: unknown) => {
      const message = `cannot listen on ${hostAndPort(address)}: ${messageOf(cause)}`;
      throw new AgentError({ reason: "ListenError", message, cause });
    });
    if (this.#stop.signal.aborted) this.stop();
    else log.info("the API is open over TLS", { listen: hostAndPort(address) });
  }

  async #make(order: KubeconfigOrder): Promise<MadeKubeconfig> {
    const { url, notes } = await this.#reached(order.server);
    const config = kubeconfig({
      nodeName: this.#options.nodeName,
      server: url,
      authorities: this.#own?.current?.certificate ?? this.#authorities(),
      user: order.user,
      credential: await this.#pki.add(order),
    });
    return { config, notes };
  }

  /** Opens the API, until `close`, and tells where it is reached. */
  async #reached(
    server: KubeconfigOrder["server"],
  ): Promise<{ readonly url: string; readonly notes: readonly string[] }> {
    const { listen, addresses } = this.#options;
    if (server !== undefined) this.#pki.addName(server.host);
    const wasOpen = this.#listener !== undefined;
    await this.#open();
    if (listen === undefined) this.#pki.setOpen(true);
    const address = this.address ?? this.#address();
    const own = this.#own?.current;
    const url = server?.url ?? defaultServer(address, addresses());
    const notes = [
      ...(wasOpen ? [] : [`the API is open on ${hostAndPort(address)} from now on`]),
      ...(isLoopback(address) && (!wasOpen || isElsewhere(server)) ? [onlyHere(listen)] : []),
      ...(own === undefined || own.names.includes(hostOf(url)) ? [] : [notCertified(url)]),
    ];
    return { url, notes };
  }

  /** What a person compares before the browser goes on. */
  #unknownToBrowsers(): string {
    const { certificate = "" } = this.#own?.current ?? this.#pki.state?.server ?? {};
    const { fingerprint256 } = new X509Certificate(certificate);
    return `if the browser warns of an unknown authority, the SHA-256 fingerprint of the certificate must be ${fingerprint256}`;
  }

  #ownHosts(): ReadonlySet<string> {
    return new Set([...this.#names(), ...(this.#own?.current?.names ?? [])]);
  }

  #authorities(): string {
    return (this.#pki.state?.authorities ?? []).map(({ certificate }) => certificate).join("");
  }

  #address(): ListenAddress {
    return this.#options.listen ?? this.#options.fallback ?? FALLBACK;
  }

  /** undefined = the server's certificate is not made here. */
  #certified(): readonly string[] | undefined {
    return this.#own?.current === undefined ? this.#names() : undefined;
  }

  #names(): readonly string[] {
    const { nodeName, hostname, addresses } = this.#options;
    const extra = this.#pki.state?.names ?? [];
    return serverNames(this.#address(), { nodeName, hostname, addresses: addresses(), extra });
  }
}

function hostOf(url: string): string {
  return (URL.parse(url)?.hostname ?? "").replace(/^\[|\]$/g, "");
}

function notCertified(url: string): string {
  return `the certificate in tlsCertFile may not be valid for ${url}: name the node as the certificate does, with --server`;
}

function isElsewhere(server: KubeconfigOrder["server"]): boolean {
  return server !== undefined && !isLoopback(server);
}

function onlyHere(listen: ListenAddress | undefined): string {
  const how = listen === undefined ? "; agent kubeconfig --off closes it again" : "";
  return `it can be reached from this machine only; for others set listen in the configuration, such as 0.0.0.0:6450, and restart the agent${how}`;
}

function keysOf(
  { server, authorities }: PkiState,
  own: { readonly certificate: string; readonly key: string } | undefined,
): TlsKeys {
  const { certificate, key } = own ?? server ?? { certificate: "", key: "" };
  return { certificate, key, authorities: authorities.map((one) => one.certificate) };
}
