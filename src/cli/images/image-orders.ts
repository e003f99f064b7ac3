// Performs: `agent images pull`, `rm` and `prune`: the running agent does them, because it has the credentials and knows which
// images are needed.

import { imageNameError } from "../../image/image-reference.ts";
import { mebibytes } from "../../image/pull-progress.ts";
import type { ImageView } from "../../node/api-views.ts";
import type { VerbCall } from "../define-verb.ts";
import { CliError, UsageError } from "../exit-codes.ts";
import { withProgress } from "../terminal/progress-line.ts";
import { printable } from "../terminal-text.ts";

/** The exit code; every image is tried. Throws CliError if no agent runs. */
export async function pullImages({ args, terminal, connect }: VerbCall): Promise<number> {
  for (const name of args) {
    const error = imageNameError(name);
    if (error !== undefined) throw new UsageError(error);
  }
  const client = await connect();
  const signal = terminal.interrupted();
  return eachOf({ args, terminal, signal }, async (name) => {
    const text = async (seconds: number): Promise<string> => {
      const progress = await client.pullProgress(name);
      return `pulling ${name}${progress === undefined ? "" : `: ${progress}`} (${seconds} s)`;
    };
    try {
      await withProgress(terminal, text, () => client.pullImage(name, signal));
    } catch (error) {
      if (signal.aborted) throw new CliError(`the pull of ${name} was cancelled`, error);
      throw error;
    }
    return `pulled ${printable(name)}\n`;
  });
}

/** The exit code; every image is tried. Throws CliError if no agent runs. */
export async function removeImages(call: VerbCall): Promise<number> {
  const { force = false } = call.flags<{ readonly force?: boolean }>();
  const client = await call.connect();
  return eachOf(call, async (name) => {
    const text = (seconds: number): string => `removing ${name} (${seconds} s)`;
    const removed = await withProgress(call.terminal, text, () => client.removeImage(name, force));
    return lines(removed, "removed");
  });
}

/** The exit code. Throws CliError. */
export async function pruneImages({ flags, terminal, connect }: VerbCall): Promise<0> {
  const { dryRun = false } = flags<{ readonly dryRun?: boolean }>();
  const client = await connect();
  const text = (seconds: number): string => `removing images (${seconds} s)`;
  const images = await withProgress(terminal, text, () => client.pruneImages(dryRun));
  terminal.out(lines(images, dryRun ? "would remove" : "removed"));
  const bytes = images.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const what = images.length === 1 ? "1 image" : `${images.length} images`;
  terminal.out(`${what}, ${mebibytes(bytes)}, less the layers that other images share\n`);
  return 0;
}

/** A failure keeps none of the others from its turn, Ctrl-C all of them. */
async function eachOf(
  {
    args,
    terminal,
    signal,
  }: Pick<VerbCall, "args" | "terminal"> & { readonly signal?: AbortSignal },
  run: (name: string) => Promise<string>,
): Promise<number> {
  const failures: CliError[] = [];
  for (const name of new Set(args)) {
    if (signal?.aborted === true) break;
    try {
      terminal.out(await run(name));
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      failures.push(error);
    }
  }
  const [first] = failures;
  if (first === undefined) return 0;
  throw failures.length === 1
    ? first
    : new CliError(failures.map(({ message }) => message).join("\n"), first);
}

function lines(images: readonly ImageView[], what: string): string {
  return images
    .map(({ names, id, sizeBytes }) => {
      const shown = names.length > 0 ? names.join(" ") : id;
      return `${what} ${printable(shown)} (${mebibytes(sizeBytes)})\n`;
    })
    .join("");
}
