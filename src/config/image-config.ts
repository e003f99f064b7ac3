// Configuration of images: how they are pulled, and with which credentials. Names, defaults and rules are
// KubeletConfiguration's where it has the field. kubelet: ValidateKubeletConfiguration, SetDefaults_KubeletConfiguration

import { invalid, required, type Node } from "../api/decode/field-reader.ts";
import { boolean, fieldOf, type ObjectOf } from "../api/schema/codec.ts";
import { between, MAX_INT32 } from "../api/schema/values.ts";
import { path } from "./config-values.ts";

const QPS = 5;
const BURST = 10;

export const IMAGE_FIELDS = {
  serializeImagePulls: boolean({
    about:
      "Whether images are pulled one after the other. Default: true, or false with maxParallelImagePulls above 1.",
    keep: true,
  }),
  maxParallelImagePulls: fieldOf(between(1, MAX_INT32))({
    about:
      "Most image pulls at once, counted apart for pods of files and of documents. Default: 1, or no limit with serializeImagePulls false.",
  }),
  registryPullQPS: fieldOf(between(0, MAX_INT32))({
    about: "Most image pulls that begin per second; 0 is no limit.",
    default: QPS,
    keep: true,
  }),
  registryBurst: fieldOf(between(0, MAX_INT32))({
    about: "Most image pulls that begin at once, above registryPullQPS.",
    default: BURST,
    keep: true,
  }),
  registryAuthFile: path({
    about:
      "Credentials for registries: a config.json of Docker with auths, credHelpers and credsStore.",
    default: "/etc/agent/registry-auth.json",
  }),
  imageArchivePath: path({
    about: "Directory of image archives, *.tar, *.tar.gz and *.tar.zst, whose images are imported.",
    default: "/etc/agent/images",
  }),
  imageCredentialProviderConfigFile: path({
    about:
      "CredentialProviderConfig of the plugins that know credentials for registries; needs imageCredentialProviderBinDir.",
  }),
  imageCredentialProviderBinDir: path({
    about:
      "Directory of the plugins' programs, and of credential helpers; helpers are also found in /usr/local/bin, /usr/bin and /bin.",
  }),
};
type ImageFields = ObjectOf<typeof IMAGE_FIELDS>;

export interface PullLimits {
  /** Pulls at once; Infinity = no limit. */
  readonly parallel: number;
  /** Pulls that begin per second; 0 = no limit. */
  readonly perSecond: number;
  readonly burst: number;
}

export function checkImages(fields: ImageFields, node: Node): void {
  const { serializeImagePulls, maxParallelImagePulls = 1 } = fields;
  if (serializeImagePulls === true && maxParallelImagePulls > 1) {
    const message = "must be 1 while serializeImagePulls is true";
    invalid(node, "maxParallelImagePulls", message);
  }
  if (fields.registryPullQPS > 0 && fields.registryBurst === 0) {
    const message =
      "must be at least 1 while registryPullQPS limits the pulls: none could ever begin";
    invalid(node, "registryBurst", message);
  }
  const [file, bin] = [
    fields.imageCredentialProviderConfigFile,
    fields.imageCredentialProviderBinDir,
  ];
  if (file !== undefined && bin === undefined)
    required(node, "imageCredentialProviderBinDir", "the directory of the plugins' programs");
}

export function pullLimits(fields: ImageFields): PullLimits {
  const { maxParallelImagePulls, registryPullQPS: perSecond, registryBurst: burst } = fields;
  const { serializeImagePulls = (maxParallelImagePulls ?? 1) === 1 } = fields;
  const parallel = serializeImagePulls ? 1 : (maxParallelImagePulls ?? Number.POSITIVE_INFINITY);
  return { parallel, perSecond, burst };
}
