// How much room the termination message of one container gets in its pod's status. kubelet: normalizeStatus

/** Of all containers of a pod together. kubelet: MaxPodTerminationMessageLogLength */
const POD_BYTES = 12 * 1024;

/** The beginning of `message` that fits if `containers` (init containers too) share the room evenly. */
export function sharedMessage(message: string, containers: number): string {
  const share = Math.floor(POD_BYTES / Math.max(1, containers));
  const bytes = new TextEncoder().encode(message);
  if (bytes.length <= share) return message;
  // A character that is cut in two is left out.
  let end = share;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return new TextDecoder().decode(bytes.subarray(0, end));
}
