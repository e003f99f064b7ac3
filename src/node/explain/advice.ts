// One sentence of advice for every reason for which a pod does not run as it should. A reason without a sentence fails a
// test, which looks for reasons in the source.

/** What the sentences name: `{pod}`, `{logs}`, `{ref}`. */
export interface AdvicePlace {
  readonly namespace: string;
  readonly pod: string;
  readonly container?: string | undefined;
  /** Where the pod is declared: a file with its line, or a document. */
  readonly ref: string;
}

const EDIT = "correct the field in {ref}, and check the file with agent validate before";
const WAIT = "nothing has to be done";
const RUNTIME =
  "look at the container runtime's own log (journalctl -u containerd), and run agent check";
const DISK = "free space on the disk of stateDir and of the images, and run agent check";
const SCHEDULE = "lower the request in {ref}, or remove another pod from this node";

// Sentences of causes that go by several names.
const RUNTIME_DOWN =
  "The container runtime does not answer: start it (systemctl start containerd), and run agent check.";
const NOT_STARTABLE =
  "The program cannot be started: check that command, args and workingDir in {ref} exist in the image, and that the image is for this processor.";
const NO_NETWORK =
  "The pod network is not ready: put a CNI configuration into /etc/cni/net.d and its plugins into /opt/cni/bin, and run agent check.";
const HELD =
  "The update waits on purpose, for a release or its maintenance window: let it go on with agent release.";
const NO_SANDBOX = `The sandbox of the pod cannot be created: ${RUNTIME}.`;
const NO_INSPECTION = `The container runtime cannot look for the image: ${RUNTIME}.`;

