// Performs: begins a session with a pod of a node: a signed command, keys that both sides agree on, and a socket on this
// machine behind which the node's API is.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLeniently } from "../../api/schema/read-value.ts";
import { CliError } from "../../cli/exit-codes.ts";
import { LocalClient } from "../../cli/local-client.ts";
import { printable } from "../../cli/terminal-text.ts";
import { verifyEd25519 } from "../../host/crypto/ed25519.ts";
import { joinSocket } from "../../host/tunnel/join-socket.ts";
import { TunnelCipher, tunnelKey } from "../../host/tunnel/tunnel-cipher.ts";
import { Tunnel } from "../../host/tunnel/tunnel.ts";
import { messageOf } from "../../lib/errors.ts";
import { topicFor } from "../../protocol/mqtt-topics.ts";
import { handshakeMessage, TUNNEL_ANSWER, tunnelName } from "../../protocol/tunnel/handshake.ts";
import { readAnswer, type Answer } from "../command-answer.ts";
import { knownNode } from "../known-nodes.ts";
import { openFleet, type BrokerFlags, type Fleet, type FleetParts } from "../open-broker.ts";
import { judgeNodeKeys, keyProblem, type NodeKeyState } from "../seal/judge-node-keys.ts";
import { readKnownKeys } from "../seal/known-keys.ts";
import { failureOf, writeCommand } from "../send-command.ts";
import { readSigner } from "../trust/signing-keys.ts";
import { SessionWay } from "./session-way.ts";

export interface SessionFlags extends BrokerFlags {
  readonly key: readonly string[];
  /** The file with the accepted keys of nodes. */
  readonly keys: string;
}

export interface SessionTarget {
  readonly node: string;
  readonly namespace: string;
  readonly pod: string;
}

const ANSWER_MS = 30_000;

/** The node begins no sessions, whatever the pod: its log may still be read in another way. */
export class NoSession extends CliError {}

/** Runs `use` with a client of the node's API, which reaches this pod only. Throws CliError when there is no session. */
export async function withSession<T>(
  parts: FleetParts,
  { flags, target }: { readonly flags: SessionFlags; readonly target: SessionTarget },
  use: (client: LocalClient) => Promise<T>,
): Promise<T> {
  const { terminal } = parts;
  const { clock } = terminal;
  let tunnel: Tunnel | undefined;
  const { fleet, cipher, from, to } = await beginAgain(parts, flags, target);
  await using way = await SessionWay.over(fleet, {
    parts,
    flags,
    from,
    to,
    onPacket: (packet) => tunnel?.receive(packet),
    onResumed: () => tunnel?.resumed(),
  });
  tunnel = new Tunnel({ clock, cipher, side: "operator", send: (packet) => way.send(packet) });
  const open = tunnel;
  let isCutOff = false;
  void open.ended.then(({ reason }) => {
    if (reason === DONE) return;
    isCutOff = true;
    terminal.err(`the session has ended: ${printable(reason)}\n`);
  });
  // The node need not wait for an operator who has pressed Ctrl-C.
  terminal.interrupted().addEventListener("abort", () => open.close(DONE), { once: true });
  using door = await openDoor(open);
  try {
    return await use(new LocalClient({ socket: door.socket, clock, timeoutMs: ANSWER_MS }));
  } catch (error) {
    // The socket that it names is one of this process.
    if (isCutOff) throw new CliError("the command was cut off with its session; repeat it", error);
    throw error;
  } finally {
    open.close(DONE);
  }
}

const DONE = "the operator has left";

