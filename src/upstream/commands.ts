// Takes commands off the wire, has them done, a few at a time, and sees that each is answered once (MQTT.md §5).

import type { Command, CommandResponse, CommandVerb } from "../api/command.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { take, type Allowance, type AllowancePolicy } from "../lib/allowance.ts";
import type { CommandFacts, CommandMessage } from "./command-facts.ts";
import { judgeCommand, type CommandJudgement, type Refusal } from "./command-judge.ts";
import type { ExecuteCommand, ResponseRows, TakenCommand, TakenCommands } from "./command-order.ts";
import {
  failure,
  onWire,
  responsePayload,
  responsesOf,
  type CommandOutcome,
} from "./command-response.ts";

export interface CommandsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly taken: TakenCommands;
  readonly responses: ResponseRows;
  readonly facts: () => Omit<CommandFacts, "codeOf">;
  readonly execute: ExecuteCommand;
  /** All that `run` writes or nothing. */
  readonly atomically: (run: () => void) => void;
  /** An answer waits to be published. */
  readonly onResponse: () => void;
}

interface Work extends TakenCommand {
  readonly command: Command;
  readonly statusOnly: boolean;
  readonly until: Monotonic;
}

const AT_WORK = 4;
const WAITING = 32;
/** Of a stranger's flood neither the disk nor the link may hear much. */
const TAKEN: AllowancePolicy = { most: 60, perSecond: 2 };
const REFUSED: AllowancePolicy = { most: 20, perSecond: 0.5 };
const DAY_MS = 86_400_000;
/** An answer outlives its command: the link may be down just then. */
const ANSWER_MS = 3_600_000;
/** Done at once: no word before the answer. */
const QUICK: readonly CommandVerb[] = ["ping", "get", "describe", "explain"];

export class Commands {
  readonly #options: CommandsOptions;
  readonly #stop = new AbortController();
  readonly #waiting: Work[] = [];
  /** Taken and not answered for good, also such as no row tells of. */
  readonly #open = new Set<string>();
  #atWork = 0;
  #taken: Allowance | undefined;
  #refused: Allowance | undefined;

  constructor(options: CommandsOptions) {
    this.#options = options;
  }

