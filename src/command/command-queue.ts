// Performs: the queue of commands: a few run at a time, each id once, also over a restart, and each is answered once.

import type { CommandMoment, CommandResponse, TakenCommand } from "../protocol/command.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { withoutUndefined } from "../lib/json.ts";
import { RefusalLog } from "../lib/refusal-log.ts";
import { jsonBytes } from "../protocol/wire-text.ts";
import { CommandLimits, MAX_SIGNED_CHANGES } from "./rate-limits.ts";
import { VERBS } from "./verbs.ts";
import type { Run, ResponseRows, TakenCommands } from "./run-verb.ts";
import {
  denied,
  failure,
  onWire,
  responsesOf,
  type CommandOutcome,
  ANSWER_MS,
} from "./response.ts";
import type { CommandMessage } from "./authenticate-command.ts";
import {
  judgeCommand,
  type CommandFacts,
  type CommandJudgement,
  type CommandRefusal,
  type Command,
} from "./judge-command.ts";

export interface CommandsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly taken: TakenCommands;
  readonly responses: ResponseRows;
  readonly facts: () => Omit<CommandFacts, "codeOf">;
  readonly execute: Run;
  /** Commits everything that `run` writes, or nothing. */
  readonly atomically: (run: () => void) => void;
  /** The outbox has a new answer. */
  readonly onResponse: () => void;
  /** The time of a signed command, in wall-clock milliseconds: the clock must not be earlier. */
  readonly onIssued: (at: number) => void;
}

type Runnable = Extract<CommandJudgement, { type: "Run" }>;

interface Work extends TakenCommand {
  readonly command: Command;
  readonly signed: boolean;
  readonly by: readonly string[];
  readonly statusOnly: boolean;
  readonly until: Monotonic;
}

const AT_WORK = 4;
const WAITING = 32;
const DAY_MS = 86_400_000;
export class Commands {
  readonly #options: CommandsOptions;
  readonly #stop = new AbortController();
  readonly #waiting: Work[] = [];
  /** Accepted and without a final answer; includes quick ones, which are not stored. */
  readonly #open = new Set<string>();
  #atWork = 0;
  readonly #refusalLog: RefusalLog;
  readonly #limits: CommandLimits;
  /** The present or latest session; 0 = none yet. */
  #session = 0;

  constructor(options: CommandsOptions) {
    this.#options = options;
    this.#refusalLog = new RefusalLog(options.clock, options.log);
    this.#limits = new CommandLimits(options.clock);
  }

  /** Answers the commands that the previous process began; how far they came is unknown. */
  start(): void {
    const { taken } = this.#options;
    this.#guard("cannot answer interrupted commands", () => {
      for (const work of taken.unfinished()) {
        const message =
          "the agent ended before the command did; check the node before you repeat it";
        const outcome = failure(500, "Interrupted", message);
        this.#settle(work, outcome);
      }
    });
  }

  /** Ends the running commands; the next process answers them. */
  stop(): void {
    this.#stop.abort(new Error("the agent ends"));
  }

  /** A session begins: expired answers are not sent. */
  sessionBegan(number: number): void {
    const { responses, clock } = this.#options;
    this.#session = number;
    this.#guard("cannot delete expired answers", () => responses.forgetExpired(clock.now()));
  }

  /** A message on a command topic. Never throws. */
  receive(message: CommandMessage): void {
    this.#guard("cannot take a command", () => {
      const judgement = judgeCommand(message, { ...this.#options.facts(), codeOf: this.#codeOf });
      this.#handle(message, judgement);
    });
  }

  readonly #codeOf = (id: string): number | undefined =>
    this.#open.has(id) ? 0 : this.#options.taken.codeOf(id);

  #handle(message: CommandMessage, judgement: CommandJudgement): void {
    const correlation = withoutUndefined({ correlation: message.correlationData });
    switch (judgement.type) {
      case "Ignore":
        return this.#refusalLog.warn("a command is ignored", { why: judgement.why });
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

  /** Why the command is not accepted now; undefined = it is accepted and counted. */
  #noRoom({ statusOnly, replayable }: Runnable): string | undefined {
    const { taken } = this.#options;
    const later = "too many commands at once; try again later";
    if (this.#waiting.length >= WAITING) return later;
    if (replayable && taken.heldIn(this.#session) >= MAX_SIGNED_CHANGES)
      return `this session has had ${MAX_SIGNED_CHANGES} signed changes, the most that are remembered against replays; try again in the next session`;
    return this.#limits.takes(statusOnly) ? undefined : later;
  }

  #workOf(judged: Runnable, correlation: Pick<TakenCommand, "correlation">): Work {
    const { clock } = this.#options;
    const { command, replyTo, signed, by, statusOnly, replayable } = judged;
    const ttl = command.ttl * 1_000;
    return {
      id: command.id,
      replyTo,
      ...correlation,
      forgetAt: clock.now() + ttl + DAY_MS,
      session: this.#session,
      held: replayable,
      command,
      signed,
      by,
      statusOnly,
      until: clock.monotonic() + ttl,
    };
  }

  #refuse(refusal: CommandRefusal, correlation: Pick<TakenCommand, "correlation">): void {
    const { id, phase, code, error, replyTo, untrusted } = refusal;
    if (phase !== "duplicate")
      this.#refusalLog.warn("a command is refused", { code, why: error.message });
    if (!this.#limits.answers(untrusted)) return;
    const to = { id, replyTo, ...correlation, forgetAt: 0 };
    this.#answer(to, [{ id, phase, code, error: onWire(error) }]);
  }

  #take(work: Work): void {
    const { id } = work;
    if (!isQuick(work)) {
      this.#options.taken.begin(work, this.#moment());
      this.#guard("cannot answer that a command is accepted", () =>
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
    const { command, signed, by, statusOnly, until } = work;
    if (clock.monotonic() > until)
      return failure(
        408,
        "Expired",
        `the command waited for more than its ttl of ${command.ttl} s`,
      );
    try {
      return await execute({
        command,
        signed,
        by,
        statusOnly,
        signal: this.#stop.signal,
        progress: (data) =>
          this.#guard("cannot answer the progress of a command", () =>
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
    this.#guard("cannot store the answer of a command", () => {
      // Not stored: unsigned queries could otherwise fill the disk.
      if (isQuick(work)) this.#answer(work, responsesOf(work.id, outcome));
      else this.#settle(work, outcome);
    });
  }

  /** Stores the answer and the code together, or neither. */
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
      ...withoutUndefined({ correlation }),
      expiresAt: Math.max(to.forgetAt - DAY_MS, now) + ANSWER_MS,
    };
    rows.add(
      responses.map((response) => ({ ...common, payload: jsonBytes(response) })),
      now,
    );
    onResponse();
  }

  /** If the disk cannot be written, the command stays unanswered and the node unchanged. */
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
  const { id } = command;
  return { type: "Refuse", id, replyTo, untrusted: statusOnly, ...denied(429, message) };
}
