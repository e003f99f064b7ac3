// Performs: finds the verb of a request that changes something.

import type { Answer, ApiRequest } from "../../http/exchange.ts";
import { refusal } from "../kube-status.ts";
import type { ObjectPlace } from "../read-objects.ts";
import { DeleteObjects } from "./delete-objects.ts";
import { WriteObjects, type WriteObjectsOptions } from "./write-objects.ts";

export class ChangeObjects {
  readonly #write: WriteObjects;
  readonly #delete: DeleteObjects;

  constructor(options: WriteObjectsOptions) {
    this.#write = new WriteObjects(options);
    this.#delete = new DeleteObjects(options);
  }

  /** undefined = the resource cannot be changed. */
  async reply(request: ApiRequest, place: ObjectPlace): Promise<Answer | undefined> {
    const { resource, namespace, name } = place;
    const { method } = request;
    if (!resource.verbs.includes("create")) return undefined;
    const isOne = namespace !== undefined && name !== undefined;
    if (method === "DELETE") return this.#delete.delete(request, place);
    if (method === "POST" && namespace !== undefined && name === undefined)
      return this.#write.create(request, place);
    if (method === "PUT" && isOne) return this.#write.replace(request, place);
    if (method === "PATCH" && isOne) return this.#write.patch(request, place);
    return refusal(405, "the server does not allow this method on the requested resource");
  }
}
