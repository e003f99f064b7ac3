import { describe, expect, test } from "bun:test";
import { answerTo } from "../../../src/server/routes.ts";
import type { Answer } from "../../../src/server/http/exchange.ts";
import type { HoldOutcome, HoldVerb } from "../../../src/rollout/update-holds.ts";
import type { NamedPod } from "../../../src/api/v1/pod.ts";
import { someFacts } from "./some-facts.ts";

const pod = { namespace: "shop", name: "web" };

interface Order {
  readonly verb: HoldVerb;
  readonly pod: NamedPod | undefined;
}

function ask(
  path: string,
  { outcome = { type: "Done" }, method = "POST" }: { outcome?: HoldOutcome; method?: string } = {},
): { readonly orders: readonly Order[]; readonly answer: Answer } {
  const orders: Order[] = [];
  const facts = someFacts({
    changeHold: (verb, named) => {
      orders.push({ verb, pod: named });
      return outcome;
    },
  });
  return { orders, answer: answerTo(method, new URL(`http://agent${path}`), facts) };
}

describe("the path of a hold", () => {
  test.each<[string, Order | undefined]>([
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
    expect(ask(path).orders).toEqual(expected === undefined ? [] : [expected]);
  });
});

describe("an order", () => {
  test.each<[string, string]>([
    ["/pods/shop/web/hold", "updates of pod shop/web wait until they are released"],
    ["/pods/shop/web/release", "updates of pod shop/web go on"],
    ["/hold", "all updates wait until they are released"],
    ["/release", "all updates go on"],
  ])("%s is carried out and reported", (path, message) => {
    const { orders, answer } = ask(path);
    expect(orders).toHaveLength(1);
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
    ["is not found", { type: "NotFound" }, 404, 'pods "web" not found in namespace "shop"'],
    [
      "a file declares",
      { type: "OfFile", file: "/m/web.yaml" },
      409,
      "pod shop/web is declared by /m/web.yaml: edits of a file are not held, and files never roll back",
    ],
  ])("about a pod that %s is refused", (_case, outcome, status, sentence) => {
    const { answer } = ask("/pods/shop/web/hold", { outcome });
    expect([answer.status, answer.body]).toEqual([status, `${sentence}\n`]);
  });

  test("that could not be written down is no success", () => {
    const facts = someFacts({
      changeHold: () => {
        throw new Error("the disk is full");
      },
    });
    const answer = answerTo("POST", new URL("http://agent/pods/shop/web/hold"), facts);
    expect([answer.status, answer.body]).toEqual([
      500,
      "nothing was changed: the disk is full; try again\n",
    ]);
  });

  test.each(["GET", "HEAD", "PUT", "DELETE"])("is not %s", (method) => {
    const { orders, answer } = ask("/pods/shop/web/hold", { method });
    expect([answer.status, answer.allow, orders]).toEqual([405, "POST", []]);
  });
});
