import { expect, test } from "bun:test";
import { nestedMountPoints } from "../../../../src/api/validation/nested-mounts.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";

type Mount = readonly [name: string, mountPath: string, subPath?: string];

function nested(...containers: readonly (readonly Mount[])[]): readonly string[] {
  const built = containers.map((mounts, index) =>
    aContainer(`c${index}`, {
      volumeMounts: mounts.map(([name, mountPath, subPath]) => ({
        name,
        mountPath,
        readOnly: false,
        ...(subPath === undefined ? {} : { subPath }),
      })),
    }),
  );
  return nestedMountPoints(
    aPod({ containers: built.slice(1), initContainers: built.slice(0, 1) }),
    "v",
  );
}

const cases: Record<string, readonly [readonly (readonly Mount[])[], readonly string[]]> = {
  "nothing inside, nothing made": [
    [
      [
        ["v", "/etc/app"],
        ["x", "/etc/apples"],
        ["y", "/"],
      ],
    ],
    [],
  ],
  "a mount inside": [
    [
      [
        ["v", "/etc/app"],
        ["x", "/etc/app/certs/tls"],
      ],
    ],
    ["certs/tls"],
  ],
  "a mount inside a mount inside is that one's": [
    [
      [
        ["v", "/a"],
        ["x", "/a/b"],
        ["y", "/a/b/c"],
        ["z", "/a/b-c"],
      ],
    ],
    ["b", "b-c"],
  ],
  "the mounts of every container, once": [
    [
      [
        ["v", "/a"],
        ["x", "/a/b"],
      ],
      [
        ["v", "/z"],
        ["x", "/z/b"],
        ["y", "/z/c"],
      ],
      [["x", "/a/d"]],
    ],
    ["b", "c"],
  ],
  "paths that are written untidily": [
    [
      [
        ["v", "/a//b/./"],
        ["x", "/a/q/../b/c/"],
      ],
    ],
    ["c"],
  ],
  "a volume on the root": [
    [
      [
        ["v", "/"],
        ["x", "/proc2"],
      ],
    ],
    ["proc2"],
  ],
  "a part of the volume elsewhere makes nothing in the whole": [
    [
      [
        ["v", "/a", "sub"],
        ["x", "/a/b"],
      ],
    ],
    [],
  ],
  "a volume inside itself": [
    [
      [
        ["v", "/a"],
        ["v", "/a/again"],
      ],
    ],
    ["again"],
  ],
};

test.each(Object.entries(cases))("%s", (_, [containers, expected]) => {
  expect(nested(...containers)).toEqual(expected);
});
