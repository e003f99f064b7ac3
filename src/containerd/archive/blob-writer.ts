// Performs: writes one blob to containerd's content store, message by message; containerd hashes and verifies it.

import { GrpcCode } from "../../lib/grpc-code.ts";
import { hasCode } from "../../cri/cri-error.ts";
import type { CallSettings, Conversation, GrpcChannel } from "../../cri/grpc-connection.ts";
import {
  Content,
  WriteAction,
  type WriteContentRequestSchema,
  type WriteContentResponseSchema,
} from "../gen/containerd/services/content/v1/content_pb.ts";
import { CHUNK } from "../image-import.ts";
import type { BlobWriter, NewBlob } from "./image-store.ts";

interface RefBlob extends NewBlob {
  /** Names the unfinished write. */
  readonly ref: string;
}

type Writing = Conversation<typeof WriteContentRequestSchema, typeof WriteContentResponseSchema>;

/** Each message is answered before the next is sent: no more than one is in memory. */
export async function writeBlob(
  blob: RefBlob,
  channel: GrpcChannel,
  settings: CallSettings,
): Promise<BlobWriter | "Present"> {
  const writing = channel.converse(Content.method.write, settings);
  const common = { ref: blob.ref, total: BigInt(blob.size), expected: blob.digest ?? "" };
  try {
    const { offset } = await writing.ask({ ...common, action: WriteAction.STAT });
    // Another namespace of containerd may have the content.
    return writer({ writing, common, known: Number(offset) });
  } catch (thrown) {
    writing[Symbol.dispose]();
    if (hasCode(thrown, GrpcCode.ALREADY_EXISTS)) return "Present";
    throw thrown;
  }
}

interface Written {
  readonly writing: Writing;
  readonly common: { readonly ref: string; readonly total: bigint; readonly expected: string };
  /** Bytes that containerd already has. */
  readonly known: number;
}

function writer({ writing, common, known }: Written): BlobWriter {
  let offset = 0;
  const send = async (data: Uint8Array): Promise<void> => {
    const start = offset;
    offset += data.length;
    if (offset <= known) return;
    await writing.ask({ ...common, action: WriteAction.WRITE, offset: BigInt(start), data });
  };
  return {
    async write(data) {
      try {
        for (let start = 0; start < data.length; start += CHUNK)
          await send(data.subarray(start, start + CHUNK));
      } catch (thrown) {
        writing[Symbol.dispose]();
        throw thrown;
      }
    },
    async commit() {
      using _ = writing;
      const { digest } = await writing.ask({ ...common, action: WriteAction.STAT });
      const expected = common.expected === "" ? digest : common.expected;
      const last = { ...common, expected, action: WriteAction.COMMIT, offset: BigInt(offset) };
      if (expected !== digest) return { type: "Differs" };
      try {
        await writing.ask(last);
      } catch (thrown) {
        // Two images of one archive share it.
        if (!hasCode(thrown, GrpcCode.ALREADY_EXISTS)) throw thrown;
      }
      return { type: "Stored", digest };
    },
  };
}
