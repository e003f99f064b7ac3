// What a scenario gets and gives.

import type { TempDirectory } from "../harness/temp-directory.ts";
import type { BaseImage } from "./base-image.ts";

export interface Stage {
  readonly image: BaseImage;
  readonly temp: TempDirectory;
  /** Binary, unit, image archives and manifests: what the guests may mount. */
  readonly payload: string;
  readonly say: (line: string) => void;
  /** A fact for the report. */
  readonly note: (name: string, value: string | number) => void;
}

export interface Scenario {
  readonly name: string;
  readonly about: string;
  /** Throws when the device did not do what it must. */
  readonly run: (stage: Stage) => Promise<void>;
}
