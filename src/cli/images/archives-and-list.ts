// Performs: `agent images ls`, `import` and `export`: straight to containerd, so that they also work without a running agent,
// and the bytes of images pass no second process.

import { archiveBytes } from "../../containerd/archive/archive-bytes.ts";
import { containerdImages } from "../../containerd/archive/containerd-images.ts";
import type { ImageStore } from "../../containerd/archive/image-store.ts";
import { grpcCriClient, type GrpcCriClient } from "../../cri/cri-client.ts";
import { GrpcChannel } from "../../cri/grpc-connection.ts";
import { readDiskFacts, readMachineFacts } from "../../host/machine.ts";
import { isRunning, ownIdentity } from "../../host/process/process-identity.ts";
import { isInvalidArchive } from "../../image/archive/archive-error.ts";
import { bringArchive } from "../../image/archive/bring-archive.ts";
import { exportArchive } from "../../image/archive/export-archive.ts";
import { keptBy } from "../../image/gc/hold-text.ts";
import { mebibytes } from "../../image/pull-progress.ts";
import { compareText } from "../../lib/compare.ts";
import { errorCode, messageOf, reasonOf } from "../../lib/errors.ts";
import { openOutput } from "./binary-output.ts";
import type { VerbCall } from "../define-verb.ts";
import { CliError, UsageError } from "../exit-codes.ts";
import { loadConfig } from "../load-config.ts";
import type { Terminal } from "../process-io.ts";
import { withProgress } from "../terminal/progress-line.ts";
import { printable, tableText, type Row } from "../terminal-text.ts";

/** The exit code. Throws CliError; UsageError for a file that is no image archive. */
export async function importImages({ args, flags, terminal }: VerbCall): Promise<0> {
  const [path = "-"] = args;
  const { name, ...connection } = flags<{ readonly name?: string }>();
  using containerd = await connectContainerd({ connection, terminal });
  const { store, cri } = containerd;
  const what = path === "-" ? "standard input" : path;
  let bytes = 0;
  const text = (seconds: number): string =>
    `importing ${what}: ${mebibytes(bytes)} read (${seconds} s)`;
  try {
    const images = await withProgress(terminal, text, () =>
      bringArchive({
        archives: { store, read: archiveBytes },
        cri,
        clock: terminal.clock,
        path,
        architecture: readMachineFacts().architecture,
        baseName: name,
        onProgress: (read) => void (bytes = read),
        signal: terminal.interrupted(),
      }),
    );
    for (const { names, target } of images)
      for (const one of names.filter((known) => !known.includes("@")))
        terminal.out(`imported ${printable(one)} (${target.digest})\n`);
    return 0;
  } catch (thrown) {
    throw importFailure(thrown, what);
  }
}

/** The exit code. Throws CliError. */
export async function listImages({ flags, terminal, connect }: VerbCall): Promise<0> {
  using containerd = await connectContainerd({ connection: flags<object>(), terminal });
  try {
    const images = await containerd.cri.listImages();
    const kept = await keptImages(connect);
    if (kept === undefined)
      terminal.err("Note: no agent answers, so who uses the images is not shown\n");
    const rows = images.flatMap(({ id, repoTags, repoDigests, size }): Row[] => {
      const names = repoTags.length > 0 ? repoTags : [repoDigests[0] ?? "<none>"];
      const own = kept === undefined ? [] : [kept.get(id) ?? "<none>"];
      return names.map((name) => [printable(name), shortId(id), mebibytes(Number(size)), ...own]);
    });
    const titles = ["IMAGE", "ID", "SIZE", ...(kept === undefined ? [] : ["IN USE BY"])];
    const sorted = rows.toSorted(([a = ""], [b = ""]) => compareText(a, b));
    terminal.out(tableText(titles, sorted, terminal));
    return 0;
  } catch (thrown) {
    throw new CliError(messageOf(thrown), thrown);
  }
}

/** By id; undefined = no agent answers. */
async function keptImages(
  connect: VerbCall["connect"],
): Promise<ReadonlyMap<string, string> | undefined> {
  try {
    const images = await (await connect()).images();
    return new Map(
      images.map(({ id, kept }) => [id, kept === undefined ? "<none>" : keptBy(kept)]),
    );
  } catch (error) {
    if (error instanceof CliError) return undefined;
    throw error;
  }
}

function shortId(id: string): string {
  return id.replace(/^sha256:/, "").slice(0, 13);
}

/** The exit code. Throws CliError, and UsageError for names that are none. */
export async function exportImages({ args, flags, terminal }: VerbCall): Promise<0> {
  const { output, ...connection } = flags<{ readonly output: string }>();
  if (output === "-" && terminal.isTerminal)
    throw new UsageError("an archive is no text: write it to a file (-o FILE), or into a pipe");
  using containerd = await connectContainerd({ connection, terminal });
  let bytes = 0;
  const text = (seconds: number): string =>
    `exporting to ${output}: ${mebibytes(bytes)} written (${seconds} s)`;
  try {
    await withProgress(terminal, text, async () => {
      await using file = await openOutput(output);
      const chunks = exportArchive({
        store: containerd.store,
        names: args,
        architecture: readMachineFacts().architecture,
        signal: terminal.interrupted(),
      });
      for await (const chunk of chunks) {
        await file.write(chunk);
        bytes += chunk.length;
      }
      await file.keep();
    });
    return 0;
  } catch (thrown) {
    if (reasonOf(thrown, "") === "InvalidImageName") throw new UsageError(messageOf(thrown));
    throw new CliError(messageOf(thrown), thrown);
  }
}

interface Connected extends Disposable {
  readonly store: ImageStore;
  readonly cri: GrpcCriClient;
}

export async function connectContainerd({
  connection,
  terminal,
}: {
  readonly connection: Parameters<typeof loadConfig>[0];
  readonly terminal: Terminal;
}): Promise<Connected> {
  const { clock, environment } = terminal;
  const { imageServiceEndpoint: endpoint } = await loadConfig(connection, environment);
  const channel = new GrpcChannel({ endpoint, clock });
  const cri = grpcCriClient({ endpoint, clock });
  const store = containerdImages({
    channel,
    clock,
    cri,
    owner: ownIdentity(),
    isRunning,
    freeBytes: (place) => readDiskFacts(place).availableBytes,
  });
  return {
    store,
    cri,
    [Symbol.dispose](): void {
      cri[Symbol.dispose]();
      channel[Symbol.dispose]();
    },
  };
}

function importFailure(thrown: unknown, what: string): CliError {
  const message = `${what}: ${messageOf(thrown)}`;
  if (isInvalidArchive(thrown)) return new UsageError(message);
  return errorCode(thrown) === "ENOENT"
    ? new UsageError(`${what}: no such file`)
    : new CliError(message, thrown);
}
