import { describe, expect, test } from "bun:test";

import { isSwitched, judgeHead } from "../../../../src/protocol/tunnel/api-gate.ts";

const SCOPE = { namespace: "shop", pod: "web" };
const OWN = "/api/v1/namespaces/shop/pods/web";
const bytes = (written: string): Uint8Array => new TextEncoder().encode(written);
const ask = (...lines: readonly string[]) =>
  judgeHead(bytes([...lines, "", ""].join("\r\n")), SCOPE);

describe("a request through a session", () => {
  test.each([
    ["the pod", `GET ${OWN} HTTP/1.1`, false],
    ["its log", `GET ${OWN}/log?follow=true&container=a HTTP/1.1`, false],
    ["a command", `POST ${OWN}/exec?command=sh&stdin=true HTTP/1.1`, true],
    ["its main process", `POST ${OWN}/attach?stdout=true HTTP/1.1`, true],
    ["a port", `POST ${OWN}/portforward?ports=80 HTTP/1.1`, true],
  ])("reaches %s", (_, line, isUpgrade) => {
    expect(ask(line, "Host: x")).toMatchObject({ type: "Request", isUpgrade });
  });

  test.each([
    ["another pod", "GET /api/v1/namespaces/shop/pods/web2 HTTP/1.1"],
    ["another namespace", "GET /api/v1/namespaces/other/pods/web HTTP/1.1"],
    ["all pods", "GET /api/v1/namespaces/shop/pods HTTP/1.1"],
    ["Secrets", "GET /api/v1/namespaces/shop/secrets/login HTTP/1.1"],
    ["the trust of the node", "POST /trust/reset HTTP/1.1"],
    ["what is behind dots", `GET ${OWN}/../web2 HTTP/1.1`],
    ["what is behind an encoded slash", `GET ${OWN}%2Fexec HTTP/1.1`],
    ["a deeper path", `POST ${OWN}/exec/more HTTP/1.1`],
    ["another host by an absolute address", "GET http://x/ HTTP/1.1"],
    ["anything with a blank in it", `GET ${OWN} x HTTP/1.1`],
    ["anything by HTTP/1.0", `GET ${OWN} HTTP/1.0`],
  ])("does not reach %s", (_, line) => {
    expect(ask(line)).toMatchObject({ type: "Refused" });
  });

  test.each([
    ["the pod is not deleted", `DELETE ${OWN} HTTP/1.1`],
    ["the pod is not written", `POST ${OWN} HTTP/1.1`],
    ["the log is not written", `POST ${OWN}/log HTTP/1.1`],
  ])("%s", (_, line) => {
    expect(ask(line).type).toBe("Refused");
  });

  test("is written anew: nothing else of its head goes on", () => {
    const answer = ask(
      `POST ${OWN}/exec HTTP/1.1`,
      "Host: evil",
      "Content-Length: 100",
      "Transfer-Encoding: chunked",
      "X-Stream-Protocol-Version: v4.channel.k8s.io",
      "X-Stream-Protocol-Version: bad value\u0001",
      "Authorization: Bearer x",
    );
    expect(answer.type === "Request" && answer.head.split("\r\n")).toEqual([
      `POST ${OWN}/exec HTTP/1.1`,
      "Host: agent",
      "Connection: Upgrade",
      "Upgrade: SPDY/3.1",
      "X-Stream-Protocol-Version: v4.channel.k8s.io",
      "Content-Length: 0",
      "",
      "",
    ]);
  });

  test("that only reads closes the connection: no second one comes behind it", () => {
    const two = bytes(`GET ${OWN} HTTP/1.1\r\n\r\nPOST /trust/reset HTTP/1.1\r\n\r\n`);
    const answer = judgeHead(two, SCOPE);
    if (answer.type !== "Request") throw new Error(answer.type);
    expect(answer.head).toContain("Connection: close");
    expect(answer.head).not.toContain("trust");
    expect(answer.isUpgrade).toBe(false);
  });

  test("is waited for until its head is whole, and no longer than 16 KiB", () => {
    expect(judgeHead(bytes(`GET ${OWN} HTTP/1.1\r\nHost: `), SCOPE)).toEqual({ type: "More" });
    expect(judgeHead(bytes("x".repeat(16 * 1024)), SCOPE).type).toBe("Refused");
  });
});

describe("the answer of the API", () => {
  test.each([
    ["HTTP/1.1 101 Switching Protocols\r\n", true],
    ["HTTP/1.1 403 Forbidden\r\n", false],
    ["HTTP/1.1 1010 Odd\r\n", false],
    ["HTTP/1.1 10", undefined],
  ])("%p", (written, isOpen) => {
    expect(isSwitched(bytes(written))).toBe(isOpen);
  });
});
