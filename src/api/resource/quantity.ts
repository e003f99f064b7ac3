// Kubernetes quantities ("500m", "64Mi", "1e3") as whole billionths, exact. k8s: resource.Quantity

export const QUANTITY_FORM =
  /^([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]{1,3})?$/;
/** Longer numbers than any device has of anything; keeps the arithmetic small. */
const MAX_DIGITS = 40;
const NANO_PER_UNIT = 1_000_000_000n;
const NANO_PER_MILLI = 1_000_000n;
/** Kubernetes lowers larger amounts to this, which is never intended: here they are invalid. */
const MAX_UNITS = 2n ** 63n - 1n;

const BINARY: readonly string[] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/** From billionths upwards, each a thousand times the one before. */
const DECIMAL_STEPS: readonly string[] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/** Raising to a power is what reading a quantity would cost most. */
const POWERS_OF_TEN = Array.from({ length: MAX_DIGITS }, (_, power) => 10n ** BigInt(power));
const UNIT_STEP = DECIMAL_STEPS.indexOf("");

type Format = "Decimal" | "Binary" | "Exponent";

interface Quantity {
  /** Billionths, rounded away from zero. */
  readonly nano: bigint;
  readonly format: Format;
}

/** Thousandths of one unit, rounded away from zero as Kubernetes does; undefined = not a quantity. */
export function parseQuantity(text: string): bigint | undefined {
  const nano = read(text)?.nano;
  return nano === undefined ? undefined : divideAwayFromZero(nano, NANO_PER_MILLI);
}

/** Billionths of one unit: as exact as Kubernetes is, so that two amounts compare as they do there. */
export function exactQuantity(text: string): bigint | undefined {
  return read(text)?.nano;
}

/** Whole units, rounded up: bytes of a memory quantity. */
export function wholeUnits(milli: bigint): bigint {
  return milli > 0n ? (milli + 999n) / 1000n : milli / 1000n;
}

/** The same amount in Kubernetes' canonical text: no fraction, the largest suffix of its kind. */
export function canonicalQuantity(text: string): string | undefined {
  const quantity = read(text);
  return quantity === undefined ? undefined : textOf(quantity);
}

/** The same, what is less than a thousandth rounded away from zero: of finer steps Kubernetes keeps none in limits and requests. */
export function milliQuantity(text: string): string | undefined {
  const quantity = read(text);
  if (quantity === undefined) return undefined;
  const nano = divideAwayFromZero(quantity.nano, NANO_PER_MILLI) * NANO_PER_MILLI;
  return textOf({ ...quantity, nano });
}

/** An amount in thousandths as canonical text: of a decimal kind (cores) or a binary one (bytes). */
export function quantityText(milli: bigint, format: "Decimal" | "Binary"): string {
  return textOf({ nano: milli * NANO_PER_MILLI, format });
}

function textOf({ nano, format }: Quantity): string {
  // Below 1024 Kubernetes prints a binary quantity, and any fraction, in decimal form.
  const isWhole = nano % NANO_PER_UNIT === 0n;
  if (format === "Binary" && isWhole && size(nano) >= 1024n * NANO_PER_UNIT)
    return binaryText(nano / NANO_PER_UNIT);
  return decimalText(nano, format === "Exponent" ? "Exponent" : "Decimal");
}

/** What is wrong with a text that is no quantity, or one that this node does not count to. */
export function quantityError(text: string): string | undefined {
  const quantity = readAny(text);
  if (quantity === undefined) return 'must be a quantity such as "500m", "1.5" or "64Mi"';
  return isCountable(quantity) ? undefined : `must be no more than ${MAX_UNITS}`;
}

function read(text: string): Quantity | undefined {
  const quantity = readAny(text);
  return quantity !== undefined && isCountable(quantity) ? quantity : undefined;
}

function isCountable({ nano }: Quantity): boolean {
  return size(nano) <= MAX_UNITS * NANO_PER_UNIT;
}

function readAny(text: string): Quantity | undefined {
  const match = text.length > MAX_DIGITS ? null : QUANTITY_FORM.exec(text);
  if (match === null) return undefined;
  const [, sign = "", number = "", suffix = ""] = match;
  const [whole = "", fraction = ""] = number.split(".");
  const { nano, format } = scale(suffix, BigInt(whole + fraction), fraction.length);
  return { nano: sign === "-" ? -nano : nano, format };
}

function scale(suffix: string, digits: bigint, decimals: number): Quantity {
  const binary = suffix === "" ? -1 : BINARY.indexOf(suffix);
  if (binary > 0) {
    const amount = digits * 1024n ** BigInt(binary) * NANO_PER_UNIT;
    return { nano: divideAwayFromZero(amount, tenTo(decimals)), format: "Binary" };
  }
  const step = DECIMAL_STEPS.indexOf(suffix);
  const exponent = step < 0 ? Number(suffix.slice(1)) : (step - UNIT_STEP) * 3;
  const power = exponent + 9 - decimals;
  const nano = power >= 0 ? digits * tenTo(power) : divideAwayFromZero(digits, tenTo(-power));
  return { nano, format: step < 0 ? "Exponent" : "Decimal" };
}

function tenTo(power: number): bigint {
  return POWERS_OF_TEN[power] ?? 10n ** BigInt(power);
}

/** Who asks for a little gets a little, never nothing. */
function divideAwayFromZero(value: bigint, by: bigint): bigint {
  return value < 0n ? -((-value + by - 1n) / by) : (value + by - 1n) / by;
}

function size(value: bigint): bigint {
  return value < 0n ? -value : value;
}

function binaryText(units: bigint): string {
  let value = units;
  let step = 0;
  while (value % 1024n === 0n && step < BINARY.length - 1) {
    value /= 1024n;
    step += 1;
  }
  return `${value}${BINARY[step] ?? ""}`;
}

function decimalText(nano: bigint, format: "Decimal" | "Exponent"): string {
  if (nano === 0n) return "0";
  let value = nano;
  let step = 0;
  while (value % 1000n === 0n && step < DECIMAL_STEPS.length - 1) {
    value /= 1000n;
    step += 1;
  }
  if (format === "Decimal" || step === UNIT_STEP) return `${value}${DECIMAL_STEPS[step] ?? ""}`;
  return `${value}e${(step - UNIT_STEP) * 3}`;
}
