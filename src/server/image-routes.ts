// Performs: `/images`: lists, pulls and removes images of the node; and `/node`, which shows them. These answers take calls of the runtime.

import { messageOf, reasonOf } from "../lib/errors.ts";
import { holdRemedy, holdText } from "../image/gc/hold-text.ts";
import type { ImageHold } from "../image/gc/image-holds.ts";
import type { NodeImage } from "../image/gc/image-keys.ts";
import { v1Node } from "../node/node-api.ts";
import type { Answer } from "./http/exchange.ts";
import { json, text } from "./answer.ts";
import type { LaterRequest, LaterRoute } from "./later-route.ts";

const NAME = "name";
const FORCE = "force";
const DRY_RUN = "dryRun";

export const IMAGE_ROUTES: readonly LaterRoute[] = [
  {
    listed: "/node",
    path: /^\/node$/,
    methods: { GET: showNode },
    refusal: "/node can only be read: use GET or HEAD",
  },
  {
    listed: "/images",
    path: /^\/images$/,
    methods: { GET: guarded(listImages), DELETE: guarded(removeImage) },
    refusal: "/images supports GET, and DELETE with ?name=",
  },
  {
    listed: "/images/pull",
    path: /^\/images\/pull$/,
    methods: { GET: pullProgress, POST: guarded(pullImage) },
    refusal: "/images/pull fetches an image: use POST with ?name=, or GET for how far it is",
  },
  {
    listed: "/images/prune",
    path: /^\/images\/prune$/,
    methods: { POST: guarded(prune) },
    refusal: "/images/prune removes unused images: use POST",
  },
];

/** Without images if the runtime does not list them. */
async function showNode({ facts, signal }: LaterRequest): Promise<Answer> {
  const images = await facts.imageOrders.images(signal).catch(() => []);
  return json(v1Node(facts.node(), images));
}

function pullProgress({ facts, query }: LaterRequest): Promise<Answer> {
  const name = nameOf(query);
  if (name === undefined) return Promise.resolve(text(400, "name one image: ?name="));
  const progress = facts.imageOrders.progress(name);
  const pull = { apiVersion: "agent/v1", kind: "Pull", name };
  return Promise.resolve(json(progress === undefined ? pull : { ...pull, progress }));
}

type Handler = (request: LaterRequest) => Promise<Answer>;

function guarded(handler: Handler): Handler {
  return async (request) => {
    try {
      return await handler(request);
    } catch (error) {
      return text(500, messageOf(error));
    }
  };
}

async function listImages({ facts, signal }: LaterRequest): Promise<Answer> {
  const items = (await facts.imageOrders.list(signal)).map(({ image, hold }) => ({
    ...shown(image),
    ...(hold === undefined ? {} : { kept: { why: hold.why, by: hold.by } }),
  }));
  return json({ apiVersion: "agent/v1", kind: "ImageList", items });
}

async function pullImage({ facts, query, signal }: LaterRequest): Promise<Answer> {
  const name = nameOf(query);
  if (name === undefined) return text(400, "name one image: ?name=");
  try {
    const { ref } = await facts.imageOrders.pull(name, signal);
    return json({ apiVersion: "agent/v1", kind: "PulledImage", name, ref });
  } catch (error) {
    return text(reasonOf(error, "") === "InvalidImageName" ? 400 : 409, messageOf(error));
  }
}

async function removeImage({ facts, query, signal }: LaterRequest): Promise<Answer> {
  const name = nameOf(query);
  if (name === undefined) return text(400, "name one image: ?name=");
  const isForced = query.get(FORCE) === "true";
  const outcome = await facts.imageOrders.remove(name, { isForced, signal });
  switch (outcome.type) {
    case "Removed":
      return json(removed([outcome.image]));
    case "NotFound":
      return text(404, `image ${name} is not on this node`);
    case "Held":
      return text(409, `image ${name} stays: ${reasonAndRemedy(outcome.hold)}`);
    case "Unsettled":
      return text(409, UNSETTLED);
  }
}

const UNSETTLED =
  "nothing was removed: the agent does not know yet which images its sources ask for; try again later";

async function prune({ facts, query, signal }: LaterRequest): Promise<Answer> {
  const { imageOrders } = facts;
  if (!imageOrders.isSettled()) return text(409, UNSETTLED);
  if (query.get(DRY_RUN) === "true") return json(removed(await imageOrders.unused(signal)));
  const { removed: images, freedBytes } = await imageOrders.prune(signal);
  return json({ ...removed(images), freedBytes });
}

function removed(images: readonly NodeImage[]): object {
  return { apiVersion: "agent/v1", kind: "ImageList", items: images.map(shown) };
}

function shown({ id, tags, digests, sizeBytes }: NodeImage): object {
  return { id, names: tags.length > 0 ? tags : digests.slice(0, 1), sizeBytes };
}

function reasonAndRemedy(hold: ImageHold): string {
  const remedy = holdRemedy(hold);
  return remedy === "" ? holdText(hold) : `${holdText(hold)}; ${remedy}`;
}

function nameOf(query: URLSearchParams): string | undefined {
  const [name, ...more] = query.getAll(NAME);
  return name === undefined || name === "" || more.length > 0 ? undefined : name;
}
