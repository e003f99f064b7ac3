import { describe, expect, test } from "bun:test";
import { withAppArmorAnnotations } from "../../../../src/api/pod/profile-annotations.ts";
import type { SecurityProfile } from "../../../../src/api/v1/security-context.ts";
import { SecurityProfile_ProfileType as ProfileType } from "../../../../src/cri/gen/runtime/v1/api_pb.ts";
import { appArmorProfile } from "../../../../src/runtime/cri-config/apparmor.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";

const DEFAULT: SecurityProfile = { type: "RuntimeDefault" };
const NONE: SecurityProfile = { type: "Unconfined" };
const AUDIT: SecurityProfile = { type: "Localhost", localhostProfile: "profiles/audit.json" };

interface Written {
  readonly ofPod?: SecurityProfile;
  readonly ofContainer?: SecurityProfile;
}

describe("AppArmor", () => {
  const KEY = "container.apparmor.security.beta.kubernetes.io/";
  /** Decoding puts the profile of an annotation into its container. */
  const profileOf = ({ ofPod, ofContainer }: Written, annotations: Record<string, string> = {}) => {
    const container = aContainer("a", {
      securityContext: ofContainer === undefined ? {} : { appArmorProfile: ofContainer },
    });
    const written = aPod({
      containers: [container],
      securityContext: {
        supplementalGroups: [],
        sysctls: [],
        ...(ofPod === undefined ? {} : { appArmorProfile: ofPod }),
      },
    });
    const pod = { ...written, spec: withAppArmorAnnotations(written.spec, annotations) };
    return appArmorProfile(pod, pod.spec.containers[0] ?? container);
  };
  const unconfined = {
    apparmor: { profileType: ProfileType.Unconfined },
    apparmorProfile: "unconfined",
  };
  const runtimeDefault = {
    apparmor: { profileType: ProfileType.RuntimeDefault },
    apparmorProfile: "runtime/default",
  };
  const local = (name: string) => ({
    apparmor: { profileType: ProfileType.Localhost, localhostRef: name },
    apparmorProfile: `localhost/${name}`,
  });

  test("is left to the runtime without any setting", () => {
    expect(profileOf({})).toEqual({});
  });

  test("each type in both of its forms", () => {
    expect(profileOf({ ofPod: NONE })).toEqual(unconfined);
    expect(profileOf({ ofPod: DEFAULT })).toEqual(runtimeDefault);
    expect(profileOf({ ofPod: AUDIT })).toEqual(local("profiles/audit.json"));
  });

  test("the field of the container, then the annotation, then the field of the pod", () => {
    const annotations = { [`${KEY}a`]: "localhost/mine" };
    expect(profileOf({ ofPod: NONE }, annotations)).toEqual(local("mine"));
    expect(profileOf({ ofPod: NONE, ofContainer: DEFAULT }, annotations)).toEqual(runtimeDefault);
    expect(profileOf({ ofPod: NONE }, { [`${KEY}b`]: "localhost/mine" })).toEqual(unconfined);
  });

  test("the words of the annotation", () => {
    const of = (word: string) => profileOf({}, { [`${KEY}a`]: word });
    expect(of("runtime/default")).toEqual(runtimeDefault);
    expect(of("unconfined")).toEqual(unconfined);
    expect([of("localhost/"), of("other"), of("")]).toEqual([{}, {}, {}]);
  });
});
