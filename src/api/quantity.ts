// Kubernetes quantities ("500m", "64Mi", "1e3") as whole thousandths, exact at any size.

const FORM =
  /^([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]{1,3})?$/;
/** Longer numbers than any device has of anything; keeps the arithmetic small. */
const MAX_DIGITS = 40;
const MAX_EXPONENT = 30;

const DECIMAL: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  "": 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY: readonly string[] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

type Format = "Decimal" | "Binary" | "Exponent";

interface Quantity {
  /** Thousandths, rounded away from zero. */
  readonly milli: bigint;
  readonly format: Format;
}

/** Thousandths of one unit, rounded away from zero as Kubernetes does; undefined = not a quantity. */
export function parseQuantity(text: string): bigint | undefined {
  return read(text)?.milli;
}

/** Whole units, rounded up: bytes of a memory quantity. */
export function wholeUnits(milli: bigint): bigint {
  return milli > 0n ? (milli + 999n) / 1000n : milli / 1000n;
}

/** The same amount in Kubernetes' canonical text: no fraction, the largest suffix of its kind. */
export function canonicalQuantity(text: string): string | undefined {
  const quantity = read(text);
  if (quantity === undefined) return undefined;
  if (quantity.milli === 0n) return "0";
  // Below 1024 Kubernetes prints a binary quantity, and any fraction, in decimal form.
  const whole = quantity.milli % 1000n === 0n;
  const size = quantity.milli < 0n ? -quantity.milli : quantity.milli;
  if (quantity.format === "Binary" && whole && size >= 1_024_000n)
    return binaryText(quantity.milli);
  return decimalText(quantity.milli, quantity.format === "Exponent" ? "Exponent" : "Decimal");
}

function read(text: string): Quantity | undefined {
  const match = FORM.exec(text);
  if (match === null || text.length > MAX_DIGITS) return undefined;
  const [, sign = "", number = "", suffix = ""] = match;
  const [whole = "", fraction = ""] = number.split(".");
  const digits = BigInt(whole + fraction);
  const scaled = scale(suffix, digits, fraction.length);
  if (scaled === undefined) return undefined;
  return { milli: sign === "-" ? -scaled.milli : scaled.milli, format: scaled.format };
}

function scale(suffix: string, digits: bigint, decimals: number): Quantity | undefined {
  const binary = suffix === "" ? -1 : BINARY.indexOf(suffix);
  if (binary > 0) {
    const amount = digits * 1024n ** BigInt(binary) * 1000n;
    return { milli: divideUp(amount, 10n ** BigInt(decimals)), format: "Binary" };
  }
  const exponent = DECIMAL[suffix] ?? Number(suffix.slice(1));
  if (Math.abs(exponent) > MAX_EXPONENT) return undefined;
  const power = exponent + 3 - decimals;
  const milli =
    power >= 0 ? digits * 10n ** BigInt(power) : divideUp(digits, 10n ** BigInt(-power));
  return { milli, format: DECIMAL[suffix] === undefined ? "Exponent" : "Decimal" };
}

function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}

function binaryText(milli: bigint): string {
  let value = milli / 1000n;
  let step = 0;
  while (value % 1024n === 0n && step < BINARY.length - 1) {
    value /= 1024n;
    step += 1;
  }
  return `${value}${BINARY[step] ?? ""}`;
}

const DECIMAL_STEPS: readonly string[] = ["m", "", "k", "M", "G", "T", "P", "E"];

function decimalText(milli: bigint, format: "Decimal" | "Exponent"): string {
  let value = milli;
  let step = 0;
  while (value % 1000n === 0n && step < DECIMAL_STEPS.length - 1) {
    value /= 1000n;
    step += 1;
  }
  if (format === "Decimal" || step === 1) return `${value}${DECIMAL_STEPS[step] ?? ""}`;
  return `${value}e${(step - 1) * 3}`;
}
