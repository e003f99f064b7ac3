// The power goes while a signed document moves the node to another address of its broker.

import { ok, strictEqual } from "node:assert/strict";

import { makeKey, signed } from "../../e2e/support-f-signing.ts";
import type { Device } from "../device.ts";
import { deviceWithBroker, PORTS, publish, runsOnce, urlOf } from "../mqtt.ts";
import { sleeper } from "../pods.ts";
import type { Scenario } from "../scenario.ts";

const CUTS = Number(process.env["AGENT_DEVICE_SETTINGS"] ?? 6);
/** Without a flush in so long the change is over. */
const OVER_WITHIN = 120_000;

export const settingsCuts: Scenario = {
  name: "settings-cuts",
  about: `${CUTS} cuts while settings of a signed document are tried: the old or the new ones are in force after the boot, the new ones in the end, and the pod runs`,
  run: async (stage) => {
    const root = makeKey();
    const sign = (document: object): string => signed(document, [root]);
    const files = { "etc/agent/trust.d/root.pub": root.pem };
    const device = await deviceWithBroker(stage, "settings", files);
    const { guest } = device;
    const resources = [sleeper("app", "1")];
    const send = async (generation: number, url: string): Promise<void> =>
      publish(
        device,
        { target: { node: "device" }, generation, resources, config: { mqtt: { url } } },
        sign,
      );
    await send(1, urlOf(PORTS[0]));
    await runsOnce(device, ["1"]);
    await inForce(device, PORTS[0]);
    const seen = { old: 0, new: 0 };
    let before: number = PORTS[0];
    for (let cut = 1; cut <= CUTS; cut += 1) {
      const wanted = before === PORTS[0] ? PORTS[1] : PORTS[0];
      const died = guest.diskDiesAtFlush(cut);
      // A guest whose disk has died does not answer.
      const sent = send(cut + 1, urlOf(wanted)).catch(() => undefined);
      await Promise.race([died, sent.then(async () => Bun.sleep(OVER_WITHIN))]);
      const { lost } = await guest.powerCut();
      await guest.start();
      const found = await port(device);
      ok([before, wanted].includes(found), `the agent uses port ${found}`);
      seen[found === before ? "old" : "new"] += 1;
      stage.say(`flush ${cut}: ${lost} blocks lost, ${found === before ? "old" : "new"} settings`);
      await runsOnce(device, ["1"]);
      strictEqual(await device.databaseCheck(), "ok");
      // The broker keeps nothing over its end: the document is sent again.
      await send(cut + 1, urlOf(wanted));
      await inForce(device, wanted);
      await runsOnce(device, ["1"]);
      before = wanted;
    }
    stage.note("cuts with the old settings after the boot", seen.old);
    stage.note("cuts with the new settings after the boot", seen.new);
    await guest.powerCut();
  },
};

const PRINTED =
  "agent config print | sed -n 's/.*mqtt:..127.0.0.1:\\([0-9]*\\).*/\\1/p' | head -n 1";

/** As `agent config print` says it, also without an agent. */
async function port({ guest }: Device): Promise<number> {
  return Number((await guest.sh(PRINTED, 600)).trim());
}

/** Proven: the agent does not go back from it. */
async function inForce({ guest }: Device, wanted: number): Promise<void> {
  await guest.until(
    `the settings with port ${wanted} are in force`,
    `test "$(${PRINTED})" = ${wanted} && ! grep -q '"trying"' /var/lib/agent/settings.json && echo yes`,
    900_000,
  );
}
