// The name of a pod as it is written on the command line, as kubectl takes it.

const WORDS = ["pods", "pod", "po"];

/** Without the `pod/` that `-o name` prints. */
export function barePodName(written: string): string {
  const word = WORDS.find((one) => written.startsWith(`${one}/`));
  return word === undefined ? written : written.slice(word.length + 1);
}
