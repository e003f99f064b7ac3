// The hooks of a container and the signal that stops it, as written → Lifecycle. k8s: validateLifecycle

import { decodeHookHandler } from "./decode-handler.ts";
import { hinted } from "../field-errors.ts";
import { checkFields, invalid, objectField, stringField, type Node } from "../field-reader.ts";
import { LIFECYCLE, LIFECYCLE_HANDLER } from "../../schema/handlers.ts";
import type { Lifecycle, LifecycleHandler } from "../../v1/pod.ts";
import { STOP_SIGNALS } from "../../v1/stop-signals.ts";
import { didYouMean } from "../../../lib/suggest.ts";

export function decodeLifecycle(container: Node): Lifecycle {
  const node = objectField(container, "lifecycle");
  if (node === undefined) return {};
  checkFields(node, LIFECYCLE);
  const postStart = decodeHook(node, "postStart");
  const preStop = decodeHook(node, "preStop");
  const stopSignal = signalField(node);
  return {
    ...(postStart === undefined ? {} : { postStart }),
    ...(preStop === undefined ? {} : { preStop }),
    ...(stopSignal === undefined ? {} : { stopSignal }),
  };
}

function decodeHook(lifecycle: Node, key: "postStart" | "preStop"): LifecycleHandler | undefined {
  const node = objectField(lifecycle, key);
  if (node === undefined) return undefined;
  checkFields(node, LIFECYCLE_HANDLER);
  return decodeHookHandler(node);
}

// Kubernetes wants spec.os.name written beside it, as signals differ between systems; here all are Linux.
function signalField(node: Node): string | undefined {
  const signal = stringField(node, "stopSignal");
  if (signal === undefined || STOP_SIGNALS.has(signal)) return signal;
  const names = [...STOP_SIGNALS];
  const message = 'must be a Linux signal such as "SIGTERM" or "SIGUSR1"';
  invalid(
    node,
    "stopSignal",
    hinted(message, () =>
      didYouMean(STOP_SIGNALS.has(`SIG${signal}`) ? `SIG${signal}` : signal, names),
    ),
  );
  return undefined;
}
