// `agent fleet ui` in this process, on a real broker.

import { join } from "node:path";

import { capturedTerminal } from "../../../src/fleet/ui/captured-terminal.ts";
import { fleetUi, type UiFlags } from "../../../src/fleet/ui/ui.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { systemRandom } from "../../../src/lib/system-clock.ts";
import { MqttjsLink } from "../../../src/mqtt/mqttjs-link.ts";

interface FleetUiOptions {
  readonly clock: Clock;
  /** Of its history. */
  readonly directory: string;
  readonly flags: Partial<UiFlags>;
}

export interface RunningUi {
  readonly origin: string;
  readonly token: string;
  readonly ended: Promise<0>;
}

/** Serves the page when it resolves, until `signal` aborts. */
export async function startFleetUi(
  { clock, directory, flags }: FleetUiOptions,
  signal: AbortSignal,
): Promise<RunningUi> {
  const address = Promise.withResolvers<string>();
  const terminal = {
    ...capturedTerminal({ clock, environment: {} }, signal, () => undefined),
    out: (text: string) => address.resolve(text.trim()),
  };
  const ended = fleetUi(
    { terminal, link: new MqttjsLink(clock), random: systemRandom },
    {
      steps: [{ percent: 100 }],
      bake: 0,
      maxFailures: 2,
      onFailure: "pause",
      history: join(directory, "history"),
      keys: "fleet-keys",
      timeout: 60_000,
      ...flags,
    },
  );
  const printed = await Promise.race([address.promise, ended.then(() => "")]);
  const [origin = "", token = ""] = printed.split("/#token=");
  return { origin, token, ended };
}
