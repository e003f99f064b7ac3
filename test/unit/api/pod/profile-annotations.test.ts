import { describe, expect, test } from "bun:test";

import { decode, refusals, specOf, warnings, writtenPod } from "../written-pod.ts";

const KEY = "container.apparmor.security.beta.kubernetes.io/a";

function annotated(annotations: object, spec: object = {}, container: object = {}): object {
  return { ...writtenPod(spec, container), metadata: { name: "web", annotations } };
}

function profileOf(value: object): unknown {
  return specOf(value).containers[0]?.securityContext.appArmorProfile;
}

describe("AppArmor by annotation", () => {
  const profiles: Readonly<Record<string, object | undefined>> = {
    "runtime/default": { type: "RuntimeDefault" },
    unconfined: { type: "Unconfined" },
    "localhost/k8s-web": { type: "Localhost", localhostProfile: "k8s-web" },
    "": undefined,
  };
  test.each(Object.keys(profiles))("%p is the container's profile", (value) => {
    expect(profileOf(annotated({ [KEY]: value }))).toEqual(profiles[value]);
  });

  test("it goes before the profile of the pod", () => {
    const spec = { securityContext: { appArmorProfile: { type: "Unconfined" } } };
    expect(profileOf(annotated({ [KEY]: "runtime/default" }, spec))).toEqual({
      type: "RuntimeDefault",
    });
    expect(profileOf(annotated({ [KEY]: "unconfined" }, spec))).toBeUndefined();
  });

  test("a change of it restarts nothing", () => {
    const uid = (value: string): string => specUid(annotated({ [KEY]: value }));
    expect(uid("unconfined")).toBe(uid("runtime/default"));
  });

  const own = (type: string, localhostProfile?: string): object => ({
    securityContext: { appArmorProfile: { type, localhostProfile } },
  });
  const AT = "spec.containers[0].securityContext.appArmorProfile";
  const cases: Readonly<Record<string, readonly [pod: object, ...errors: string[]]>> = {
    "a container that is not there": [
      annotated({ "container.apparmor.security.beta.kubernetes.io/b": "unconfined" }),
      'metadata.annotations[container.apparmor.security.beta.kubernetes.io/b]: Invalid value: "b": container not found',
    ],
    "an unknown profile": [
      annotated({ [KEY]: "default" }),
      `metadata.annotations[${KEY}]: Invalid value: "default": must be "runtime/default", "unconfined" or "localhost/NAME"`,
    ],
    "a profile without a name": [
      annotated({ [KEY]: "localhost/" }),
      `metadata.annotations[${KEY}]: Invalid value: "localhost/": must be "runtime/default", "unconfined" or "localhost/NAME"`,
    ],
    "another type than the field's": [
      annotated({ [KEY]: "unconfined" }, {}, own("RuntimeDefault")),
      `${AT}.type: Forbidden: apparmor type in annotation and field must match`,
    ],
    "another name than the field's": [
      annotated({ [KEY]: "localhost/x" }, {}, own("Localhost", "y")),
      `${AT}.localhostProfile: Forbidden: apparmor profile in annotation and field must match`,
    ],
  };
  test.each(Object.entries(cases))("refused: %s", (_, [pod, ...errors]) => {
    expect(refusals(pod)).toEqual(errors);
  });

  test("the same in annotation and field is fine", () => {
    const pod = annotated({ [KEY]: "localhost/x" }, {}, own("Localhost", "x"));
    expect(profileOf(pod)).toEqual({ type: "Localhost", localhostProfile: "x" });
  });
});

test("seccomp by annotation is ignored with a warning", () => {
  const pod = annotated({
    "seccomp.security.alpha.kubernetes.io/pod": "runtime/default",
    "container.seccomp.security.alpha.kubernetes.io/a": "unconfined",
  });
  const message = "not read since Kubernetes 1.27; use securityContext.seccompProfile instead";
  expect(warnings(pod)).toEqual([
    `metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: ${message}`,
    `metadata.annotations[container.seccomp.security.alpha.kubernetes.io/a]: ${message}`,
  ]);
});

function specUid(value: object): string {
  return decode(value).pods[0]?.desired.uid ?? "";
}
