// The brokers a suite runs over: the easy one, every strict personality, and one that retains nothing.

import type { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeBroker } from "../../fakes/fake-mqtt-broker.ts";
import { PERSONALITIES, type Personality } from "../../fakes/strict-broker-rules.ts";
import { StrictBroker, type StrictBrokerOptions } from "../../fakes/strict-broker.ts";

export interface BrokerKind {
  readonly kind: string;
  readonly personality: Personality | "plain";
  readonly retains: boolean;
}

export const BROKERS: readonly BrokerKind[] = [
  { kind: "an easy broker", personality: "plain", retains: true },
  ...PERSONALITIES.map((personality) => ({
    kind: personality,
    personality,
    retains: true,
  })),
  { kind: "eventgrid that retains nothing", personality: "eventgrid", retains: false },
];

export function brokerOf(
  { personality, retains }: BrokerKind,
  clock: VirtualClock,
  more: Partial<StrictBrokerOptions> = {},
): FakeBroker {
  if (personality === "plain") return new FakeBroker(clock);
  return new StrictBroker({ clock, personality, withoutRetain: !retains, ...more });
}

/** What clients did that they must not; none is known of the easy one. */
export function breachesOf(broker: FakeBroker): readonly unknown[] {
  return broker instanceof StrictBroker ? broker.breaches : [];
}
