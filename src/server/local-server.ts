// Performs: the API of the node for users on the device: HTTP on a unix socket that only root may open.

import { lchownSync } from "node:fs";
import type { Duplex } from "node:stream";
import { dirname } from "node:path";
import type { ExecProcesses } from "../host/process/exec-processes.ts";
import type { Files } from "../host/files.ts";
import type { Clock } from "../lib/clock.ts";
import { AgentError, messageOf } from "../lib/errors.ts";
import { withoutUndefined } from "../lib/json.ts";
import type { Logger } from "../lib/logger.ts";
import type { Meter } from "../lib/meter.ts";
import type { Random } from "../lib/random.ts";
import type { ServerFacts } from "../node/node-api.ts";
import { Gate, type KnownUsers } from "./access/gate.ts";
import { HttpDoor } from "./http/http-door.ts";
import { KubeApi } from "./kube/kube-api.ts";
import { ManifestStore, type ManifestPlace } from "./kube/write/manifest-store.ts";
import { respond } from "./routes.ts";
import { groupNumber } from "./socket-group.ts";
import { browserReply } from "./secure/browser-routes.ts";
import { kubeconfigReply } from "./secure/kubeconfig-routes.ts";
import { SecureDoor, type SecureDoorSettings } from "./secure/secure-door.ts";
import type { StreamRuntime } from "./stream/runtime-streams.ts";
import { StreamDoor, upgradeRequired } from "./stream/stream-door.ts";

export interface LocalServerOptions {
  /** Path of the socket. The caller holds the lock of its stateDir. */
  readonly socket: string;
  readonly facts: ServerFacts;
  readonly files: Files;
  readonly podLogsDir: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Absent = nothing is counted. */
  readonly meter?: Meter;
  /** Runs commands in containers and reaches their ports. */
  readonly cri: StreamRuntime;
  /** Absent = commands of clients that are gone run on. */
  readonly execProcesses?: ExecProcesses;
  /** Calls back whenever something that is shown may have changed. */
  readonly onChange: (run: () => void) => Disposable;
  /** Where clients' objects become files; absent = the API only reads. */
  readonly manifests?: ManifestPlace & { readonly random: Random };
  /** Name or number of the group that may use the socket too. */
  readonly socketGroup?: string | undefined;
  /** Absent = there is no TLS. */
  readonly secure?: SecureDoorSettings;
}

const SOCKET_MODE = 0o600;
const GROUP_MODE = 0o660;
/** Without TLS. */
const NO_USERS: KnownUsers = {
  state: () => undefined,
  hosts: () => new Set(),
  certainTime: () => undefined,
  browsers: undefined,
};
/** Everything but the owner's read and write. */
const SOCKET_UMASK = 0o177;
const DIRECTORY_MODE = 0o755;

export class LocalServer {
  readonly #options: LocalServerOptions;
  readonly #kube: KubeApi;
  readonly #store: ManifestStore | undefined;
  readonly #door: HttpDoor;
  readonly #gate: Gate;
  readonly #secure: SecureDoor | undefined;
  readonly #watch: Disposable | undefined;

  constructor(options: LocalServerOptions) {
    this.#options = options;
    const { facts, log, clock, manifests, onChange, meter } = options;
    this.#store = manifests && new ManifestStore({ ...options, ...manifests });
    const writing = manifests && this.#store && { store: this.#store, random: manifests.random };
    this.#kube = new KubeApi({ ...options, ...withoutUndefined({ writing }) });
    this.#secure = this.#secureDoor();
    const secure = this.#secure;
    const gate = new Gate({ clock, log, users: secure ?? NO_USERS });
    this.#gate = gate;
    this.#watch = secure && onChange(() => secure.look());
    const streams = new StreamDoor({ ...options, pods: () => facts.pods() });
    this.#door = new HttpDoor({
      clock,
      log,
      ...withoutUndefined({ meter }),
      admit: (asked) => gate.admit(asked),
      onBusy: (socket, isBusy) => secure?.setBusy(socket, isBusy),
      reply: async (request) =>
        (await kubeconfigReply(request, secure)) ??
        (await browserReply(request, secure)) ??
        upgradeRequired(request.url.pathname) ??
        (await this.#kube.reply(request)) ??
        respond(request, facts),
      upgrade: (request) => streams.upgrade(request),
    });
  }

  /** A socket file of a dead agent is replaced. Rejects with AgentError `ListenError`. */
  async listen(): Promise<void> {
    const { socket, files } = this.#options;
    this.#store?.sweep();
    try {
      files.makeDirectory(dirname(socket), DIRECTORY_MODE);
      files.remove(socket);
      await this.#bind();
      files.setMode(socket, SOCKET_MODE);
      this.#shareSocket();
    } catch (cause) {
      const message = `cannot listen on ${socket}: ${messageOf(cause)}`;
      throw new AgentError({ reason: "ListenError", message, cause });
    }
    void this.#secure?.start();
  }

  /** Accepts no more requests, ends those that run, removes the socket. */
  stop(): void {
    const { files, socket } = this.#options;
    this.#watch?.[Symbol.dispose]();
    this.#secure?.stop();
    this.#door.end();
    this.#door.server.close();
    this.#kube[Symbol.dispose]();
    files.remove(socket);
  }

  #secureDoor(): SecureDoor | undefined {
    const { secure, files, clock, log, meter } = this.#options;
    if (secure === undefined) return undefined;
    return new SecureDoor({
      ...secure,
      ...withoutUndefined({ meter }),
      files,
      clock,
      log,
      accept: (socket: Duplex, peer) => this.#door.accept(socket, peer),
      end: (credentials) => this.#gate.end(credentials),
    });
  }

  /** A group that does not exist leaves the socket to root: the pods do not depend on it. */
  #shareSocket(): void {
    const { files, socket, socketGroup, log } = this.#options;
    if (socketGroup === undefined) return;
    try {
      lchownSync(socket, process.getuid?.() ?? 0, groupNumber(files, socketGroup));
      files.setMode(socket, GROUP_MODE);
    } catch (error) {
      log.error("the socket is left to root: socketGroup cannot be used", {
        error: messageOf(error),
      });
    }
  }

  async #bind(): Promise<void> {
    const { server } = this.#door;
    // With the mask the file is never open to others, not even before the chmod.
    const umask = process.umask(SOCKET_UMASK);
    try {
      const bound = new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(this.#options.socket, () => {
          server.off("error", reject);
          resolve();
        });
      });
      await bound;
    } finally {
      process.umask(umask);
    }
  }
}
