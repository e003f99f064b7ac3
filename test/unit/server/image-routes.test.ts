import { expect, test } from "bun:test";
import type { NodeImage } from "../../../src/image/gc/image-keys.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import type { ImageOrders } from "../../../src/image/gc/image-orders.ts";
import { askLocalApi } from "../../fakes/ask-local-api.ts";
import { NO_IMAGES, someFacts } from "./some-facts.ts";

const IMAGE: NodeImage = {
  id: `sha256:${"ab".repeat(32)}`,
  tags: ["r.test/app:1"],
  digests: [],
  sizeBytes: 7,
  isPinned: false,
};
const SHOWN = { id: IMAGE.id, names: ["r.test/app:1"], sizeBytes: 7 };

async function ask(
  call: string,
  over: Partial<ImageOrders> = {},
): Promise<readonly [status: number, body: unknown]> {
  const facts = someFacts({ imageOrders: { ...NO_IMAGES, ...over } });
  const answer = await askLocalApi(facts, call);
  const body = await answer.text();
  const isJson = answer.headers.get("content-type") === "application/json";
  return [answer.status, isJson ? (JSON.parse(body) as unknown) : body];
}

const failing = (reason: string) => () =>
  Promise.reject(new AgentError({ reason, message: "the registry says no" }));

test("GET /images lists them, with what keeps each", async () => {
  const hold = { why: "Pod", by: ["default/web"] } as const;
  const list = () =>
    Promise.resolve([
      { image: IMAGE, hold, idleMs: 0 },
      { image: { ...IMAGE, tags: [], digests: ["r@1", "r@2"] }, hold: undefined, idleMs: 0 },
    ]);
  expect(await ask("GET /images", { list })).toEqual([
    200,
    {
      apiVersion: "agent/v1",
      kind: "ImageList",
      items: [
        { ...SHOWN, kept: hold },
        { ...SHOWN, names: ["r@1"] },
      ],
    },
  ]);
});

test.each<[string, Partial<ImageOrders>, number, unknown]>([
  ["POST /images/pull?name=a", {}, 200, expect.objectContaining({ name: "a", ref: "a" })],
  ["POST /images/pull", {}, 400, "name one image: ?name=\n"],
  ["POST /images/pull?name=a&name=b", {}, 400, "name one image: ?name=\n"],
  [
    "POST /images/pull?name=A",
    { pull: failing("InvalidImageName") },
    400,
    "the registry says no\n",
  ],
  ["POST /images/pull?name=a", { pull: failing("ErrImagePull") }, 409, "the registry says no\n"],
  ["DELETE /images?name=a", {}, 404, "image a is not on this node\n"],
  [
    "DELETE /images?name=a",
    { remove: () => Promise.resolve({ type: "Removed", image: IMAGE }) },
    200,
    expect.objectContaining({ items: [SHOWN] }),
  ],
  [
    "DELETE /images?name=a",
    {
      remove: () =>
        Promise.resolve({ type: "Held", image: IMAGE, hold: { why: "Archive", by: ["/i/a.tar"] } }),
    },
    409,
    "image a stays: /i/a.tar brings it; delete the archive first\n",
  ],
  ["DELETE /images?name=a", { remove: failing("Gone") }, 500, "the registry says no\n"],
  [
    "POST /images/prune",
    { prune: () => Promise.resolve({ freedBytes: 5, removed: [IMAGE] }) },
    200,
    expect.objectContaining({ items: [SHOWN], freedBytes: 5 }),
  ],
  [
    "POST /images/prune?dryRun=true",
    { unused: () => Promise.resolve([IMAGE]), prune: failing("Pruned") },
    200,
    expect.objectContaining({ items: [SHOWN] }),
  ],
  [
    "POST /images/prune?dryRun=true",
    { isSettled: () => false, unused: failing("Listed") },
    409,
    expect.stringContaining("nothing was removed"),
  ],
  ["DELETE /images/pull", {}, 405, expect.stringContaining("use POST")],
  [
    "GET /images/pull?name=a",
    { progress: (image) => `${image}: 5 %` },
    200,
    { apiVersion: "agent/v1", kind: "Pull", name: "a", progress: "a: 5 %" },
  ],
  ["GET /images/pull?name=a", {}, 200, { apiVersion: "agent/v1", kind: "Pull", name: "a" }],
  ["GET /images/pull", {}, 400, "name one image: ?name=\n"],
  ["POST /images", {}, 405, expect.stringContaining("DELETE")],
])("%s %#", async (call, over, status, body) => {
  expect(await ask(call, over)).toEqual([status, body]);
});

test("the node shows its images, and itself if the runtime does not list them", async () => {
  const images = () => Promise.resolve([IMAGE]);
  const [, node] = await ask("GET /node", { images });
  expect(node).toMatchObject({
    kind: "Node",
    status: { images: [{ names: ["r.test/app:1"], sizeBytes: 7 }] },
  });
  const [status, without] = await ask("GET /node", { images: failing("Unavailable") });
  expect(status).toBe(200);
  expect(without).toMatchObject({ kind: "Node" });
  expect(JSON.stringify(without)).not.toContain("images");
});

test("an order by force is forwarded as one, and no other word is", async () => {
  const forced: boolean[] = [];
  const remove: ImageOrders["remove"] = (_name, { isForced }) => {
    forced.push(isForced);
    return Promise.resolve({ type: "NotFound" });
  };
  for (const query of ["", "&force=true", "&force=yes"])
    await ask(`DELETE /images?name=a${query}`, { remove });
  expect(forced).toEqual([false, true, false]);
});
