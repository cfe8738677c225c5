const ESCAPES: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

const ESCAPE = /\\(?:x([\da-f]{2})|u([\da-f]{4})|U([\da-f]{8})|([0-7]{1,3})|(.))/gis;

/** Decodes the escapes of a Python string literal. An unknown escape stays as it is, with its backslash. */
export const decodeStringLiteral = (text: string): string =>
  text.includes('\\')
    ? text.replace(
        ESCAPE,
        (escape: string, hex2?: string, hex4?: string, hex8?: string, octal?: string, other?: string) => {
          const hex = hex2 ?? hex4 ?? hex8;
          // The letters of the hexadecimal forms are case-sensitive.
          if (hex !== undefined && escape[1] === (hex2 ? 'x' : hex4 ? 'u' : 'U'))
            return decodeCodePoint(hex, 16, escape);
          if (octal !== undefined) return decodeCodePoint(octal, 8, escape);
          return ESCAPES[other ?? ''] ?? escape;
        },
      )
    : text;

function decodeCodePoint(digits: string, radix: number, escape: string): string {
  const code = Number.parseInt(digits, radix);
  return code > 0x10ffff ? escape : String.fromCodePoint(code);
}
