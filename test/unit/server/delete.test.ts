import { describe, expect, test } from "bun:test";
import { answerTo } from "../../../src/server/routes.ts";
import type { Answer } from "../../../src/server/http/exchange.ts";
import type { GraceOutcome } from "../../../src/node/node-view-options.ts";
import { someFacts } from "./some-facts.ts";

const pod = { namespace: "shop", name: "web" };

function ask(
  query: string,
  outcome: GraceOutcome = { type: "Shortened" },
  { method = "DELETE", path = "/pods/shop/web" } = {},
): { readonly orders: readonly number[]; readonly pods: readonly unknown[]; answer: Answer } {
  const orders: number[] = [];
  const pods: unknown[] = [];
  const facts = someFacts({
    shortenGrace: (named, seconds) => {
      orders.push(seconds);
      pods.push(named);
      return outcome;
    },
  });
  const url = new URL(`http://agent${path}?${query}`);
  return { orders, pods, answer: answerTo(method, url, facts) };
}

describe("the path of a pod", () => {
  test.each([
    ["/pods/shop/web", pod],
    ["/pods", undefined],
    ["/pods/", undefined],
    ["/pods/web", undefined],
    ["/pods//web", undefined],
    ["/pods/shop/", undefined],
    ["/pods/shop/web/log", undefined],
    ["/x/pods/shop/web", undefined],
  ])("%s", (path, expected) => {
    const { pods } = ask("gracePeriodSeconds=1", { type: "Shortened" }, { path });
    expect(pods).toEqual(expected === undefined ? [] : [expected]);
  });
});

describe("a pod that is being stopped", () => {
  test.each([0, 1, 3600])("gets %i s", (seconds) => {
    const { orders, answer } = ask(`gracePeriodSeconds=${seconds}`);
    expect(orders).toEqual([seconds]);
    expect({ ...answer, body: JSON.parse(answer.body) as unknown }).toEqual({
      status: 200,
      contentType: "application/json",
      body: {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Success",
        message: `pod shop/web has at most ${seconds} s of grace from now on`,
        details: { name: "web", kind: "pods" },
        code: 200,
      },
    });
  });

  const must = "gracePeriodSeconds must be a whole number of seconds, 0 or more";
  test.each([
    ["", `${must}; add ?gracePeriodSeconds=1`],
    ["graceperiodseconds=1", `${must}; add ?gracePeriodSeconds=1`],
    ["gracePeriodSeconds=", `${must}, not ""`],
    ["gracePeriodSeconds=-1", `${must}, not "-1"`],
    ["gracePeriodSeconds=1.5", `${must}, not "1.5"`],
    ["gracePeriodSeconds=1e3", `${must}, not "1e3"`],
    ["gracePeriodSeconds=1s", `${must}, not "1s"`],
    ["gracePeriodSeconds=99999999999999999999", `${must}, not "99999999999999999999"`],
    ["gracePeriodSeconds=1&gracePeriodSeconds=2", `${must}, given once`],
  ])("is left alone by ?%s", (query, sentence) => {
    const { orders, answer } = ask(query);
    expect([answer.status, answer.body, orders]).toEqual([400, `${sentence}\n`, []]);
  });

  test.each(["GET", "HEAD", "POST", "PATCH"])("is not for %s", (method) => {
    const { orders, answer } = ask("gracePeriodSeconds=1", { type: "Shortened" }, { method });
    expect([answer.status, answer.allow, orders]).toEqual([405, "DELETE", []]);
  });
});

describe("a pod that is not being stopped", () => {
  const cases: Readonly<Record<string, readonly [GraceOutcome, number, string]>> = {
    "stands in a file": [
      { type: "Wanted", source: "file", sourceRef: "/etc/agent/manifests/web.yaml#2" },
      409,
      "pod shop/web is declared by /etc/agent/manifests/web.yaml: remove it from /etc/agent/manifests/web.yaml; a pod that a file declares cannot be deleted here",
    ],
    "comes from a URL": [
      { type: "Wanted", source: "http", sourceRef: "https://example.org/pods.yaml" },
      409,
      "pod shop/web is declared by https://example.org/pods.yaml: remove it there; a pod that a URL declares cannot be deleted here",
    ],
    "stands in the node's document": [
      { type: "Wanted", source: "mqtt:node", sourceRef: "generation 7" },
      409,
      "pod shop/web is declared by the MQTT document of this node (generation 7): publish a document without it; a pod that a document declares cannot be deleted here",
    ],
    "stands in a group's document": [
      { type: "Wanted", source: "mqtt:group/kiosks", sourceRef: "generation 7" },
      409,
      "pod shop/web is declared by the MQTT document of group kiosks (generation 7): publish a document without it; a pod that a document declares cannot be deleted here",
    ],
    "is not there": [{ type: "NotFound" }, 404, 'pods "web" not found in namespace "shop"'],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [outcome, status, sentence]) => {
    const { answer } = ask("gracePeriodSeconds=1", outcome);
    expect([answer.status, answer.body]).toEqual([status, `${sentence}\n`]);
  });
});
