// A device with a broker of its own, to which the test publishes documents.

import { eventually } from "../harness/eventually.ts";
import { Device } from "./device.ts";
import type { Stage } from "./scenario.ts";

const TOPIC = "agent/v1/node/device/desired";
const SETTLE_TIMEOUT = 900_000;
/** Of the one broker. */
export const PORTS = [1883, 1884] as const;

export function urlOf(port: number): string {
  return `mqtt://127.0.0.1:${port}`;
}

/** Booted, with an agent that is connected to the device's broker. `files`: by their path on the device. */
export async function deviceWithBroker(
  stage: Stage,
  name: string,
  files: Readonly<Record<string, string>> = {},
): Promise<Device> {
  const config = `mqtt: {url: '${urlOf(PORTS[0])}'}\n`;
  const device = await Device.flash(stage, { name, manifests: {}, config, files });
  await device.guest.start();
  await device.guest.sh("systemctl enable --now broker && systemctl restart agent");
  return device;
}

/** The guest's file system in memory holds what is sent, so that no write of the disk is the test's own. */
export async function publish(
  device: Device,
  document: object,
  sign: (document: object) => string = JSON.stringify,
): Promise<void> {
  await device.guest.sh(`cat >/run/document.json <<'END'
${sign({ apiVersion: "agent/v1", kind: "DesiredState", ...document })}
END
mosquitto_pub -h 127.0.0.1 -r -q 1 -t ${TOPIC} -f /run/document.json`);
}

/** One container of all pods runs, in one of these versions. */
export async function runsOnce(device: Device, versions: readonly string[]): Promise<void> {
  let last: readonly string[] = [];
  const isRight = async (): Promise<boolean> => {
    last = (await device.running()).map(({ version }) => version);
    return last.length === 1 && versions.includes(last[0] ?? "");
  };
  await eventually(`one pod runs, as version ${versions.join(" or ")}`, isRight, {
    timeout: SETTLE_TIMEOUT,
    interval: 3_000,
    explain: () => `runs: ${last.join(" ")}`,
  }).catch(async (thrown: unknown) => {
    console.log(await device.journal(200));
    throw thrown;
  });
}
