// Performs: A signal as something to race against.

/** Resolves when `signal` aborts; never rejects. */
export function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise<undefined>((resolve) => {
    if (signal.aborted) return resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