/** By the reason as the status, the condition or the refusal has it. */
export const ADVICE: Readonly<Record<string, string>> = {
  // A container that waits.
  ContainerCreating: "The container is being created: wait a few seconds and ask again.",
  PodInitializing: "The container waits for the init containers before it: look at those first.",
  CrashLoopBackOff:
    "The program ends again and again: read why with {logs}, and correct it, its command or its configuration.",
  ErrImagePull:
    "The image cannot be pulled: check its name, that this node reaches the registry, and the credentials in imagePullSecrets or registry-auth.json.",
  ImagePullBackOff:
    "The image cannot be pulled and is tried again by itself: check its name, that this node reaches the registry, and the credentials in imagePullSecrets or registry-auth.json.",
  RegistryUnavailable:
    "The registry does not answer and is tried again by itself: check the network, the name service and the clock of this node.",
  InvalidImageName: "The name of the image is not valid: correct it in {ref}.",
  ErrImageNeverPull:
    "imagePullPolicy Never forbids a pull and the image is not on the node: import it with agent images import, or change the policy in {ref}.",
  ImageInspectError: NO_INSPECTION,
  InspectFailed: NO_INSPECTION,
  ImageNotFound:
    "The registry has no such image: correct its name or tag in {ref}, or push it first.",
  ImageDenied:
    "The registry refuses this node the image: correct the credentials in imagePullSecrets or registry-auth.json.",
  InvalidImageArchive:
    "The image archive is not valid: write it anew with docker save or agent images export.",
  DamagedArchive: "The image archive is damaged: copy it to the node once more.",
  ImageNotSeen: "containerd does not show the imported image: restart containerd.",
  PauseImageNotSeen: "containerd does not show the sandbox image: restart containerd.",
  NoSpaceForImages: `There is no room for the image: ${DISK}.`,
  CreateContainerConfigError:
    "Something that the container reads is missing or unusable: add the ConfigMap, Secret, key, device or volume that the message names, or mark it optional in {ref}.",
  CreateContainerError: `The container runtime refuses to create the container: ${EDIT}; if the message speaks of the runtime, ${RUNTIME}.`,
  RunContainerError:
    "The container was created and its program cannot be started: check that command, workingDir and the mounts in {ref} exist in the image.",
  StartError: NOT_STARTABLE,
  ContainerCannotRun: NOT_STARTABLE,
  PostStartHookError:
    "The postStart hook fails, so the container is stopped: correct the hook in {ref}; its output is in the agent's log.",
  LifecycleHookFailed: "The hook fails: correct it in {ref}; its output is in the agent's log.",
  UnsupportedByRuntime:
    "This container runtime cannot do what the pod asks for: remove the field in {ref}, or install a newer runtime.",
  NameReserved:
    "The container runtime still holds the name of an earlier try, and it is tried again by itself: if it stays so for minutes, restart containerd.",
  CreatePodSandboxError: NO_SANDBOX,
  FailedCreatePodSandBox: NO_SANDBOX,
  NetworkNotReady: NO_NETWORK,
  NetworkPluginNotReady: NO_NETWORK,
  SandboxLost:
    "The sandbox of a pod that may run only once is gone: change the pod in {ref}, such as by an annotation, to run it once more.",
  SyncError: `The last step for this pod failed and is tried again by itself: ${RUNTIME}.`,
  KillContainerError: `A container cannot be stopped and is tried again by itself: ${RUNTIME}.`,
  KillPodError: `The pod cannot be stopped and is tried again by itself: ${RUNTIME}.`,
  RuntimeUnavailable: RUNTIME_DOWN,
  CRINotServed:
    "The container runtime does not serve CRI: remove cri from disabled_plugins in /etc/containerd/config.toml and restart containerd.",
  UnsupportedCRIVersion: "The container runtime is too old: install containerd 1.6 or newer.",
  LogNotReopened: `The container runtime does not reopen the log of the container: ${RUNTIME}.`,

  // Answers of the runtime that no other reason covers.
  Canceled: `A call to the container runtime was cut off and is made again by itself: ${RUNTIME}.`,
  Unknown: `The container runtime reports an error without a reason: ${RUNTIME}.`,
  InvalidArgument: `The container runtime refuses the pod as it is: ${EDIT}.`,
  NotFound: `The container runtime has lost what it was asked for, and it is made anew by itself: ${RUNTIME}.`,
  AlreadyExists: `The container runtime still has what is to be created: ${RUNTIME}.`,
  PermissionDenied:
    "The container runtime may not do what it was asked: run the agent and containerd as root, and look at their logs.",
  Unauthenticated:
    "The container runtime demands credentials: correct imagePullSecrets or registry-auth.json.",
  ResourceExhausted: `The container runtime has run out of something: ${DISK}.`,
  FailedPrecondition: `The container runtime is in no state to do it: ${RUNTIME}.`,
  Aborted: `The container runtime has given up and is asked again by itself: ${RUNTIME}.`,
  OutOfRange: `The container runtime refuses a value of the pod: ${EDIT}.`,
  Unimplemented: "The container runtime is too old for this pod: install containerd 1.6 or newer.",
  Internal: `The container runtime failed inside: ${RUNTIME}.`,
  Unavailable: RUNTIME_DOWN,
  DataLoss: `The container runtime has lost data: ${RUNTIME}.`,

  // Volumes and files.
  FailedMount:
    "A volume of the pod cannot be set up: the message names it; add the object, path or claim that is missing, or correct the volume in {ref}.",
  FailedAttachVolume: "A volume of the pod cannot be set up: correct the volume in {ref}.",
  FailedUnmount:
    "A volume of an earlier life of the pod cannot be removed: end the process that still uses it, or restart the machine.",
  MountError:
    "The kernel refuses to mount a volume: check the path in {ref} and the kernel's log (dmesg).",
  FileError: `A file of the pod cannot be read or written: ${DISK}.`,
  NoAnswer:
    "A file system or a program of this node does not answer: check the network storage behind the volume (mount, dmesg).",
  NoProgram: "A program that the agent needs is missing: install it, and run agent check.",
  ClaimBusy: "The data of the claim is being removed: wait until that is done.",
  ClaimsMayHang:
    "The directory of the claims lies on a file system that may hang: bring its server back, or set claimRoot to a local disk.",
  InvalidName: "A name is not valid as the name of a directory: correct it in {ref}.",
  InvalidUID: "The uid of the pod is not valid: remove metadata.uid in {ref}.",
  SecretKeyUnavailable:
    "The node's own key cannot be read, so that Secrets of documents cannot be opened: restore stateDir/secret.key, or send the document again.",
  DatabaseFull: `The database of the agent cannot grow: ${DISK}.`,
  DatabaseUnavailable: `The database of the agent cannot be used: ${DISK}.`,
  DatabaseCorrupt:
    "The database of the agent is damaged: restart the agent, which sets it aside and makes a new one.",
  StorageUnavailable: `The agent cannot store what runs: ${DISK}.`,

  // A pod that waits for something else.
  DependencyNotReady:
    "The pod waits for another pod of its annotation agent/depends-on: the message names it; explain that one with agent explain.",
  StartGuard:
    "Starting this pod has ended the agent twice, so it waits: look at the agent's log (journalctl -u agent), and change the pod in {ref}.",
  SourceNotReady:
    "The pod under this name belongs to a source that has not been read yet: check the files and the connection that declare it (agent get desired).",
  Stopping:
    "The pod waits until an older pod has stopped: wait, or shorten it with agent delete pod --now.",
  Terminating:
    "The pod is being stopped: wait for its grace period, or shorten it with agent delete pod --now.",
  Terminated:
    "The node shuts down and has stopped the pod: it starts again after the next boot, or with agent shutdown --cancel.",
  NodeShutdown:
    "The node shuts down and starts no pod: wait for the next boot, or cancel it with agent shutdown --cancel.",
  Evicted:
    "The node was short of memory, disk or process numbers: free some, or give the pod requests and a higher priority in {ref}; it starts again when the shortage is over.",
  DeadlineExceeded:
    "The pod, or a call to the container runtime, has taken longer than it may: raise activeDeadlineSeconds in {ref}, or look at what takes so long.",
  TerminationByKubelet:
    "The node itself has ended the pod, to make room or because it shuts down: the message has the reason.",
  RestartAllContainersStarted:
    "A container has ended with a code that restarts all containers of the pod: wait until they run again.",

  // A container that runs and is not ready, or has ended.
  Unhealthy:
    "A probe of the container fails: read {logs}, and check path, port and times of the probe in {ref}.",
  ProbeWarning: "A probe answers with a warning: check path and port of the probe in {ref}.",
  NotReady:
    "The container runs and its readiness or startup probe has not succeeded yet: wait, or check path, port and times of the probe in {ref}.",
  Completed:
    "The container has ended by itself without an error: if it should go on, its program must not end, or restartPolicy in {ref} must be Always.",
  Error: "The program has ended with an error: read {logs} and correct it.",
  OOMKilled:
    "The container needed more memory than it may have: raise limits.memory in {ref}, or make the program use less.",
  ContainerStatusUnknown:
    "The runtime has lost the container, such as at a power cut, and its exit is unknown: if it does not start again by itself, change the pod in {ref}.",
  NodeNotReady:
    "The agent or the container runtime is not healthy: run agent check, and look at the agent's log (journalctl -u agent).",
  BackOff: "The program ends again and again: read why with {logs}, and correct it.",
  ContainersNotReady: "Not all containers are ready: look at each of them.",
  ContainersNotInitialized: "The init containers have not completed: look at each of them.",
  UnknownContainerStatuses:
    "The agent has not looked at the containers yet: ask again in a few seconds.",
  PodCompleted: "The pod has done its work: nothing has to be done.",
  PodFailed: "The pod has failed and is not started again: change it in {ref} to run it once more.",
  PodFailurePolicy:
    "A rule of podFailurePolicy has ended the Job: correct the cause, and change the Job in {ref}.",
  BackoffLimitExceeded:
    "The Job has failed more often than backoffLimit allows: correct the cause, and change the Job in {ref}.",

  // Admission.
  OutOfcpu: `The node has too little CPU left: ${SCHEDULE}.`,
  OutOfmemory: `The node has too little memory left: ${SCHEDULE}.`,
  "OutOfephemeral-storage": `The node has too little disk left: ${SCHEDULE}.`,
  OutOfpods: "The node runs as many pods as maxPods allows: remove another pod, or raise maxPods.",
  HostPortConflict:
    "Another pod has the host port: the message names it; change hostPort in {ref}, or remove that pod.",
  NodeAffinity:
    "The pod wants a node with other labels: change nodeSelector or nodeAffinity in {ref}, or nodeLabels of this node's configuration.",
  AppArmor:
    "The kernel of this node has no AppArmor: remove appArmorProfile in {ref}, or switch AppArmor on.",
  PodOSSelectorNodeLabelDoesNotMatch:
    "The pod is labelled for another operating system: remove the label kubernetes.io/os in {ref}.",
  PriorityClassNotFound:
    "The node does not know the PriorityClass: add it to priorityClasses of the agent's configuration, or remove it in {ref}.",
  RuntimeClassNotFound:
    "The node does not know the RuntimeClass: add it to runtimeClasses of the agent's configuration, or remove it in {ref}.",
  SysctlForbidden:
    "The sysctl is not allowed: remove it in {ref}, or add it to allowedUnsafeSysctls of the agent's configuration.",
  Forbidden:
    "The pod asks for more than this node allows a document: remove the field in {ref}, widen mqtt.podPolicy, or declare the pod in a file of this node.",
  NotForThisNode:
    "The pod is for another node: correct spec.nodeName in {ref} if it should run here.",

  // The manifest or the document.
  Invalid: `A value is not valid: ${EDIT}.`,
  Required: `A field is missing: ${EDIT}.`,
  Duplicate: `A value is there twice: ${EDIT}.`,
  UnknownField: `A field is unknown, and probably misspelt: ${EDIT}.`,
  Syntax:
    "The file is not valid YAML or JSON: correct the line that the message names, and check it with agent validate.",
  Empty: "The file declares nothing: write the pod into it, or remove it.",
  TooMany:
    "There are more errors than are shown: correct those first, and check the file with agent validate.",
  TooLarge: "The file is larger than the agent reads: divide it into several.",
  NameTooLong: "The name is too long: shorten it in {ref}.",
  NotAFile: "The manifest is no regular file: replace it by one.",
  Unreadable: "The manifest cannot be read: give root the right to read it, and check the disk.",
  Unsupported:
    "The agent does not support a field: remove it in {ref}; agent explain FIELD tells what there is instead.",
  UnsupportedVolume:
    "The agent does not support this kind of volume: use another one in {ref}, such as hostPath, emptyDir or a claim.",
  NeedsAPIServer: "The field has a meaning only in a cluster: remove it in {ref}.",
  NotSupported: "The agent does not support this yet: remove it in {ref}.",
  Reserved: "The name is reserved for the agent's own object: choose another one in {ref}.",
  DuplicatePod: "Two manifests declare a pod of this name: rename or remove one of them.",
  DuplicateObject: "Two manifests declare an object of this name: rename or remove one of them.",
  Shadowed:
    "Another source declares a pod of this name and comes first: rename or remove one of them.",
  Ignored: "The agent does not use this: remove it in {ref} if it should have an effect.",
  MissingObject: "An object that the pod reads is missing: add it.",
  DirectoryError:
    "The directory of the manifests cannot be read: restore it or its permissions; the pods of its files run on.",
  DirectoryReplaced:
    "The directory of the manifests is another one than before: put the files back, or restart the agent to take it as it is.",
  RemovalsWait: "Files were removed while another one cannot be read: correct that one first.",
  LastGoodLost: "The file is not valid and its last good version is lost: correct the file.",
  NotStarted: "It is not started now: the message has the reason.",
  URLFailed:
    "The manifests cannot be fetched from staticPodURL: check the address, the network and the server.",
  URLRemoved: "staticPodURL is not configured any more: set it again, or let its pods go.",
  InsecureURL: "The manifests come without encryption: use https in staticPodURL.",
  Unmet: "The document demands something that this node lacks: the message names it.",
  OtherTarget: "The document is for another node or group: send it to the right topic.",
  DocumentLost: "The document can no longer be read from the disk: send it again.",
  TooManyGroups: "The node is in too many groups: leave some.",
  SecretInSharedDocument:
    "A Secret stands in a document that many nodes can read: send it to this node alone.",
  UnpinnedImage: "The image has no digest and may change: name it with @sha256 in {ref}.",

  // Updates.
  Pulling:
    "The new version is being pulled while the old one runs: wait, or follow it with agent get events.",
  Held: HELD,
  UpdateHeld: HELD,
  UpdateFailed:
    "The new version did not become ready: correct it and send it again, or try it once more with agent release.",
  RolledBack:
    "The new version did not become ready and the one before runs again: correct it and send it again.",
  ProgressDeadlineExceeded:
    "The new version did not become ready in time: read its events, correct it and send it again, or raise progressDeadlineSeconds.",
  RebootedTooOften:
    "The machine has restarted too often during the update: find out why before it is sent again.",
  UpstreamLost:
    "The broker was not reached again after the update: correct the network part of it and send it again.",
  AtomicUpdate:
    "Another pod of the same document failed, so that all were taken back: correct that one.",
  Superseded: `A newer version has taken the place of the update: ${WAIT}.`,
};

