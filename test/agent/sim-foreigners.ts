// Pods of somebody else on the same runtime, by names and UIDs like ours.

import { LABEL } from "../../src/api/pod/labels.ts";
import type { FakeRuntime } from "../fakes/fake-runtime.ts";
import { IMAGE } from "./pod-world.ts";
import type { SimSpec } from "./sim-specs.ts";

/** Adds the ids of what it makes to `ids`; `patiently` lets the runtime answer. */
export async function settleForeigners(
  { runtime, specs }: { readonly runtime: FakeRuntime; readonly specs: Iterable<SimSpec> },
  ids: Set<string>,
  patiently: <T>(call: Promise<T>) => Promise<T>,
): Promise<void> {
  for (const [index, { uid, name }] of [...specs]
    .filter(({ key }) => key.endsWith("-1"))
    .entries()) {
    const labels = {
      [LABEL.podName]: name,
      [LABEL.podNamespace]: "default",
      [LABEL.podUID]: uid,
      ...(index === 0 ? {} : { [LABEL.managed]: "true", [LABEL.instance]: "other" }),
    };
    const metadata = {
      name: "foreign",
      namespace: "elsewhere",
      uid: `foreign${index}`,
      attempt: 0,
    };
    const config = { metadata, labels };
    const sandboxId = await patiently(runtime.runPodSandbox({ config }));
    ids.add(sandboxId);
    const container = { metadata: { name: "a", attempt: 0 }, image: { image: IMAGE }, labels };
    const made = runtime.createContainer({ sandboxId, config: container, sandboxConfig: config });
    const id = await patiently(made);
    await patiently(runtime.startContainer(id));
    ids.add(id);
  }
}
