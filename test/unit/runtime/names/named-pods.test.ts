import { describe, expect, test } from "bun:test";

import type { DesiredPod, SourceName } from "../../../../src/api/pod/desired-pod.ts";
import type { DesiredService } from "../../../../src/api/v1/object/service.ts";
import { namesWorld, type AddressedPod } from "../../../../src/runtime/names/named-pods.ts";
import { namesFor, type NameOwner } from "../../../../src/runtime/names/pod-names.ts";
import { aDesiredPod, aPod } from "../../../fakes/a-pod.ts";

type Origin = Pick<DesiredPod, "source" | "signed">;
const FILE: Origin = { source: "file" };
const SIGNED: Origin = { source: "mqtt:node", signed: true };
const UNSIGNED: Origin = { source: "mqtt:node" };

interface Recipe extends Partial<Omit<AddressedPod, "desired">> {
  readonly origin?: Origin;
  readonly labels?: Readonly<Record<string, string>>;
  readonly namespace?: string;
}

function pod(name: string, ip: string, recipe: Recipe = {}): AddressedPod {
  const { origin = FILE, labels = { app: "db" }, namespace = "default", ...more } = recipe;
  const desired = aDesiredPod(aPod({}, { name, namespace, uid: `uid-${name}`, labels }), origin);
  return { desired, ips: [ip], isReady: true, isNamed: true, ...more };
}

const service = (more: Partial<DesiredService> = {}): DesiredService => ({
  kind: "Service",
  namespace: "default",
  name: "data",
  selector: { app: "db" },
  publishesNotReady: false,
  sourceRef: "a.yaml#0",
  ...FILE,
  ...more,
});

/** The addresses of the name `data`. */
function found(
  pods: readonly AddressedPod[],
  services: readonly DesiredService[] = [service()],
  owner: NameOwner = "Static",
): readonly string[] | undefined {
  const world = namesWorld({ clusterDomain: "", pods, services });
  return namesFor({ namespace: "default", owner }, world).get("data");
}

describe("the name of a Service finds", () => {
  test("the pods of its namespace that have its labels", () => {
    const pods = [
      pod("a", "10.0.0.1"),
      pod("b", "10.0.0.2", { labels: { app: "db", more: "1" } }),
      pod("c", "10.0.0.3", { labels: { app: "web" } }),
      pod("d", "10.0.0.4", { namespace: "other" }),
    ];
    expect(found(pods)).toEqual(["10.0.0.1", "10.0.0.2"]);
  });

  test("ready pods only, or those that run if it asks for them", () => {
    const pods = [pod("a", "10.0.0.1", { isReady: false }), pod("b", "10.0.0.2")];
    expect(found(pods)).toEqual(["10.0.0.2"]);
    expect(found(pods, [service({ publishesNotReady: true })])).toEqual(["10.0.0.1", "10.0.0.2"]);
  });

  test("nothing while no pod is behind it, or the pod goes", () => {
    expect(found([])).toBeUndefined();
    expect(found([pod("a", "10.0.0.1", { isNamed: false })])).toBeUndefined();
  });
});

describe("whose pods are behind a name", () => {
  const pods = [
    pod("a", "10.0.0.1"),
    pod("b", "10.0.0.2", { origin: SIGNED }),
    pod("c", "10.0.0.3", { origin: UNSIGNED }),
  ];
  const trusted = ["10.0.0.1", "10.0.0.2"];

  test("no unsigned one behind the Service of a file or of a signed document", () => {
    for (const owner of ["Static", "SignedDocument", "UnsignedDocument"] as const) {
      expect(found(pods, [service()], owner)).toEqual(trusted);
      expect(found(pods, [service(SIGNED)], owner)).toEqual(trusted);
    }
  });

  test("the Service of an unsigned document is seen by pods of unsigned documents only", () => {
    const own = [service(UNSIGNED)];
    expect(found(pods, own)).toBeUndefined();
    expect(found(pods, own, "SignedDocument")).toBeUndefined();
    expect(found(pods, own, "UnsignedDocument")).toEqual([...trusted, "10.0.0.3"]);
  });

  test("of two Services of one name the more trusted counts, else the first; they are not mixed", () => {
    const front = { selector: { app: "front" } };
    const all = [...pods, pod("front", "10.0.0.9", { labels: front.selector })];
    const group: SourceName = "mqtt:group/shop";
    expect(found(all, [service(UNSIGNED), service(front)], "UnsignedDocument")).toEqual([
      "10.0.0.9",
    ]);
    const inOrder = [service(SIGNED), service({ ...SIGNED, ...front, source: group })];
    expect(found(all, inOrder, "SignedDocument")).toEqual(trusted);
    // An unsigned one takes no name from a signed one, though its source comes first.
    const hidden = [service({ ...UNSIGNED, ...front }), service({ ...SIGNED, source: group })];
    expect(found(all, hidden, "SignedDocument")).toEqual(trusted);
  });
});
