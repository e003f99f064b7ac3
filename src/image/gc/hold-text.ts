// What keeps an image, as an operator reads it.

import type { ImageHold } from "./image-holds.ts";

/** Follows the name of the image: `stays: …`. */
export function holdText({ why, by }: ImageHold): string {
  const names = by.join(", ");
  switch (why) {
    case "Container":
      return `a container of ${names} is made from it`;
    case "Pod":
      return `${names} needs it`;
    case "GoodRevision":
      return `it belongs to the last good revision of ${names}`;
    case "Sandbox":
      return "every pod needs it as sandbox image";
    case "Pinned":
      return "the runtime has pinned it";
    case "Archive":
      return `${names} brings it`;
    case "Foreign":
      return "this agent did not bring it";
  }
}

/** In a column: who keeps the image. */
export function keptBy({ why, by }: ImageHold): string {
  switch (why) {
    case "GoodRevision":
      return `rollback of ${by.join(",")}`;
    case "Sandbox":
      return "all pods";
    case "Pinned":
      return "the runtime";
    case "Foreign":
      return "others";
    case "Container":
    case "Pod":
    case "Archive":
      return by.join(",");
  }
}

/** What to do to be rid of it all the same; "" = nothing. */
export function holdRemedy({ why }: ImageHold): string {
  switch (why) {
    case "Container":
    case "Pod":
      return "remove the pod first";
    case "GoodRevision":
      return "a rollback needs it";
    case "Sandbox":
    case "Pinned":
      return "";
    case "Archive":
      return "delete the archive first";
    case "Foreign":
      return "--force removes it with all its names";
  }
}
