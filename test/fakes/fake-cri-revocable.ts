// A crash seen from the edge: from one moment on a dead agent's handle does nothing, for ever.

import type { RuntimeEvents } from "../../src/containerd/runtime-events.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";

export interface RevocableRuntime {
  readonly cri: CriClient;
  readonly events: RuntimeEvents;
  /** No call starts, no answer arrives any more; what the runtime has begun it finishes. */
  revoke(): void;
}

/** A handle of one agent on a runtime that outlives it. */
export function revocable(cri: CriClient, events: RuntimeEvents): RevocableRuntime {
  let revoked = false;
  const dead = (): Promise<never> => new Promise(() => undefined);

  async function answer(call: Promise<unknown>): Promise<unknown> {
    try {
      const value = await call;
      return revoked ? await dead() : value;
    } catch (thrown) {
      if (revoked) return dead();
      throw thrown;
    }
  }

  async function* answers(
    stream: AsyncIterable<unknown>,
  ): AsyncGenerator<unknown, void, undefined> {
    if (revoked) await dead();
    const iterator = stream[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = (await answer(iterator.next())) as IteratorResult<unknown>;
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      void iterator.return?.();
    }
  }

  function wrap<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (_, name): unknown => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => {
          if (revoked && name !== "subscribe" && name !== "getContainerEvents") return dead();
          const result: unknown = Reflect.apply(member, target, args);
          return result instanceof Promise
            ? answer(result)
            : answers(result as AsyncIterable<unknown>);
        };
      },
    });
  }
  return {
    cri: wrap(cri),
    events: wrap(events),
    revoke: () => {
      revoked = true;
    },
  };
}
