// Opens a store on the real file system.

import { realFiles } from "../../../src/host/real-files.ts";
import { systemRandom } from "../../../src/lib/system-clock.ts";
import { Store, type StoreOptions } from "../../../src/store/store.ts";

export const files = realFiles();

export function openStore(stateDir: string, options: Partial<StoreOptions> = {}): Store {
  return Store.open({ stateDir, files, random: systemRandom, ...options });
}