  /** What the process before began is answered: nobody can tell how far it came. */
  start(): void {
    const { taken } = this.#options;
    this.#guard("cannot answer what was cut off", () => {
      for (const work of taken.unfinished()) {
        const message =
          "the agent ended before the command did; look at the node before you ask again";
        const outcome = failure(500, "Interrupted", message);
        this.#settle(work, outcome);
      }
    });
  }

  /** Ends what is at work; the next process says so. */
  stop(): void {
    this.#stop.abort(new Error("the agent ends"));
  }

  /** A session begins: what nobody waits for any more is not sent. */
  sessionBegan(): void {
    const { responses, clock } = this.#options;
    this.#guard("cannot forget old answers", () => responses.forgetExpired(clock.now()));
  }

  /** A message on a command topic. Never throws. */
  receive(message: CommandMessage): void {
    this.#guard("cannot take a command", () => {
      const judgement = judgeCommand(message, { ...this.#options.facts(), codeOf: this.#codeOf });
      this.#obey(message, judgement);
    });
  }

  readonly #codeOf = (id: string): number | undefined =>
    this.#open.has(id) ? 0 : this.#options.taken.codeOf(id);

  #obey(message: CommandMessage, judgement: CommandJudgement): void {
    const { clock, log } = this.#options;
    const correlation =
      message.correlationData === undefined ? {} : { correlation: message.correlationData };
    switch (judgement.type) {
      case "Ignore":
        return log.warn("a command is passed over", { why: judgement.why });
      case "Refuse":
        return this.#refuse(judgement, correlation);
      case "Run": {
        const { command, replyTo, statusOnly } = judgement;
        const { id, ttl } = command;
        const now = clock.monotonic();
        const allowance = take(this.#taken, now, TAKEN);
        if (allowance === undefined || this.#waiting.length >= WAITING)
          return this.#refuse(tooMany(id, replyTo), correlation);
        this.#taken = allowance;
        const forgetAt = clock.now() + ttl * 1_000 + DAY_MS;
        const until = now + ttl * 1_000;
        this.#take({ id, replyTo, ...correlation, forgetAt, until, command, statusOnly });
      }
    }
  }

  #refuse(refusal: Refusal, correlation: Pick<TakenCommand, "correlation">): void {
    const { clock, log } = this.#options;
    const { id, phase, code, error, replyTo } = refusal;
    if (phase !== "duplicate")
      log.warn("a command is refused", { code, why: error?.message ?? phase });
    const allowance = take(this.#refused, clock.monotonic(), REFUSED);
    if (allowance === undefined) return;
    this.#refused = allowance;
    const said = error === undefined ? {} : { error: onWire(error) };
    const to = { id, replyTo, ...correlation, forgetAt: 0 };
    this.#answer(to, [{ id, phase, code, ...said }]);
  }

  #take(work: Work): void {
    const { taken, clock } = this.#options;
    const { id, verb } = work.command;
    if (!QUICK.includes(verb)) {
      taken.begin(work, clock.now());
      this.#guard("cannot tell that a command is accepted", () =>
        this.#answer(work, [{ id, phase: "accepted", code: 202 }]),
      );
    }
    this.#open.add(id);
    this.#waiting.push(work);
    this.#next();
  }

  #next(): void {
    while (this.#atWork < AT_WORK) {
      const work = this.#waiting.shift();
      if (work === undefined) return;
      this.#atWork += 1;
      void this.#do(work);
    }
  }

  async #do(work: Work): Promise<void> {
    let holdsPlace = true;
    const release = (): void => {
      if (!holdsPlace) return;
      holdsPlace = false;
      this.#atWork -= 1;
      this.#next();
    };
    const outcome = await this.#outcome(work, release);
    // The next process answers it.
    if (!this.#stop.signal.aborted) this.#finish(work, outcome);
    release();
  }

  /** Never rejects. */
  async #outcome(work: Work, release: () => void): Promise<CommandOutcome> {
    const { clock, execute, log } = this.#options;
    const { command, statusOnly, until } = work;
    if (clock.monotonic() > until)
      return failure(408, "Expired", `it waited for more than ${command.ttl} s for its turn`);
    try {
      return await execute({
        command,
        statusOnly,
        signal: this.#stop.signal,
        progress: (data) =>
          this.#guard("cannot tell a command's progress", () =>
            this.#answer(work, [{ id: work.id, phase: "running", code: 202, data }]),
          ),
        release,
      });
    } catch (error) {
      log.warn("a command failed", { verb: command.verb, error: messageOf(error) });
      return failure(500, reasonOf(error, "InternalError"), messageOf(error));
    }
  }

  #finish(work: Work, outcome: CommandOutcome): void {
    this.#open.delete(work.id);
    this.#guard("cannot write down a command's answer", () => this.#settle(work, outcome));
  }

  /** Never the answer without the code, nor the other way round. */
  #settle(work: TakenCommand, outcome: CommandOutcome): void {
    const { atomically, taken, clock } = this.#options;
    atomically(() => {
      this.#answer(work, responsesOf(work.id, outcome));
      taken.finish(work, outcome.code, clock.now());
    });
  }

  #answer(to: TakenCommand, responses: readonly CommandResponse[]): void {
    const { clock, responses: rows, onResponse } = this.#options;
    const { replyTo: topic, correlation } = to;
    const now = clock.now();
    const common = {
      topic,
      ...(correlation === undefined ? {} : { correlation }),
      expiresAt: Math.max(to.forgetAt - DAY_MS, now) + ANSWER_MS,
    };
    rows.add(
      responses.map((response) => ({ ...common, payload: responsePayload(response) })),
      now,
    );
    onResponse();
  }

  /** A disk that cannot be written leaves a command unanswered, and the node as it is. */
  #guard(what: string, run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#options.log.error(what, { error: messageOf(error) });
    }
  }
}

function tooMany(id: string, replyTo: string): Refusal {
  return {
    type: "Refuse",
    id,
    replyTo,
    phase: "denied",
    code: 429,
    error: {
      category: "TooManyRequests",
      component: "commands",
      message: "too many commands at once; ask again later",
    },
  };
}
