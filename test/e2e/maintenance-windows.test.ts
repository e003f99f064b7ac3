// Maintenance windows on a real node: an update waits for its window, and goes on when it opens; the kernel says that the clock
// is synchronised, whatever that of the machine is.

import { expect } from "bun:test";

import { eventually } from "../harness/eventually.ts";
import { startWithClock } from "./support-g-answers.ts";
import { HoldStage } from "./support-k-holds.ts";

const stage = await HoldStage.open();
const { e2e } = stage.stage;
const { hub } = stage;
const LIMIT = 360_000;
const MINUTE_MS = 60_000;
const UTC =
  /the update waits for its maintenance window, which opens at \d{4}-\d\d-\d\dT\d\d:\d\d:00Z/;

/** A window that opens so many minutes from now, each day. */
function opensIn(minutes: number, duration = "1h"): object {
  const at = new Date(Date.now() + minutes * MINUTE_MS);
  return { schedule: `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`, duration };
}

e2e.concurrent(
  "an update waits for its window over kill -9, is shown everywhere, and goes on when the window opens",
  async () => {
    await using node = await stage.node("window-opens", { clock: "synchronised" });
    const before = await node.good([node.pod()]);
    const window = opensIn(3);
    await node.publish([node.pod({ variant: "2" })], { maintenanceWindows: [window] });
    await node.held(UTC, before);
    expect(await node.cli("get", "pods")).toMatch(UTC);
    expect(await node.cli("explain", "pod/web")).toMatch(UTC);
    expect(await node.cli("get", "events")).toContain("UpdateHeld");
    await node.agent.kill("SIGKILL");
    startWithClock(node.agent, "synchronised");
    await node.agent.waitReady(60_000);
    await node.staysHeld(before);
    await Bun.sleep(2.5 * MINUTE_MS);
    await node.replaced(before);
    await node.healthy();
  },
  LIMIT,
);

e2e.concurrent(
  "windows of the node hold what has none, and urgent, an annotation and a release do not wait",
  async () => {
    await using node = await stage.node("window-node", {
      clock: "synchronised",
      config: { maintenanceWindows: [opensIn(600)] },
    });
    const first = await node.good([node.pod()]);
    await node.publish([node.pod({ variant: "2" })]);
    await node.held(UTC, first);
    expect(await node.cli("release", "web")).toBe("pod/web released: updates go on\n");
    await node.healthy();
    const second = await node.container();
    await node.publish([node.pod({ variant: "3" })]);
    await node.held(UTC, second);
    await node.publish([node.pod({ variant: "3" })], { urgent: true });
    await node.healthy();
    const third = await node.container();
    const annotations = { "agent/maintenance-windows": "[]" };
    await node.publish([node.pod({ variant: "4", annotations })]);
    await node.healthy();
    expect(new Set([first, second, third, await node.container()]).size).toBe(4);
  },
  LIMIT,
);

e2e.concurrent(
  "a window of the download keeps the registry from being asked, and one of the update does not",
  async () => {
    await using node = await stage.node("window-pull", { clock: "synchronised" });
    const before = await node.good([node.pod()]);
    hub.move("window-pull:2", "2");
    const image = hub.reference("window-pull:2");
    const window = { ...opensIn(600), for: ["download"] };
    await node.publish([node.pod({ image })], { maintenanceWindows: [window] });
    await node.held(/the download waits for its maintenance window/, before);
    await node.staysHeld(before);
    expect(hub.timesAsked("window-pull:2")).toBe(0);
    await node.publish([node.pod({ image })], {
      maintenanceWindows: [{ ...window, for: ["update"] }],
    });
    await node.held(UTC, before);
    await eventually("the image of the update is there", () => node.hasImage(image), {
      timeout: 60_000,
      explain: () => node.agent.logTail(40),
    });
    expect(hub.timesAsked("window-pull:2")).toBeGreaterThan(0);
  },
  LIMIT,
);

e2e.concurrent(
  "a clock that is not synchronised opens no window, also one that would be open now",
  async () => {
    await using node = await stage.node("window-adrift", { clock: "adrift" });
    const before = await node.good([node.pod()]);
    await node.publish([node.pod({ variant: "2" })], { maintenanceWindows: [opensIn(-5)] });
    await node.held(/the clock is not synchronised/, before);
    await node.publish([node.pod({ variant: "2" })], { maintenanceWindows: [] });
    await node.healthy();
  },
  LIMIT,
);
