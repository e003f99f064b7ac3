// Random days of Jobs and CronJobs on a node that has nothing else: reboots, clock jumps, missed schedules, a full disk,
// deaths of the agent between what it stores and what it does.

import { JobModel } from "./job-model.ts";
import { JobNode } from "./job-node.ts";
import { objectsOf, someOf } from "./job-scene.ts";
import { Mulberry32 } from "./mulberry32.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A clock that is off by less never looks as if the last start had been wrong. */
const MAX_OFF_MS = 11 * HOUR;
const ACTS = 30;
const ACT = [
  "dies",
  "is off",
  "reboots",
  "jumps",
  "trust",
  "disk",
  "loses",
  "writes",
  "suspends",
] as const;

/** What the model says against the acts of one seed; undefined = nothing. */
export async function simulateJobDays(
  seed: number,
): Promise<{ readonly violation: string | undefined }> {
  const dice = new Mulberry32(seed);
  const scene = someOf(dice);
  using node: JobNode = new JobNode(dice, {
    decides: (pod) => model.decides(pod),
    begins: (pod) => model.begins(pod, dice),
  });
  const model: JobModel = new JobModel(node, scene.jobs, scene.crons);
  const { clock } = node;
  const suspended = new Set<string>();
  const write = (): void => node.write(objectsOf(scene, suspended));
  node.start();
  write();
  let off = 0;
  for (let turn = 0; turn < ACTS && model.violation === undefined; turn += 1) {
    const act = dice.chance(0.3) ? "passes" : dice.pick(ACT);
    switch (act) {
      case "passes":
        await clock.advance(dice.next() * 4 * HOUR);
        break;
      case "dies":
        if (dice.chance(0.5)) node.kill();
        else node.diesOnceStored = true;
        break;
      case "is off":
        node.kill();
        await clock.advance(dice.next() * 6 * HOUR);
        break;
      case "reboots":
        model.reboots();
        node.reboot();
        break;
      case "jumps": {
        const to = (dice.next() * 2 - 1) * MAX_OFF_MS;
        clock.stepWall(to - off);
        off = to;
        break;
      }
      case "trust":
        node.clockSynchronised = dice.chance(0.6);
        break;
      case "disk":
        node.diskFull = dice.chance(0.4);
        break;
      case "loses":
        // What has just ended is recorded first.
        node.diskFull = false;
        await clock.advance(MINUTE);
        node.kill();
        if (node.isIdle) node.lose();
        break;
      case "writes":
        write();
        break;
      case "suspends": {
        // What is to stop is written down first.
        node.diskFull = false;
        const name = dice.pick(Object.keys(scene.jobs));
        if (suspended.delete(name)) model.resumes(name);
        else suspended.add(name);
        write();
        if (suspended.has(name)) model.suspends(name);
        break;
      }
    }
    if (!node.isUp) node.start();
    await clock.advance(dice.next() * MINUTE);
  }
  for (const name of suspended) model.resumes(name);
  suspended.clear();
  Object.assign(node, { diskFull: false, clockSynchronised: true });
  write();
  // Behind the newest start no minute is due.
  clock.stepWall(2 * MAX_OFF_MS - off);
  await clock.advance(61 * MINUTE);
  const from = clock.now();
  await clock.advance(160 * MINUTE);
  model.judgeCalm(from, clock.now() - 2 * MINUTE);
  return { violation: model.violation };
}
