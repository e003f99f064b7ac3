// What a call refuses with, as plain data.

import { AgentError } from "../../src/lib/errors.ts";

export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** undefined = it refused nothing; whatever else it throws is the test's affair. */
export function refusalOf(call: () => unknown): Refusal | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return { reason: error.reason, message: error.message };
  }
}

/** The same of what ends later. */
export async function laterRefusal(call: Promise<unknown>): Promise<Refusal | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    return refusalOf(() => {
      throw error;
    });
  }
}
