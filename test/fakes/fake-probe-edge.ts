// A network that answers probes as a test says, on the test's own clock.

import type {
  Address,
  GrpcHealth,
  HttpAnswer,
  HttpRequest,
  ProbeCall,
  ProbeEdge,
} from "../../src/host/probe/probe-edge.ts";
import type { Clock, Monotonic } from "../../src/lib/clock.ts";
import { AgentError } from "../../src/lib/errors.ts";

/** How an address behaves. `afterMs` delays any of it. */
export type Behaviour = (
  | { readonly type: "Up" }
  /** Nobody listens. */
  | { readonly type: "Refused" }
  /** Nothing comes: the question ends with its time-out. */
  | { readonly type: "Silent" }
  /** An edge that breaks its promises: neither an answer nor an end. */
  | { readonly type: "Stuck" }
  | { readonly type: "Throws"; readonly error: Error }
  | { readonly type: "Http"; readonly answer: Partial<HttpAnswer> }
  | { readonly type: "Grpc"; readonly health: GrpcHealth }
) & { readonly afterMs?: number };

export type AskedQuestion =
  | { readonly type: "Http"; readonly request: HttpRequest }
  | { readonly type: "Tcp"; readonly address: Address }
  | { readonly type: "Grpc"; readonly address: Address & { readonly service: string } };

export type Asked = AskedQuestion & {
  /** `host:port` */
  readonly to: string;
  readonly at: Monotonic;
  readonly timeoutMs: number;
};

export class FakeProbeEdge implements ProbeEdge {
  /** Every question so far, the oldest first. */
  readonly asked: Asked[] = [];
  readonly #clock: Clock;
  readonly #behaviours = new Map<string, Behaviour>();
  #otherwise: (asked: Asked) => Behaviour = () => ({ type: "Up" });
  #open = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** From now on; `to` = `host:port`. */
  behave(to: string, behaviour: Behaviour): void {
    this.#behaviours.set(to, behaviour);
  }

  /** How every address behaves that nothing else is said of; by default all are up. */
  otherwise(decide: (asked: Asked) => Behaviour): void {
    this.#otherwise = decide;
  }

  /** Questions that have not ended. */
  get open(): number {
    return this.#open;
  }

  /** When `to` was asked. */
  times(to: string): readonly Monotonic[] {
    return this.asked.filter((asked) => asked.to === to).map(({ at }) => at);
  }

  httpGet(request: HttpRequest, call: ProbeCall): Promise<HttpAnswer> {
    return this.#ask({ type: "Http", request }, request, call).then((behaviour) => ({
      status: 200,
      location: "",
      body: "",
      ...(behaviour.type === "Http" ? behaviour.answer : {}),
    }));
  }

  async tcpConnect(address: Address, call: ProbeCall): Promise<void> {
    await this.#ask({ type: "Tcp", address }, address, call);
  }

  grpcHealth(
    address: Address & { readonly service: string },
    call: ProbeCall,
  ): Promise<GrpcHealth> {
    return this.#ask({ type: "Grpc", address }, address, call).then((behaviour) =>
      behaviour.type === "Grpc" ? behaviour.health : "SERVING",
    );
  }

  /** The behaviour, once its time has come and if it is an answer at all. */
  #ask(question: AskedQuestion, { host, port }: Address, call: ProbeCall): Promise<Behaviour> {
    const { timeoutMs, signal } = call;
    const to = `${host}:${port}`;
    const asked = { ...question, to, at: this.#clock.monotonic(), timeoutMs };
    this.asked.push(asked);
    const behaviour = this.#behaviours.get(to) ?? this.#otherwise(asked);
    this.#open += 1;
    return new Promise<Behaviour>((resolve, reject) => {
      if (behaviour.type === "Stuck") return;
      const timers: Disposable[] = [];
      const end = (settle: () => void): void => {
        for (const timer of timers) timer[Symbol.dispose]();
        signal?.removeEventListener("abort", abort);
        this.#open -= 1;
        settle();
      };
      const fail = (reason: string, message: string): void =>
        end(() => reject(new AgentError({ reason, message })));
      const abort = (): void => fail("Aborted", "cancelled");
      const answer = (): void => {
        if (behaviour.type === "Throws") end(() => reject(behaviour.error));
        else if (behaviour.type === "Refused")
          fail("ConnectionFailed", `dial tcp ${to}: connect: connection refused`);
        else end(() => resolve(behaviour));
      };
      if (signal?.aborted === true) return abort();
      signal?.addEventListener("abort", abort, { once: true });
      timers.push(this.#clock.after(timeoutMs, () => fail("Timeout", "context deadline exceeded")));
      if (behaviour.type === "Silent") return;
      if (behaviour.afterMs === undefined) answer();
      else timers.push(this.#clock.after(behaviour.afterMs, answer));
    });
  }
}
