import { describe, expect, test } from "bun:test";
import { askLocalApi } from "../../fakes/ask-local-api.ts";
import { answerTo } from "../../../src/server/routes.ts";
import { someFacts } from "./some-facts.ts";

const PARTS = ["/ui/", "/ui/page.css", "/ui/page.js"];

describe("the page", () => {
  test("is three small files", async () => {
    const bodies = await Promise.all(
      PARTS.map(async (path) => (await askLocalApi(someFacts(), path)).text()),
    );
    const sizes = bodies.map((body) => body.length);
    expect(Math.min(...sizes)).toBeGreaterThan(500);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150_000);
  });

  test("asks for nothing from elsewhere, and may not", () => {
    for (const path of PARTS) {
      const { body, headers } = answerTo("GET", new URL(path, "http://agent"), someFacts());
      expect(body.match(/https?:\/\//g)).toBeNull();
      expect(headers?.["content-security-policy"]).toContain("default-src 'none'");
    }
  });

  test("has no other files", async () => {
    for (const path of ["/ui/page.ts", "/ui/../agent.db", "/ui/page.js.map"])
      expect((await askLocalApi(someFacts(), path)).status).toBe(404);
  });
});

describe("/desired and /explain", () => {
  test("are what the page shows beside the pods", async () => {
    const list = await askLocalApi(someFacts(), "/desired");
    expect(await list.json()).toEqual({ apiVersion: "agent/v1", kind: "AckList", items: [] });
    const rejected = [
      { source: "file", ref: "/m/a.yaml", code: "Invalid", path: "spec", message: "is wrong" },
    ] as const;
    const facts = someFacts({
      rejected: () =>
        rejected.map((one) => ({ ...one, kind: "Pod", namespace: "default", name: "web" })),
    });
    expect(await (await askLocalApi(facts, "/explain/default/web")).json()).toMatchObject({
      kind: "Explanation",
      well: false,
      causes: [{ category: "source", reason: "Invalid", message: "is wrong" }],
    });
    expect((await askLocalApi(facts, "/explain/default/other")).status).toBe(404);
  });
});
