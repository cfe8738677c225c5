/** Parameters of Punycode (RFC 3492, section 5). */
const BASE = 36;
const T_MIN = 1;
const T_MAX = 26;
const SKEW = 38;
const DAMP = 700;
const INITIAL_BIAS = 72;
const INITIAL_CODE_POINT = 0x80;
const CODE_POINT_MAX = 0x10ffff;

/** Decodes Punycode of a label without `xn--`; undefined when it is not valid. Takes quadratic time. */
export function decodePunycode(text: string): string | undefined {
  const delimiter = text.lastIndexOf('-');
  const codePoints = Array.from(text.slice(0, Math.max(0, delimiter)), (character) => character.charCodeAt(0));
  let [codePoint, bias, insertAt] = [INITIAL_CODE_POINT, INITIAL_BIAS, 0];
  for (let at = delimiter + 1; at < text.length;) {
    const start = insertAt;
    for (let [weight, k] = [1, BASE]; ; k += BASE) {
      const digit = parseDigit(text[at++]);
      if (digit === undefined) return undefined;
      insertAt += digit * weight;
      if (insertAt > Number.MAX_SAFE_INTEGER) return undefined;
      const threshold = getThreshold(k, bias);
      if (digit < threshold) break;
      weight *= BASE - threshold;
    }
    const length = codePoints.length + 1;
    bias = adaptBias(insertAt - start, length, start === 0);
    codePoint += Math.floor(insertAt / length);
    insertAt %= length;
    if (codePoint > CODE_POINT_MAX || (0xd800 <= codePoint && codePoint <= 0xdfff)) return undefined;
    codePoints.splice(insertAt++, 0, codePoint);
  }
  return String.fromCodePoint(...codePoints);
}

/** Encodes a well-formed text as Punycode, without `xn--`. Takes quadratic time. */
export function encodePunycode(text: string): string {
  const codePoints = [...text].map((character) => character.codePointAt(0) ?? 0);
  const basic = codePoints.filter((each) => each < INITIAL_CODE_POINT);
  let output = basic.length > 0 ? `${String.fromCodePoint(...basic)}-` : '';
  let [handled, bias, delta, last] = [basic.length, INITIAL_BIAS, 0, INITIAL_CODE_POINT];
  while (handled < codePoints.length) {
    const next = Math.min(...codePoints.filter((each) => each >= last));
    delta += (next - last) * (handled + 1);
    for (const codePoint of codePoints) {
      if (codePoint < next) delta++;
      if (codePoint !== next) continue;
      output += encodeDelta(delta, bias);
      bias = adaptBias(delta, handled + 1, handled === basic.length);
      delta = 0;
      handled++;
    }
    delta++;
    last = next + 1;
  }
  return output;
}

function encodeDelta(delta: number, bias: number): string {
  let output = '';
  let rest = delta;
  for (let k = BASE; ; k += BASE) {
    const threshold = getThreshold(k, bias);
    if (rest < threshold) return output + rest.toString(BASE).replace(/./, toPunycodeDigit);
    const digit = threshold + ((rest - threshold) % (BASE - threshold));
    output += toPunycodeDigit(digit.toString(BASE));
    rest = Math.floor((rest - threshold) / (BASE - threshold));
  }
}

/** JavaScript's digits to base 36 are 0 to 9 and a to z, those of Punycode a to z and 0 to 9. */
const toPunycodeDigit = (digit: string): string => {
  const value = Number.parseInt(digit, BASE);
  return value < 26 ? String.fromCharCode(0x61 + value) : String(value - 26);
};

function parseDigit(character: string | undefined): number | undefined {
  if (character === undefined) return undefined;
  if (/[a-z]/i.test(character)) return character.toLowerCase().charCodeAt(0) - 0x61;
  return /[0-9]/.test(character) ? Number(character) + 26 : undefined;
}

const getThreshold = (k: number, bias: number): number => Math.min(T_MAX, Math.max(T_MIN, k - bias));

function adaptBias(delta: number, length: number, isFirst: boolean): number {
  let rest = Math.floor(delta / (isFirst ? DAMP : 2));
  rest += Math.floor(rest / length);
  let k = 0;
  for (; rest > ((BASE - T_MIN) * T_MAX) / 2; k += BASE) rest = Math.floor(rest / (BASE - T_MIN));
  return k + Math.floor(((BASE - T_MIN + 1) * rest) / (rest + SKEW));
}
