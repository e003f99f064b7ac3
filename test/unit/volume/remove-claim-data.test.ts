import { describe, expect, test } from "bun:test";

import {
  removeClaimData,
  usersOf,
  type ClaimUsers,
} from "../../../src/volume/remove-claim-data.ts";
import type { DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { aDesiredPod, aPod } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

const claim = { namespace: "default", name: "data" };

function user(name: string, claimName = "data", namespace = "default"): DesiredPod {
  const persistentVolumeClaim = { claimName, readOnly: true };
  const volumes = [{ name: "v", persistentVolumeClaim }];
  return aDesiredPod(aPod({ volumes }, { name, namespace }));
}

function remove(users: ClaimUsers, fail?: string) {
  const removed: string[] = [];
  const outcome = removeClaimData(claim, {
    users,
    log: createLogger({ clock: new VirtualClock(), level: "error", write: () => undefined }),
    claims: {
      list: () => [claim],
      removeData: ({ name }) => {
        if (fail !== undefined) throw new Error(fail);
        removed.push(name);
      },
    },
  });
  return { outcome, removed };
}

const nobody: ClaimUsers = { pods: [], strangers: [], areKnown: true };

describe("pods that use a claim", () => {
  test("pods of its namespace that mount it, each once", () => {
    const pods = [
      user("web"),
      user("web"),
      user("db"),
      user("c", "other"),
      user("d", "data", "shop"),
    ];
    expect(usersOf(claim, { ...nobody, pods })).toEqual(["default/db", "default/web"]);
  });

  test("every pod of its namespace that is known by name only may", () => {
    const strangers = [
      { namespace: "default", name: "old" },
      { namespace: "shop", name: "old" },
    ];
    expect(usersOf(claim, { ...nobody, strangers })).toEqual(["default/old"]);
  });
});

describe("the data of a claim", () => {
  test("is removed when no pod uses it", () => {
    expect(remove({ ...nobody, pods: [user("web", "other")] })).toEqual({
      outcome: { type: "Removed" },
      removed: ["data"],
    });
  });

  test("stays while a pod uses it", () => {
    expect(remove({ ...nobody, pods: [user("web")] })).toEqual({
      outcome: { type: "InUse", pods: ["default/web"] },
      removed: [],
    });
  });

  test("stays while the running pods are unknown, as right after the start", () => {
    const { outcome, removed } = remove({ ...nobody, areKnown: false });
    expect(removed).toEqual([]);
    expect(outcome).toEqual({
      type: "Failed",
      message: "the pods of this node are not known yet; try again in a moment",
    });
  });

  test("that cannot be removed is reported", () => {
    expect(remove(nobody, "busy").outcome).toEqual({ type: "Failed", message: "busy" });
  });

  test("that is not there is not found", () => {
    const claims = { list: () => [], removeData: () => undefined };
    const log = createLogger({ clock: new VirtualClock(), level: "error", write: () => undefined });
    expect(removeClaimData(claim, { claims, users: nobody, log })).toEqual({ type: "NotFound" });
  });
});
