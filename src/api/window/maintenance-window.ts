// Maintenance windows as they are written: in the node's configuration, in the policy of a document, and in an annotation of
// a pod.

import { invalidAt } from "../decode/field-reader.ts";
import {
  checked,
  converted,
  fieldOf,
  listOf,
  objectType,
  word,
  type Decoded,
} from "../schema/codec.ts";
import type { Type } from "../schema/type.ts";
import { duration, exactText, shortList } from "../schema/values.ts";
import { NEVER, parseSchedule, type Calendar } from "../workload/cron-schedule.ts";
import { nextRun } from "../workload/next-run.ts";
import { isTimeZone } from "../workload/wall-time.ts";
import { parseJson } from "../../lib/json.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Of one node, document or pod. */
export const MAX_WINDOWS = 16;

/** What a window is for. */
export const UPDATE_STEPS = ["download", "update"] as const;
export type UpdateStep = (typeof UPDATE_STEPS)[number];

interface Opening {
  readonly written: string;
  readonly calendar: Calendar;
}

/** The schedule of a CronJob, without intervals: they have no beginning. */
const opening: Type<Opening> = converted(checked(exactText, openingError), {
  to: (written) => {
    const calendar = calendarOf(written);
    return typeof calendar === "string" ? undefined : { written, calendar };
  },
  from: ({ written }: Opening) => written,
});

function openingError(written: string): string | undefined {
  const calendar = calendarOf(written);
  return typeof calendar === "string" ? calendar : undefined;
}

function calendarOf(written: string): Calendar | string {
  const schedule = parseSchedule(written);
  if (typeof schedule === "string") return schedule;
  if ("everyMs" in schedule) return 'must name times of the day, such as "0 2 * * *", not @every';
  const first = nextRun({ schedule }, 0);
  return first === undefined ? "names a day that no year has" : schedule;
}

const NO_OPENING: Opening = { written: "", calendar: NEVER };

const MAINTENANCE_WINDOW = objectType("MaintenanceWindow", {
  schedule: fieldOf(
    opening,
    NO_OPENING,
  )({
    about:
      'When the window opens: five fields as of a CronJob, such as "0 2 * * 1-5", or a macro such as @daily.',
    required: 'when the window opens, such as "0 2 * * *"',
  }),
  timeZone: fieldOf(
    checked(exactText, (zone) => (isTimeZone(zone) ? undefined : "unknown time zone")),
  )({ about: "IANA time zone of the schedule, such as Europe/Berlin. Default: Etc/UTC." }),
  duration: fieldOf(
    duration(MINUTE_MS, 7 * DAY_MS),
    MINUTE_MS,
  )({
    about: "For how long it is open, 1m to 168h.",
    required: "for how long the window is open, such as 2h",
  }),
  grace: fieldOf(duration(0, DAY_MS))({
    about:
      "For how long after its end a download or an update that it has let begin may go on waiting for its turn, at most 24h.",
    default: 0,
  }),
  for: fieldOf(listOf(word(UPDATE_STEPS)))({
    about:
      "What it limits: download, update. A step that no window names is not limited. Default: both.",
    default: UPDATE_STEPS,
  }),
});
export type MaintenanceWindow = Decoded<typeof MAINTENANCE_WINDOW>;

/** `[]` is a value of its own: no window limits anything. */
export const MAINTENANCE_WINDOWS = shortList(MAINTENANCE_WINDOW, MAX_WINDOWS);

/** The same list as one text, JSON. */
export const WRITTEN_WINDOWS: Type<readonly MaintenanceWindow[]> = {
  name: "string",
  read(at) {
    const value = typeof at.value === "string" ? parseJson(at.value) : undefined;
    if (!Array.isArray(value))
      return invalidAt(
        at,
        'must be a JSON list such as [{"schedule": "0 2 * * *", "duration": "2h"}], or [] for none',
      );
    return MAINTENANCE_WINDOWS.read({ ...at, value });
  },
  write: (windows) => JSON.stringify(MAINTENANCE_WINDOWS.write(windows)),
  schema: () => ({ type: "string", pattern: "^\\s*\\[" }),
};
