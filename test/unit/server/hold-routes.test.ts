import { describe, expect, test } from "bun:test";
import { answerForHold, holdOfPath, type HoldPath } from "../../../src/server/hold-routes.ts";
import type { HoldOutcome, HoldVerb } from "../../../src/rollout/update-holds.ts";

const pod = { namespace: "shop", name: "web" };

function ask(
  path: HoldPath,
  { outcome = { type: "Done" }, method = "POST" }: { outcome?: HoldOutcome; method?: string } = {},
) {
  const orders: [HoldVerb, HoldPath["pod"]][] = [];
  const answer = answerForHold(method, path, {
    changeHold: (verb, named) => {
      orders.push([verb, named]);
      return outcome;
    },
  });
  return { orders, answer };
}

describe("the path of a hold", () => {
  test.each<[string, HoldPath | undefined]>([
    ["/hold", { verb: "hold", pod: undefined }],
    ["/release", { verb: "release", pod: undefined }],
    ["/pods/shop/web/hold", { verb: "hold", pod }],
    ["/pods/shop/web/release", { verb: "release", pod }],
    ["/pods/shop/web", undefined],
    ["/pods/shop/web/holds", undefined],
    ["/pods//web/hold", undefined],
    ["/pods/web/hold", undefined],
    ["/holds", undefined],
    ["/x/hold", undefined],
    ["/hold/", undefined],
  ])("%s", (path, expected) => {
    expect(holdOfPath(path)).toEqual(expected);
  });
});

describe("an order", () => {
  test.each<[HoldPath, string]>([
    [{ verb: "hold", pod }, "updates of pod shop/web wait until they are released"],
    [{ verb: "release", pod }, "updates of pod shop/web go on"],
    [{ verb: "hold", pod: undefined }, "all updates wait until they are released"],
    [{ verb: "release", pod: undefined }, "all updates go on"],
  ])("%j is carried out and told", (path, message) => {
    const { orders, answer } = ask(path);
    expect(orders).toEqual([[path.verb, path.pod]]);
    expect({ ...answer, body: JSON.parse(answer.body) as unknown }).toEqual({
      status: 200,
      contentType: "application/json",
      body: {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Success",
        message,
        code: 200,
      },
    });
  });

  test.each<[string, HoldOutcome, number, string]>([
    ["nobody knows", { type: "NotFound" }, 404, 'pods "web" not found in namespace "shop"'],
    [
      "a file declares",
      { type: "OfFile", file: "/m/web.yaml" },
      409,
      "pod shop/web is declared by /m/web.yaml: edits of a file are not held, and files never roll back",
    ],
  ])("about a pod that %s is refused", (_case, outcome, status, sentence) => {
    const { answer } = ask({ verb: "hold", pod }, { outcome });
    expect([answer.status, answer.body]).toEqual([status, `${sentence}\n`]);
  });

  test("that could not be written down is no success", () => {
    const answer = answerForHold(
      "POST",
      { verb: "hold", pod },
      {
        changeHold: () => {
          throw new Error("the disk is full");
        },
      },
    );
    expect([answer.status, answer.body]).toEqual([
      500,
      "nothing was changed: the disk is full; try again\n",
    ]);
  });

  test.each(["GET", "HEAD", "PUT", "DELETE"])("is not %s", (method) => {
    const { orders, answer } = ask({ verb: "hold", pod }, { method });
    expect([answer.status, answer.allow, orders]).toEqual([405, "POST", []]);
  });
});
