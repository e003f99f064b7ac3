import { describe, expect, test } from "bun:test";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

let stage: CliStage;
let calls: string[];

eachOnCliStage((made) => {
  [stage, calls] = [made, []];
  for (const path of ["/images", "/images/pull", "/images/prune"])
    made.agent.answers.set(path, (request) => {
      const { pathname, search } = new URL(request.url);
      calls.push(`${request.method} ${pathname}${search}`);
      return answer(`${request.method} ${pathname}${search}`);
    });
});

const MEBIBYTE = 1024 * 1024;
const A = { id: "sha256:a", names: ["r.test/a:1"], sizeBytes: 3 * MEBIBYTE };
const NAMELESS = { id: "sha256:b", names: [], sizeBytes: MEBIBYTE / 2 };

function answer(call: string): Response {
  const list = (...items: readonly object[]): Response => Response.json({ items });
  if (call.includes("name=busy"))
    return new Response("image busy stays: default/web needs it; remove the pod first\n", {
      status: 409,
    });
  if (call.includes("name=none"))
    return new Response("image none is not on this node\n", { status: 404 });
  if (call.startsWith("GET /images/pull"))
    return Response.json({ name: "slow", progress: "1.0 MiB of 4.0 MiB (25 %)" });
  if (call.startsWith("POST /images/pull")) return Response.json({ ref: "sha256:a" });
  return call.startsWith("DELETE") ? list(A) : list(A, NAMELESS);
}

describe("pull", () => {
  test("names each image that came", async () => {
    expect(await stage.run("images pull r.test/a:1 b")).toBe(0);
    expect(calls).toEqual(["POST /images/pull?name=r.test%2Fa%3A1", "POST /images/pull?name=b"]);
    expect(stage.terminal.stdout).toBe("pulled r.test/a:1\npulled b\n");
  });

  test("of one that fails keeps the others from nothing, and is exit code 1", async () => {
    expect(await stage.run("images pull busy b none")).toBe(1);
    expect(stage.terminal.stdout).toBe("pulled b\n");
    expect(stage.terminal.stderr).toContain("image busy stays");
    expect(stage.terminal.stderr).toContain("image none is not on this node");
  });

  test("shows on a terminal how far it is, and clears the line at the end", async () => {
    const done = Promise.withResolvers<Response>();
    stage.agent.answers.set("/images/pull", (request) =>
      request.method === "POST" ? done.promise : answer("GET /images/pull"),
    );
    const { terminal } = stage;
    terminal.isErrTerminal = true;
    const code = stage.run("images pull slow");
    await terminal.pass(1_000);
    await terminal.until(() => terminal.stderr.includes("(25 %)"));
    expect(terminal.stderr).toBe("\r\u001b[Kpulling slow: 1.0 MiB of 4.0 MiB (25 %) (1 s)");
    done.resolve(Response.json({ ref: "sha256:a" }));
    expect(await code).toBe(0);
    expect(terminal.stderr).toEndWith("\r\u001b[K");
  });

  test("ends at Ctrl-C, and the agent sees that", async () => {
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    stage.agent.answers.set("/images/pull", ({ method, signal }) => {
      if (method === "GET") return answer("GET /images/pull");
      signal.addEventListener("abort", () => ended.resolve(), { once: true });
      begun.resolve();
      return new Promise(() => undefined);
    });
    const code = stage.run("images pull slow other");
    await begun.promise;
    stage.terminal.pressCtrlC();
    await ended.promise;
    expect(await code).toBe(1);
    expect(stage.terminal.stderr).toContain("Error: the pull of slow was cancelled\n");
    expect(stage.terminal.stderr).not.toContain("other");
  });

  test("of what is no image name is a wrong usage, and asks nothing", async () => {
    expect(await stage.run("images pull b UPPER")).toBe(2);
    expect(await stage.run("images pull")).toBe(2);
    expect(calls).toEqual([]);
  });
});

describe("rm", () => {
  test("names what went", async () => {
    expect(await stage.run("images rm a")).toBe(0);
    expect(stage.terminal.stdout).toBe("removed r.test/a:1 (3.0 MiB)\n");
  });

  test("asks for force only with --force", async () => {
    await stage.run("images rm a");
    await stage.run("images rm a --force");
    expect(calls).toEqual(["DELETE /images?name=a", "DELETE /images?name=a&force=true"]);
  });

  test("of an image that stays is the agent's sentence and exit code 1", async () => {
    expect(await stage.run("images rm busy")).toBe(1);
    expect(stage.terminal.stderr).toBe(
      "Error: image busy stays: default/web needs it; remove the pod first\n",
    );
  });
});

describe("prune", () => {
  test("names what went, and its size", async () => {
    expect(await stage.run("images prune")).toBe(0);
    expect(calls).toEqual(["POST /images/prune"]);
    expect(stage.terminal.stdout).toBe(
      [
        "removed r.test/a:1 (3.0 MiB)",
        "removed sha256:b (0.5 MiB)",
        "2 images, 3.5 MiB, less the layers that other images share",
        "",
      ].join("\n"),
    );
  });

  test("removes nothing with --dry-run", async () => {
    expect(await stage.run("images prune --dry-run")).toBe(0);
    expect(calls).toEqual(["POST /images/prune?dryRun=true"]);
    expect(stage.terminal.stdout).toContain("would remove r.test/a:1 (3.0 MiB)\n");
  });
});

test("without an agent each of them names how to start it", async () => {
  stage.agent[Symbol.dispose]();
  for (const verb of ["pull a", "rm a", "prune"]) {
    expect(await stage.run(`images ${verb}`)).toBe(1);
    expect(stage.terminal.stderr).toContain("no agent is listening on");
  }
});