/** Of an exit code that shells, kernels and runtimes give a meaning. */
const EXIT_ADVICE: Readonly<Record<number, string>> = {
  125: "The program cannot be started: check command and args in {ref}.",
  126: "The program is no executable file: check command in {ref}, and its permissions in the image.",
  127: "The program is not in the image: check command in {ref}, and that the shell or interpreter is there.",
  132: "The program uses instructions that this processor lacks: use an image for this board.",
  134: "The program has aborted itself: read why with {logs}.",
  137: "The container was killed (SIGKILL), for lack of memory, by a failed liveness probe or after its grace period: see the events, and raise limits.memory or the probe's times in {ref}.",
  139: "The program has crashed (SIGSEGV): try another version of the image, one built for this board.",
  143: "The program was asked to end (SIGTERM): see the events for who has asked.",
};

/** A sentence for a reason of the runtime that this version does not know. */
const UNKNOWN = `The message has the reason: if it does not help, ${RUNTIME}.`;
export const WELL_ADVICE = "The pod runs as it should: nothing has to be done.";
export const NO_CAUSE_ADVICE =
  "Nothing is wrong that the agent knows of: wait a few seconds and ask again.";

/** By the reason, and by the exit code where the reason says no more than that the program has ended. */
export function adviceFor(
  { reason, exitCode }: { readonly reason: string; readonly exitCode?: number | undefined },
  place: AdvicePlace,
): string {
  return filled(sentenceFor(reason, exitCode), place);
}

function sentenceFor(reason: string, exitCode: number | undefined): string {
  const isOfProgram = ["Error", "CrashLoopBackOff", "BackOff"].includes(reason);
  const byCode = isOfProgram && exitCode !== undefined ? EXIT_ADVICE[exitCode] : undefined;
  if (byCode !== undefined) return byCode;
  if (Object.hasOwn(ADVICE, reason)) return ADVICE[reason] ?? UNKNOWN;
  if (reason.startsWith("OutOf"))
    return `The node has too little of ${reason.slice("OutOf".length)} left: ${SCHEDULE}.`;
  return UNKNOWN;
}

function filled(sentence: string, { namespace, pod, container, ref }: AdvicePlace): string {
  const where = namespace === "default" ? "" : ` -n ${namespace}`;
  const which = container === undefined ? "" : ` -c ${container}`;
  const words: Readonly<Record<string, string>> = {
    pod: `pod ${namespace}/${pod}`,
    logs: `agent logs ${pod}${where}${which}`,
    ref,
  };
  return sentence.replaceAll(/\{(\w+)\}/g, (written, word: string) => words[word] ?? written);
}
