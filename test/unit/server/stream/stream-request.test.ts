import { describe, expect, test } from "bun:test";
import { streamPlace, streamRequest } from "../../../../src/server/stream/stream-request.ts";

const NONE = { uid: undefined, container: undefined };
const PLACE = { verb: "exec", namespace: "default", pod: "web", ...NONE } as const;

describe("the path", () => {
  test.each([
    ["/api/v1/namespaces/shop/pods/web/exec", { ...PLACE, namespace: "shop" }],
    ["/api/v1/namespaces/default/pods/web/attach", { ...PLACE, verb: "attach" }],
    ["/api/v1/namespaces/default/pods/web/portforward", { ...PLACE, verb: "portforward" }],
    ["/exec/default/web/main", { ...PLACE, container: "main" }],
    ["/exec/default/web/uid-1/main", { ...PLACE, uid: "uid-1", container: "main" }],
    ["/attach/default/web/main", { ...PLACE, verb: "attach", container: "main" }],
    ["/portForward/default/web", { ...PLACE, verb: "portforward" }],
    ["/portForward/default/web/uid-1", { ...PLACE, verb: "portforward", uid: "uid-1" }],
    ["/api/v1/namespaces/default/pods/%ff/exec", { ...PLACE, pod: "%" }],
    ["/api/v1/namespaces/default/pods/web/log", undefined],
    ["/api/v1/namespaces/default/pods/web", undefined],
    ["/exec/default/web", undefined],
    ["/pods", undefined],
  ] as const)("%s", (path, expected) => {
    expect(streamPlace(path)).toEqual(expected);
  });
});

function asked(query: string, verb: "exec" | "attach" | "portforward" = "exec", web = false) {
  const request = streamRequest({ ...PLACE, verb }, new URLSearchParams(query), web);
  return request.ok ? request.value : request.errors[0]?.message;
}

describe("the query", () => {
  test("has the command in its order, and the streams", () => {
    expect(asked("command=sh&command=-c&command=a+b&stdin=true&stdout=1&stderr=0")).toMatchObject({
      command: ["sh", "-c", "a b"],
      stdin: true,
      stdout: true,
      stderr: false,
      tty: false,
    });
  });

  test("may use the kubelet's names", () => {
    expect(asked("command=id&input=1&output=1&error=1")).toMatchObject({
      stdin: true,
      stdout: true,
      stderr: true,
    });
  });

  test("of a terminal has no error output", () => {
    expect(asked("command=sh&stdout=true&stderr=true&tty=true")).toMatchObject({
      tty: true,
      stderr: false,
    });
  });

  test.each([
    ["stdout=true", "exec", false, "you must specify at least one command for the container"],
    ["command=id", "exec", false, "you must specify at least 1 of stdin, stdout, stderr"],
    ["stdin=false", "attach", false, "you must specify at least 1 of stdin, stdout, stderr"],
    ["", "portforward", true, 'at least one "port" must be specified'],
    ["ports=0", "portforward", false, "a port must be a number from 1 to 65535"],
    ["ports=65536", "portforward", true, "a port must be a number from 1 to 65535"],
    ["ports=http", "portforward", true, "a port must be a number from 1 to 65535"],
  ] as const)("%s of %s is refused", (query, verb, web, message) => {
    expect(asked(query, verb, web)).toBe(message);
  });

  test("of SPDY needs no ports: each stream names its own", () => {
    expect(asked("", "portforward")).toMatchObject({ ports: [] });
    expect(asked("ports=80&ports=81,82", "portforward", true)).toMatchObject({
      ports: [80, 81, 82],
    });
  });
});
