import { describe, expect, test } from "bun:test";
import type { SecurityProfile } from "../../../../src/api/v1/security-context.ts";
import { SecurityProfile_ProfileType as ProfileType } from "../../../../src/cri/gen/runtime/v1/api_pb.ts";
import { seccompProfile } from "../../../../src/runtime/cri-config/seccomp.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import { refusalOf } from "../../../fakes/refusal.ts";

const DEFAULT: SecurityProfile = { type: "RuntimeDefault" };
const NONE: SecurityProfile = { type: "Unconfined" };
const AUDIT: SecurityProfile = { type: "Localhost", localhostProfile: "profiles/audit.json" };

interface Written {
  readonly ofPod?: SecurityProfile;
  readonly ofContainer?: SecurityProfile;
}

describe("seccomp", () => {
  const profileOf = ({ ofPod, ofContainer }: Written, seccompDefault = false, there = true) =>
    seccompProfile(
      aPod({
        securityContext: {
          supplementalGroups: [],
          sysctls: [],
          ...(ofPod === undefined ? {} : { seccompProfile: ofPod }),
        },
      }),
      aContainer("a", {
        securityContext: ofContainer === undefined ? {} : { seccompProfile: ofContainer },
      }),
      {
        seccompDefault,
        seccompRoot: "/state/seccomp",
        isFile: (path) => there && path === "/state/seccomp/profiles/audit.json",
      },
    );

  const cases: Record<string, [Written, ProfileType]> = {
    "none without any setting": [{}, ProfileType.Unconfined],
    "the pod's": [{ ofPod: DEFAULT }, ProfileType.RuntimeDefault],
    "its own before the pod's": [{ ofPod: DEFAULT, ofContainer: NONE }, ProfileType.Unconfined],
  };
  test.each(Object.entries(cases))("%s", (_, [written, profileType]) => {
    expect(profileOf(written)).toEqual({ profileType });
  });

  test("the runtime's default without any setting if the node is configured so", () => {
    expect(profileOf({}, true)).toEqual({ profileType: ProfileType.RuntimeDefault });
    expect(profileOf({ ofPod: NONE }, true)).toEqual({ profileType: ProfileType.Unconfined });
  });

  test("a file below the directory of profiles", () => {
    const localhostRef = "/state/seccomp/profiles/audit.json";
    const expected = { profileType: ProfileType.Localhost, localhostRef };
    expect(profileOf({ ofContainer: AUDIT })).toEqual(expected);
    expect(profileOf({ ofPod: AUDIT })).toEqual(expected);
  });

  test("a file that is not there is named", () => {
    expect(refusalOf(() => profileOf({ ofPod: AUDIT }, false, false))).toEqual({
      reason: "CreateContainerConfigError",
      message:
        'container "a" needs the seccomp profile /state/seccomp/profiles/audit.json, which does not exist; create it',
    });
  });
});
