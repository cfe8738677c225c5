/** A finite number as `digits` × 10^`exponent`, exactly as its shortest decimal notation. */
export interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

const DECIMAL_NOTATION = /^(?<sign>-?)(?<whole>\d+)(?:\.(?<fraction>\d+))?(?:e(?<exponent>[+-]\d+))?$/;

export function toDecimal(value: number): Decimal {
  const { sign = '', whole = '0', fraction = '', exponent = '0' } = DECIMAL_NOTATION.exec(String(value))?.groups ?? {};
  return { digits: BigInt(`${sign}${whole}${fraction}`), exponent: Number(exponent) - fraction.length };
}

/** Converts the number to units of 10^−`places`, rounded towards plus infinity. */
export function ceilTo(places: number, { digits, exponent }: Decimal): bigint {
  return -floorTo(places, { digits: -digits, exponent });
}

/** Converts the number to units of 10^−`places`, rounded towards minus infinity. */
export function floorTo(places: number, { digits, exponent }: Decimal): bigint {
  const shift = BigInt(exponent + places);
  if (shift >= 0n) return digits * 10n ** shift;
  const unit = 10n ** -shift;
  // Division of bigints rounds towards zero.
  return digits / unit - (digits < 0n && digits % unit !== 0n ? 1n : 0n);
}

/** Returns the next larger double; Infinity after the largest. */
export function nextUp(value: number): number {
  if (value === 0) return Number.MIN_VALUE;
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  bits.setBigInt64(0, bits.getBigInt64(0) + (value > 0 ? 1n : -1n));
  return bits.getFloat64(0);
}

export function nextDown(value: number): number {
  return -nextUp(-value);
}
