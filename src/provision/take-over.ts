// Performs: takes files over as one step: first all of them lie on the node's own disk with a plan, then each goes to its place,
// then the mark is written. A power cut before the plan leaves nothing, and after it the next start goes on without the card.

import { FILE_LIMITS } from "../api/yaml/text-limits.ts";
import type { Files } from "../host/files.ts";
import { messageOf } from "../lib/errors.ts";
import type { Sha256 } from "../lib/system-sha256.ts";
import { below, CONFIG_NAME, parentOf } from "./card-files.ts";
import {
  MARK_FILE,
  markText,
  PLAN_FILE,
  planText,
  readMark,
  readPlan,
  STAGING,
  type Mark,
  type StagedFile,
  type TakePlan,
} from "./mark.ts";
import type { PlannedFile } from "./plan-take.ts";

export type TakeFiles = Pick<
  Files,
  "info" | "makeDirectory" | "read" | "remove" | "removeTree" | "target" | "writeAtomic"
>;

export interface TakeOverOptions {
  readonly files: TakeFiles;
  readonly sha256: Sha256;
  /** Removes a file so that its bytes cannot be read any more. */
  readonly erase: (path: string) => void;
  readonly stateDir: string;
}

/** A secret that stays in the provisioning directory. */
export interface LeftSecret {
  readonly name: string;
  readonly why: string;
}

/** Thousands of files with long names. */
const MAX_PLAN_BYTES = 8 * 1024 * 1024;

export class TakeOver {
  readonly #options: TakeOverOptions;

  constructor(options: TakeOverOptions) {
    this.#options = options;
  }

  /** undefined = there is none. Throws when it is damaged. */
  mark(): Mark | undefined {
    const { files } = this.#options;
    const path = this.#path(MARK_FILE);
    if (files.info(path) === undefined) return undefined;
    const mark = readMark(files.read(path, MAX_PLAN_BYTES));
    if (mark !== undefined) return mark;
    throw new Error(
      `${path} is damaged, so it is unknown what was taken over; agent provision --again takes everything over`,
    );
  }

  /** A take-over that a power cut has interrupted after its plan was written. */
  interrupted(): TakePlan | undefined {
    const { files } = this.#options;
    const path = this.#staged(PLAN_FILE);
    if (files.info(path) === undefined) return undefined;
    return readPlan(files.read(path, MAX_PLAN_BYTES));
  }

  /** Whether copies are left of a take-over whose plan is gone: it was finished, or has never begun. */
  hasRemains(): boolean {
    return this.#options.files.info(this.#staged()) !== undefined;
  }

  removeRemains(): void {
    this.#options.files.removeTree(this.#staged());
  }

  /** The plan comes last: without it, what is staged counts for nothing. */
  stage(planned: readonly PlannedFile[], mark: Mark): TakePlan {
    const { files } = this.#options;
    files.removeTree(this.#staged());
    files.makeDirectory(this.#staged(), 0o700);
    for (const [index, { bytes }] of planned.entries())
      files.writeAtomic(this.#staged(String(index)), bytes, 0o600);
    const plan: TakePlan = { files: planned.map(({ bytes: _bytes, ...file }) => file), mark };
    files.writeAtomic(this.#staged(PLAN_FILE), planText(plan), 0o600);
    return plan;
  }

  /** May be done again from its beginning. The secrets that could not be removed from the directory. */
  finish({ files: planned, mark }: TakePlan): readonly LeftSecret[] {
    const { files } = this.#options;
    for (const [index, file] of planned.entries()) this.#put(index, file);
    files.writeAtomic(this.#path(MARK_FILE), markText(mark), 0o600);
    const secrets = planned.filter(({ isSecret }) => isSecret);
    const left = this.erase(mark.directory, secrets);
    files.remove(this.#staged(PLAN_FILE));
    files.removeTree(this.#staged());
    return left;
  }

  /** Removes secrets that the node has from the directory, which everybody can read who has the card. */
  erase(
    directory: string,
    secrets: readonly Pick<StagedFile, "name" | "sha256">[],
  ): readonly LeftSecret[] {
    const { files, erase } = this.#options;
    return secrets.flatMap(({ name, sha256 }) => {
      const path = below(directory, name);
      try {
        if (files.info(path) === undefined) return [];
        // Another card may lie in the machine by now.
        if (this.#options.sha256(files.read(path, FILE_LIMITS.bytes)) === sha256) erase(path);
        return [];
      } catch (error) {
        return [{ name, why: messageOf(error) }];
      }
    });
  }

  #put(index: number, { name, target, mode, sha256 }: StagedFile): void {
    const { files } = this.#options;
    const bytes = files.read(this.#staged(String(index)), FILE_LIMITS.bytes);
    if (this.#options.sha256(bytes) !== sha256)
      throw new Error(`${this.#staged(String(index))} is damaged, remove ${this.#staged()}`);
    files.makeDirectory(parentOf(target), 0o755);
    if (name === CONFIG_NAME) this.#keepBefore(target, sha256);
    files.writeAtomic(target, bytes, mode);
  }

  /** A person may want back what stood in the configuration of the image. */
  #keepBefore(target: string, sha256: string): void {
    const { files } = this.#options;
    if (files.target(target) === undefined) return;
    const before = files.read(target, FILE_LIMITS.bytes);
    if (this.#options.sha256(before) === sha256) return;
    files.writeAtomic(`${target}.before-provisioning`, before, 0o600);
  }

  #path(name: string): string {
    return below(this.#options.stateDir, name);
  }

  #staged(name?: string): string {
    const directory = this.#path(STAGING);
    return name === undefined ? directory : below(directory, name);
  }
}
