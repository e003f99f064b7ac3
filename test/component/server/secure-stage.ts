// The local server with its TLS listener on a free port, and clients of it: with a kubeconfig, and with raw bytes.

import { expect } from "bun:test";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { connect, type Socket } from "node:net";
import { realFiles } from "../../../src/host/real-files.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { Meter } from "../../../src/lib/meter.ts";
import { systemRandom } from "../../../src/lib/system-clock.ts";
import type { ServerFacts } from "../../../src/node/node-api.ts";
import { isKubeconfig } from "../../../src/node/user-views.ts";
import { LocalServer } from "../../../src/server/local-server.ts";
import type { SecureDoorSettings } from "../../../src/server/secure/secure-door.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { freePort } from "../../harness/free-port.ts";
import { NO_STREAMS, someFacts } from "../../unit/server/some-facts.ts";

export interface SecureStageOptions {
  readonly directory: string;
  readonly facts?: Partial<ServerFacts>;
  readonly clock?: VirtualClock;
  /** Absent = a free one. */
  readonly port?: number;
  readonly settings?: Partial<SecureDoorSettings>;
  /** The socket's. */
  readonly socketGroup?: string;
  /** Do not wait until TLS is open. */
  readonly isClosed?: boolean;
}

export interface Credentials {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

export interface Made extends Credentials {
  readonly server: string;
  readonly notes: readonly string[];
}

export interface SecureStage extends Disposable {
  readonly port: number;
  readonly socket: string;
  readonly stateDir: string;
  readonly clock: VirtualClock;
  readonly lines: readonly string[];
  readonly meter: Meter;
  readonly server: LocalServer;
  /** As if something on the node had changed. */
  change(): void;
  /** On the unix socket. */
  local(path: string, init?: RequestInit): Promise<Response>;
  /** A new user, as `agent kubeconfig` makes it. */
  make(query?: string): Promise<Made>;
  /** Over TLS; each on a connection of its own. */
  get(path: string, as: Partial<Credentials>, init?: RequestInit): Promise<Response>;
  /** A TLS connection, after its handshake. */
  tls(as: Partial<Credentials>): Promise<TLSSocket>;
  /** Before any handshake. */
  tcp(): Promise<Socket>;
}

export async function openSecure(options: SecureStageOptions): Promise<SecureStage> {
  const { directory, clock = new VirtualClock(), settings = {}, facts = {} } = options;
  const port = options.port ?? settings.listen?.port ?? freePort();
  const stateDir = join(directory, "state");
  const socket = join(directory, "agent.sock");
  const lines: string[] = [];
  const watchers = new Set<() => void>();
  const meter = new Meter();
  const files = realFiles();
  files.makeDirectory(stateDir, 0o700);
  const server = new LocalServer({
    socket,
    socketGroup: options.socketGroup,
    files,
    podLogsDir: "/nonexistent",
    cri: NO_STREAMS,
    clock,
    meter,
    log: createLogger({ clock, level: "info", write: (line) => lines.push(line) }),
    facts: someFacts(facts),
    onChange: (run) => {
      watchers.add(run);
      return { [Symbol.dispose]: () => void watchers.delete(run) };
    },
    secure: {
      stateDir,
      listen: { host: "127.0.0.1", port },
      certificateFiles: undefined,
      nodeName: "pi-1",
      hostname: "raspberrypi",
      random: systemRandom,
      addresses: () => ["192.0.2.5"],
      clockFloor: () => 0,
      clockSynchronised: () => true,
      ...settings,
    },
  });
  await server.listen();
  const local = (path: string, init?: RequestInit): Promise<Response> =>
    fetch(`http://agent${path}`, { ...init, unix: socket });
  const stage: SecureStage = {
    port,
    socket,
    stateDir,
    clock,
    lines,
    meter,
    server,
    change: () => watchers.forEach((run) => run()),
    local,
    make: async (query = "user=admin&access=Full") =>
      madeOf(await local(`/kubeconfig?${query}`, { method: "POST" })),
    get: async (path, as, init) => {
      const headers = new Headers(init?.headers);
      headers.set("connection", "close");
      if (as.token !== undefined) headers.set("authorization", `Bearer ${as.token}`);
      return fetch(`https://127.0.0.1:${port}${path}`, { ...init, headers, tls: tlsOf(as) });
    },
    tls: (as) =>
      new Promise((resolve, reject) => {
        const client = connectTls({ host: "127.0.0.1", port, ...tlsOf(as) }, () => resolve(client));
        client.once("error", reject);
      }),
    tcp: () =>
      new Promise((resolve, reject) => {
        const client = connect({ host: "127.0.0.1", port }, () => resolve(client));
        client.once("error", reject);
      }),
    [Symbol.dispose]: () => server.stop(),
  };
  if (options.isClosed !== true) await untilOpen(stage);
  return stage;
}

/** `--list` waits its turn behind the opening. */
async function untilOpen(stage: SecureStage): Promise<void> {
  for (;;) {
    const listed: unknown = await (await stage.local("/kubeconfig")).json();
    if (typeof listed === "object" && listed !== null && "listen" in listed) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function tlsOf({ ca, cert, key }: Partial<Credentials>) {
  return {
    ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

interface KubeconfigShape {
  readonly clusters: readonly [
    { readonly cluster: { readonly server: string; "certificate-authority-data": string } },
  ];
  readonly users: readonly [
    {
      readonly user: {
        readonly token?: string;
        readonly "client-certificate-data"?: string;
        readonly "client-key-data"?: string;
      };
    },
  ];
}

async function madeOf(response: Response): Promise<Made> {
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  const view: unknown = JSON.parse(text);
  if (!isKubeconfig(view)) throw new Error(text);
  const config = view.config as KubeconfigShape;
  const [{ cluster }] = config.clusters;
  const [{ user }] = config.users;
  const plain = (data: string | undefined): string => Buffer.from(data ?? "", "base64").toString();
  return {
    server: cluster.server,
    notes: view.notes,
    ca: plain(cluster["certificate-authority-data"]),
    ...(user.token === undefined
      ? { cert: plain(user["client-certificate-data"]), key: plain(user["client-key-data"]) }
      : { token: user.token }),
  };
}

/** Everything until the other end closes, which must happen. */
export function untilClosed(client: Socket): Promise<string> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    client.on("data", (part: Buffer) => parts.push(part));
    client.on("error", () => undefined);
    client.once("close", () => resolve(Buffer.concat(parts).toString()));
    client.once("end", () => client.destroy());
  });
}

/** The next bytes. */
export function nextData(client: Socket): Promise<string> {
  return new Promise((resolve) => client.once("data", (part: Buffer) => resolve(part.toString())));
}

export async function expectUnauthorized(response: Response): Promise<void> {
  expect(response.status).toBe(401);
  const text = await response.text();
  expect(text).toContain("sudo agent kubeconfig");
  expect(JSON.parse(text)).toMatchObject({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    reason: "Unauthorized",
    code: 401,
  });
}