/** A socket that only this user reaches; each connection is a stream of the tunnel. */
async function openDoor(tunnel: Tunnel): Promise<Disposable & { readonly socket: string }> {
  const directory = mkdtempSync(join(tmpdir(), "agent-session-"));
  const socket = join(directory, "api.sock");
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.pause();
    tunnel.open().then(
      (stream) => {
        joinSocket(stream, client);
        client.resume();
      },
      (error: unknown) => {
        client.end(`HTTP/1.1 503 Unavailable\r\nConnection: close\r\n\r\n${messageOf(error)}`);
      },
    );
  });
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(socket, () => listening.resolve());
  await listening.promise;
  return {
    socket,
    [Symbol.dispose]: () => {
      server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A connection that is lost while a session begins is made again, a few times. */
async function beginAgain(
  parts: FleetParts,
  flags: SessionFlags,
  target: SessionTarget,
): Promise<Agreed & { readonly fleet: Fleet }> {
  for (let attempt = 1; ; attempt += 1) {
    const fleet = await openFleet(parts, flags);
    let isLost = false;
    void fleet.session.ended.then(() => (isLost = true));
    try {
      return { fleet, ...(await begin(parts, { fleet, flags, target })) };
    } catch (error) {
      // What waited for a lost connection may fail just before that is over; then it is ended here, lost or not.
      await parts.terminal.clock.sleep(0);
      const isOver = !isLost || attempt === ATTEMPTS;
      await fleet[Symbol.asyncDispose]();
      if (isOver) throw error;
    }
  }
}

const ATTEMPTS = 5;

interface Begin {
  readonly fleet: Fleet;
  readonly flags: SessionFlags;
  readonly target: SessionTarget;
}

interface Agreed {
  readonly cipher: TunnelCipher;
  readonly from: string;
  readonly to: string;
}

async function begin(
  parts: FleetParts,
  { fleet, flags, target: { node, namespace, pod } }: Begin,
): Promise<Agreed> {
  const { session, root } = fleet;
  const signers = flags.key.map(readSigner);
  const response = topicFor({ type: "NodeResponse", root, node });
  await session.subscribe([topicFor({ type: "NodeState", root, node })]);
  await session.subscribeLive([response]);
  const own = tunnelKey(parts.random);
  const args = { namespace, pod, key: own.publicKey.toBase64() };
  const sending = { fleet, parts, signers, timeout: ANSWER_MS };
  const { id, message } = writeCommand(sending, { node, verb: "exec", args });
  const judged = judgeNodeKeys(knownNode(fleet, node), readKnownKeys(flags.keys), verifyEd25519);
  if (judged.type !== "Known" && judged.type !== "Rotated") throw unusableKey(node, judged);
  let answer: Answer | undefined;
  using _ = session.listen(({ topic, payload: bytes }) => {
    const read = topic === response ? readAnswer(bytes) : undefined;
    if (read?.id === id && read.phase !== "accepted") answer ??= read;
  });
  await session.publish(topicFor({ type: "NodeCommand", root, node }), message, false);
  await session.until(() => answer, { ms: ANSWER_MS });
  const opened = openedOf(node, answer);
  const facts = { node, id, operatorKey: own.publicKey, nodeKey: opened.key };
  if (!verifyEd25519(judged.keys.sign, handshakeMessage(facts), opened.sig))
    throw new CliError(
      `the answer is not signed by the key of ${node} that was accepted; someone else may answer in its name`,
    );
  const cipher = TunnelCipher.agree("operator", own, facts);
  if (cipher === undefined) throw new CliError(`${node} answered with an unusable key`);
  const name = tunnelName(id);
  return {
    cipher,
    from: `${response}/${name}`,
    to: topicFor({ type: "NodeSession", root, node, session: name }),
  };
}

function openedOf(node: string, answer: Answer | undefined) {
  if (answer === undefined)
    throw new CliError(`${node} did not answer within ${ANSWER_MS / 1_000} s`);
  const opened = answer.phase === "running" ? readLeniently(TUNNEL_ANSWER, answer.data) : undefined;
  if (opened !== undefined) return opened;
  const failed = failureOf(node, answer) ?? `${node} has ended the session at once`;
  throw beginsNone(answer) ? new NoSession(failed) : new CliError(failed);
}

function unusableKey(node: string, judged: NodeKeyState): CliError {
  const problem = printable(keyProblem(node, judged) ?? "");
  // Another key than the accepted one may be another device's: the operator's program sends it no command.
  const isUnknown = judged.type === "New" || judged.type === "None";
  return isUnknown ? new NoSession(problem) : new CliError(problem);
}

/** The node does not allow sessions, has no keys that sign commands, or its agent knows no sessions. */
function beginsNone({ phase, code, error }: Answer): boolean {
  if (code === 501) return true;
  if (phase !== "failed") return false;
  return code === 401 || code === 403 || (code === 400 && error.startsWith("verb: "));
}
