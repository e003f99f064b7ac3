// How smoothly a page scrolls: the times of its frames while its list moves.

import type { Page } from "playwright-core";

export interface Frames {
  /** Percent of the frames that took at most 17 ms: none was left out. */
  readonly smooth: number;
  /** Percent of the frames that took at most 33 ms. */
  readonly fair: number;
  /** Ms. */
  readonly longest: number;
}

const STEPS = 300;

/** Scrolls the element `view`. */
export async function scrollFrames(page: Page): Promise<Frames> {
  const took = (await page.evaluate(`(async () => {
    const view = document.getElementById("view");
    const took = []; let last = performance.now();
    for (let step = 0; step < ${STEPS}; step += 1) {
      view.scrollTop += 400;
      await new Promise(requestAnimationFrame);
      const now = performance.now(); took.push(now - last); last = now;
    }
    return took;
  })()`)) as readonly number[];
  const share = (ms: number): number =>
    Math.round((1_000 * took.filter((one) => one <= ms).length) / took.length) / 10;
  return { smooth: share(17.5), fair: share(33.8), longest: Math.round(Math.max(...took)) };
}
