// One unary gRPC call with bytes in and out: lets the harness look at a runtime without the agent's own client.

import { Client, credentials, Metadata } from "@grpc/grpc-js";

const asIs = (bytes: Buffer): Buffer => bytes;

/** Calls e.g. `/runtime.v1.RuntimeService/Version` on a unix socket; rejects after `timeout` ms. */
export async function rawCall(
  socket: string,
  method: string,
  options: {
    readonly request?: Uint8Array;
    readonly timeout?: number;
    readonly metadata?: Readonly<Record<string, string>>;
  } = {},
): Promise<Buffer> {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(options.metadata ?? {})) metadata.set(key, value);
  const client = new Client(`unix://${socket}`, credentials.createInsecure());
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      client.makeUnaryRequest(
        method,
        asIs,
        asIs,
        Buffer.from(options.request ?? new Uint8Array()),
        metadata,
        { deadline: Date.now() + (options.timeout ?? 30_000) },
        (error, response) =>
          error === null && response !== undefined
            ? resolve(response)
            : reject(error ?? new Error(`${method} gave no answer`)),
      );
    });
  } finally {
    client.close();
  }
}
