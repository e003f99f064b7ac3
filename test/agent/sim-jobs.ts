// Jobs and CronJobs on a whole agent through random days: time, kills, reboots, a wall clock that is set and loses its
// trust, a full disk, a runtime that loses what has ended, files written again. `job-model.ts` judges each start.

import { Mulberry32 } from "../fakes/mulberry32.ts";
import { JobModel } from "../fakes/job-model.ts";
import { objectsOf, someOf } from "../fakes/job-scene.ts";
import { JobWorld } from "./job-world.ts";

const MINUTE = 60_000;
/** A clock that is off by less never looks as if the last start had been wrong. */
const MAX_OFF_MINUTES = 11 * 60;
const ACTS = 30;
/** In which the schedules are kept at the end, minutes: some of each. */
const CALM = 2 * 60 + 40;

const ACT = ["kill", "reboot", "jump", "trust", "disk", "lose", "write"] as const;

/** What the model says against the acts of one seed; undefined = nothing. */
export async function simulateJobs(
  seed: number,
): Promise<{ readonly violation: string | undefined }> {
  using world = new JobWorld();
  const dice = new Mulberry32(seed);
  const { jobs, crons } = someOf(dice);
  const model = new JobModel(world.machine, jobs, crons);
  world.programOf = (pod) => model.begins(pod, dice);
  const write = (): void => world.write("jobs", ...objectsOf({ jobs, crons }, new Set()));
  write();
  await world.start();
  let off = 0;
  for (let turn = 0; turn < ACTS && model.violation === undefined; turn += 1) {
    const act = dice.chance(0.3) ? "pass" : dice.pick(ACT);
    switch (act) {
      case "pass":
        await world.passes(Math.ceil(dice.next() * 4 * 3600));
        break;
      case "kill":
        // An agent that cannot open its database does not start.
        world.diskFull = false;
        await world.restart();
        break;
      case "reboot":
        world.diskFull = false;
        model.reboots();
        await world.reboot();
        break;
      case "jump": {
        const to = Math.round((dice.next() * 2 - 1) * MAX_OFF_MINUTES);
        world.jump(to - off);
        off = to;
        break;
      }
      case "trust":
        world.machine.clockSynchronised = dice.chance(0.6);
        break;
      case "disk":
        world.diskFull = dice.chance(0.4);
        break;
      case "lose":
        // What has just ended is recorded first.
        world.diskFull = false;
        await world.passes(30);
        await world.kill();
        if (world.machine.runtime.running().length === 0) world.loseEnded();
        await world.start();
        break;
      case "write":
        write();
        break;
    }
    await world.passes(45);
  }
  world.diskFull = false;
  await calm(world, model, off);
  const [trouble] = world.troubles;
  return { violation: model.violation ?? trouble };
}

/** Nothing troubles it any more: the schedules are kept, and the Jobs come to their ends. */
async function calm(world: JobWorld, model: JobModel, off: number): Promise<void> {
  world.machine.clockSynchronised = true;
  // Behind the newest start no minute is due.
  world.jump(MAX_OFF_MINUTES * 2 - off);
  await world.minutes(61);
  const from = world.machine.clock.now();
  await world.minutes(CALM);
  model.judgeCalm(from, world.machine.clock.now() - 2 * MINUTE);
}
