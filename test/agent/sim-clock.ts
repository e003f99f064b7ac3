// Virtual time that tells whenever something may have happened.

import { VirtualClock } from "../fakes/fake-clock.ts";

export class SimClock extends VirtualClock {
  onSettled: () => void = () => undefined;

  override async settle(): Promise<void> {
    await super.settle();
    this.onSettled();
  }
}
