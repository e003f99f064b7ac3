// Performs: takes commands off the wire, has them done, a few at a time, and sees that each is answered once.

import type { CommandMoment, CommandResponse, TakenCommand } from "../protocol/command.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { RefusalLog } from "../lib/refusal-log.ts";
import { CommandLimits } from "./limits.ts";
import type { Command } from "./decode-command.ts";
import { VERBS } from "./verbs.ts";
import { judgeCommand, type CommandJudgement, type CommandRefusal } from "./judge.ts";
import type { ExecuteCommand, ResponseRows, TakenCommands } from "./executor.ts";
import { failure, onWire, responsePayload, responsesOf, type CommandOutcome } from "./response.ts";
import type { CommandFacts, CommandMessage } from "./denials.ts";

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
  /** It is that late at least, wall ms: a signature that counts says so. */
  readonly onIssued: (at: number) => void;
}

type Runnable = Extract<CommandJudgement, { type: "Run" }>;

interface Work extends TakenCommand {
  readonly command: Command;
  readonly statusOnly: boolean;
  readonly until: Monotonic;
}

const AT_WORK = 4;
const WAITING = 32;
/** Held ids of one session: more are not obeyed, for to forget one would let it be sent again. */
const HELD = 1_000;
const DAY_MS = 86_400_000;
/** An answer outlives its command: the link may be down just then. */
const ANSWER_MS = 3_600_000;

export class Commands {
  readonly #options: CommandsOptions;
  readonly #stop = new AbortController();
  readonly #waiting: Work[] = [];
  /** Taken and not answered for good, also such as no row tells of. */
  readonly #open = new Set<string>();
  #atWork = 0;
  readonly #refusalLog: RefusalLog;
  readonly #limits: CommandLimits;
  /** The present or latest one; 0 = none yet. */
  #session = 0;

  constructor(options: CommandsOptions) {
    this.#options = options;
    this.#refusalLog = new RefusalLog(options.clock, options.log);
    this.#limits = new CommandLimits(options.clock);
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
  sessionBegan(number: number): void {
    const { responses, clock } = this.#options;
    this.#session = number;
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
    const correlation =
      message.correlationData === undefined ? {} : { correlation: message.correlationData };
    switch (judgement.type) {
      case "Ignore":
        return this.#refusalLog.warn("a command is passed over", { why: judgement.why });
      case "Refuse":
        return this.#refuse(judgement, correlation);
      case "Run": {
        const problem = this.#noRoom(judgement);
        if (judgement.provenAt !== undefined) this.#options.onIssued(judgement.provenAt);
        if (problem !== undefined) return this.#refuse(tooMany(judgement, problem), correlation);
        this.#take(this.#workOf(judgement, correlation));
      }
    }
  }

  /** Why no more is taken just now; undefined = it is counted as taken. */
  #noRoom({ statusOnly, replayable }: Runnable): string | undefined {
    const { taken } = this.#options;
    const later = "too many commands at once; ask again later";
    if (this.#waiting.length >= WAITING) return later;
    if (replayable && taken.heldIn(this.#session) >= HELD)
      return `this session has seen ${HELD} signed changes, and none may be forgotten while it lasts; ask in the next one`;
    return this.#limits.takes(statusOnly) ? undefined : later;
  }

  #workOf(judged: Runnable, correlation: Pick<TakenCommand, "correlation">): Work {
    const { clock } = this.#options;
    const { command, replyTo, statusOnly, replayable } = judged;
    const ttl = command.ttl * 1_000;
    return {
      id: command.id,
      replyTo,
      ...correlation,
      forgetAt: clock.now() + ttl + DAY_MS,
      session: this.#session,
      held: replayable,
      command,
      statusOnly,
      until: clock.monotonic() + ttl,
    };
  }

  #refuse(refusal: CommandRefusal, correlation: Pick<TakenCommand, "correlation">): void {
    const { id, phase, code, error, replyTo, stranger } = refusal;
    if (phase !== "duplicate")
      this.#refusalLog.warn("a command is refused", { code, why: error?.message ?? phase });
    if (!this.#limits.answers(stranger)) return;
    const said = error === undefined ? {} : { error: onWire(error) };
    const to = { id, replyTo, ...correlation, forgetAt: 0 };
    this.#answer(to, [{ id, phase, code, ...said }]);
  }

  #take(work: Work): void {
    const { id } = work;
    if (!isQuick(work)) {
      this.#options.taken.begin(work, this.#moment());
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
    this.#guard("cannot write down a command's answer", () => {
      // A row for each would let questions that anybody may ask fill the disk.
      if (isQuick(work)) this.#answer(work, responsesOf(work.id, outcome));
      else this.#settle(work, outcome);
    });
  }

  /** Never the answer without the code, nor the other way round. */
  #settle(work: TakenCommand, outcome: CommandOutcome): void {
    const { atomically, taken } = this.#options;
    atomically(() => {
      this.#answer(work, responsesOf(work.id, outcome));
      taken.finish(work, outcome.code, this.#moment());
    });
  }

  #moment(): CommandMoment {
    return { now: this.#options.clock.now(), session: this.#session };
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

function isQuick({ command }: Work): boolean {
  return VERBS[command.verb].quick;
}

function tooMany({ command, replyTo, statusOnly }: Runnable, message: string): CommandRefusal {
  return {
    type: "Refuse",
    id: command.id,
    replyTo,
    stranger: statusOnly,
    phase: "denied",
    code: 429,
    error: {
      category: "TooManyRequests",
      component: "commands",
      message,
    },
  };
}
