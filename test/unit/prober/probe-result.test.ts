import { describe, expect, test } from "bun:test";

import type { HttpRequest } from "../../../src/host/probe/probe-edge.ts";
import { judgeHttp } from "../../../src/prober/probe-result.ts";
import { urlOf } from "../../../src/host/probe/probe-http-request.ts";

const asked: HttpRequest = {
  scheme: "HTTP",
  host: "10.88.0.2",
  port: 8080,
  path: "/a/b?c",
  headers: [
    { name: "Host", value: "shop.example" },
    { name: "X", value: "1" },
  ],
};

/** The judgement in short. */
function judge(status: number, location = "", chain: readonly HttpRequest[] = [asked]): string {
  const step = judgeHttp(chain, { status, location, body: "the body" });
  if (step.type === "Follow")
    return `${urlOf(step.request)} ${step.request.headers.map(({ name }) => name).join()}`;
  return "output" in step.result ? `${step.result.type}: ${step.result.output}` : step.result.type;
}

describe("an HTTP answer", () => {
  const WARNING = "Warning: Probe terminated redirects, Response body: the body";
  const cases: Readonly<Record<string, readonly [actual: string, expected: string]>> = {
    "of 200 is a success": [judge(200), "Success"],
    "of 299 is a success": [judge(299), "Success"],
    "of 400 is a failure, without its body": [
      judge(400),
      "Failure: HTTP probe failed with statuscode: 400",
    ],
    "of 500 is a failure": [judge(500), "Failure: HTTP probe failed with statuscode: 500"],
    "of 199 is a failure": [judge(199), "Failure: HTTP probe failed with statuscode: 199"],
    "of 304 goes nowhere": [judge(304, "/x"), WARNING],
    "of 302 without a place goes nowhere": [judge(302), WARNING],
    "leads to another path": [judge(302, "/x?y"), "http://10.88.0.2:8080/x?y Host,X"],
    "leads to a neighbouring path": [judge(301, "../x"), "http://10.88.0.2:8080/x Host,X"],
    "leads to another port and scheme of the same host, without the Host of before": [
      judge(308, "https://10.88.0.2:8443/x"),
      "https://10.88.0.2:8443/x X",
    ],
    "leads to the scheme's own port": [
      judge(307, "https://10.88.0.2/"),
      "https://10.88.0.2:443/ X",
    ],
    "leads to another host: not followed, and a success": [
      judge(303, "http://shop.example/"),
      WARNING,
    ],
    "leads to another host without naming a scheme": [judge(303, "//shop.example/"), WARNING],
    "leads out of HTTP": [
      judge(302, "ftp://10.88.0.2/"),
      'Failure: Get "http://10.88.0.2:8080/a/b?c": failed to parse Location header "ftp://10.88.0.2/"',
    ],
    "leads nowhere at all": [
      judge(302, "http://["),
      'Failure: Get "http://10.88.0.2:8080/a/b?c": failed to parse Location header "http://["',
    ],
    "is followed nine times": [
      judge(302, "/x", Array<HttpRequest>(9).fill(asked)),
      "http://10.88.0.2:8080/x Host,X",
    ],
    "is followed no tenth time": [
      judge(302, "/x", Array<HttpRequest>(10).fill(asked)),
      'Failure: Get "http://10.88.0.2:8080/x": stopped after 10 redirects',
    ],
    "of a host with an address in another spelling is still the same host": [
      judge(302, "http://[fd00::2]/x", [{ ...asked, host: "fd00:0::2" }]),
      "http://[fd00:0::2]:80/x X",
    ],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [actual, expected]) => {
    expect(actual).toBe(expected);
  });

  test("is cut to 10 KiB", () => {
    const body = "ü".repeat(20_000);
    const step = judgeHttp([asked], { status: 300, location: "", body });
    expect(step).toMatchObject({ type: "Result", result: { type: "Warning" } });
    expect(JSON.stringify(step).length).toBeLessThan(10_400);
  });
});
