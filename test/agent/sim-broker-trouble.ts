// What may happen to the broker of a simulated world.

import type { FakeBroker } from "../fakes/fake-mqtt-broker.ts";
import type { Mulberry32 } from "../fakes/mulberry32.ts";
import { TOPIC } from "./sim-authority.ts";
import { NODE } from "./sim-manifest.ts";
import type { BrokerTrouble } from "./sim-steps.ts";

export function troubleBroker(broker: FakeBroker, how: BrokerTrouble, dice: Mulberry32): void {
  const { faults } = broker;
  switch (how) {
    case "down":
      return broker.stop();
    case "wiped":
      broker.stop(true);
      return broker.start();
    case "silent":
      faults.refuse = "silent";
      return broker.cut(NODE);
    case "refuses":
      faults.refuse = 0x88;
      return broker.cut(NODE);
    case "kick":
      return broker.close(NODE, dice.chance(0.3) ? 0x8e : 0x98);
    case "cut":
      return broker.cut(NODE);
    case "losesSubacks":
      faults.loseSubacks = true;
      return broker.cut(NODE);
    case "losesPubacks":
      faults.losePubacks = true;
      return;
    case "slow":
      faults.latency = 900;
      return;
    case "closesOnDesired":
      faults.closesOn.add(TOPIC.desired);
      return broker.cut(NODE);
    case "well":
      broker.start();
      faults.loseSubacks = false;
      faults.losePubacks = false;
      faults.closesOn.clear();
      faults.latency = 0;
  }
}

/** The broker speaks the will of a connection that is long over. */
export function lateWill(broker: FakeBroker): void {
  const will = broker.connectOptions.get(NODE)?.will;
  if (will !== undefined) broker.take("", will);
}
