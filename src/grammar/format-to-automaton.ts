import type { Automaton } from './automaton.ts';
import type { PatternDeps } from './parse-pattern.ts';
import { patternToAutomaton } from './pattern-to-automaton.ts';

/**
 * Returns the automaton of a JSON Schema format (draft 2020-12, section 7.3, and OpenAPI's `byte`); undefined for a
 * format that is unknown or that a grammar does not restrict. Accepts each text that the format's standard allows, and
 * some that it does not: lengths, encoded labels, scripts and leap seconds are left to the check (format-checks).
 */
export function formatToAutomaton(format: string, deps: Partial<PatternDeps> = {}): Automaton | undefined {
  const pattern = PATTERNS.get(format);
  return pattern === undefined ? undefined : patternToAutomaton(`^${pattern}$`, deps);
}

export const hasFormat = (format: string): boolean => PATTERNS.has(format);

const anyOfPatterns = (...options: readonly string[]): string => `(?:${options.join('|')})`;

/** RFC 3339, section 5.6. Year 0 is a leap year. */
const LEAP_YEAR = anyOfPatterns('\\d\\d(?:0[48]|[2468][048]|[13579][26])', '(?:[02468][048]|[13579][26])00');
const DATE = anyOfPatterns(
  '\\d{4}-(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])',
  '\\d{4}-(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)',
  '\\d{4}-02-(?:0[1-9]|1\\d|2[0-8])',
  `${LEAP_YEAR}-02-29`,
);
/** A leap second is at 23:59 UTC: with an offset, in any minute. */
const CLOCK = '(?:[01]\\d|2[0-3]):[0-5]\\d';
const TIME = anyOfPatterns(
  `${CLOCK}:[0-5]\\d(?:\\.\\d+)?(?:[Zz]|[+-]${CLOCK})`,
  '23:59:60(?:\\.\\d+)?[Zz]',
  `${CLOCK}:60(?:\\.\\d+)?[+-]${CLOCK}`,
);

/** ISO 8601: any units, in order. RFC 3339, appendix A, demands units without gaps, which nobody writes or checks. */
const SECOND = '\\d+(?:[.,]\\d+)?S';
const TIME_SPAN = `T${anyOfPatterns(`\\d+H(?:\\d+M)?(?:${SECOND})?`, `\\d+M(?:${SECOND})?`, SECOND)}`;
const DATE_SPAN = anyOfPatterns('\\d+Y(?:\\d+M)?(?:\\d+D)?', '\\d+M(?:\\d+D)?', '\\d+D');
const DURATION = `P${anyOfPatterns(`${DATE_SPAN}(?:${TIME_SPAN})?`, TIME_SPAN, '\\d+W')}`;

/** RFC 1123, section 2.1. The check limits the lengths of labels and names. */
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
const HOSTNAME = `${LABEL}(?:\\.${LABEL})*`;

/** RFC 5890, with any of the dots of RFC 3490. */
const NON_ASCII = '\\u{80}-\\u{10FFFF}';
const IDN_LABEL = `[A-Za-z0-9${NON_ASCII}](?:[A-Za-z0-9${NON_ASCII}-]*[A-Za-z0-9${NON_ASCII}])?`;
const IDN_HOSTNAME = `${IDN_LABEL}(?:[.\\u3002\\uFF0E\\uFF61]${IDN_LABEL})*`;

const BYTE = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = `${BYTE}(?:\\.${BYTE}){3}`;

/** RFC 3986, section 3.2.2: the last 32 bits may be an IPv4 address; `::` stands for at least one group. */
const HEX = '[0-9A-Fa-f]';
const HEX_GROUP = `${HEX}{1,4}`;
const LAST_32_BITS = anyOfPatterns(`${HEX_GROUP}:${HEX_GROUP}`, IPV4);
const IPV6 = anyOfPatterns(
  `(?:${HEX_GROUP}:){6}${LAST_32_BITS}`,
  `::(?:${HEX_GROUP}:){5}${LAST_32_BITS}`,
  ...[4, 3, 2, 1, 0].map(
    (count) => `(?:(?:${HEX_GROUP}:){0,${4 - count}}${HEX_GROUP})?::(?:${HEX_GROUP}:){${count}}${LAST_32_BITS}`,
  ),
  `(?:(?:${HEX_GROUP}:){0,5}${HEX_GROUP})?::${HEX_GROUP}`,
  `(?:(?:${HEX_GROUP}:){0,6}${HEX_GROUP})?::`,
);

/** An IPv6 address inside another text: any order of its characters, because the exact rule takes 150 states. */
const ROUGH_IPV6 = '[0-9A-Fa-f:.]+';

/** RFC 5321, section 4.1.2; with `more` characters also RFC 6531. The check limits the lengths. */
const createEmail = (domain: string, more = ''): string => {
  const atom = `[\\w!#$%&'*+/=?^\`{|}~${more}-]+`;
  const quoted = `"(?:[ !#-\\[\\]-~${more}]|\\\\[ -~])*"`;
  const addressLiteral = `\\[(?:${IPV4}|[Ii][Pp][Vv]6:${ROUGH_IPV6})\\]`;
  return `${anyOfPatterns(`${atom}(?:\\.${atom})*`, quoted)}@${anyOfPatterns(domain, addressLiteral)}`;
};

const UUID = `${HEX}{8}(?:-${HEX}{4}){3}-${HEX}{12}`;

const UCS_CHARACTERS = `\\u{A0}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFEF}${Array.from(
  { length: 13 },
  (_, plane) => `\\u{${(plane + 1).toString(16)}0000}-\\u{${(plane + 1).toString(16)}FFFD}`,
).join('')}\\u{E1000}-\\u{EFFFD}`;
const PRIVATE_CHARACTERS = '\\u{E000}-\\u{F8FF}\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}';
const ENCODED = `%${HEX}{2}`;

/** RFC 3986, appendix A; with the characters of RFC 3987 IRIs. */
function createReferences(ucs = '', inQuery = '') {
  const name = `A-Za-z0-9._~!$&'()*+,;=${ucs}`;
  const repeat = (more: string, count: string): string => `(?:[${name}${more}-]|${ENCODED})${count}`;
  const literal = `\\[(?:${ROUGH_IPV6}|[Vv]${HEX}+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]`;
  const authority = `//(?:${repeat(':', '*')}@)?${anyOfPatterns(literal, repeat('', '*'))}(?::\\d*)?`;
  const segments = `(?:/${repeat(':@', '*')})*`;
  const absolutePath = `/(?:${repeat(':@', '+')}${segments})?`;
  const tail = `(?:\\?${repeat(`:@/?${inQuery}`, '*')})?(?:#${repeat(':@/?', '*')})?`;
  const scheme = '[A-Za-z][A-Za-z0-9+.-]*:';
  const rooted = anyOfPatterns(`${authority}${segments}`, absolutePath, '');
  const absolute = `${scheme}${anyOfPatterns(rooted, `${repeat(':@', '+')}${segments}`)}`;
  const relative = `${repeat('@', '+')}${segments}`;
  return { absolute: `${absolute}${tail}`, reference: `${anyOfPatterns(absolute, rooted, relative)}${tail}` };
}

const URI = createReferences();
/** RFC 3987, section 4.1, forbids the marks and embeddings of bidirectional text. */
const IRI_CHARACTERS = UCS_CHARACTERS.replace(
  '\\u{A0}-\\u{D7FF}',
  '\\u{A0}-\\u{200D}\\u{2010}-\\u{2029}\\u{202F}-\\u{D7FF}',
);
const IRI = createReferences(IRI_CHARACTERS, PRIVATE_CHARACTERS);

/** RFC 6570, section 2. */
const VARIABLE_CHARACTER = `(?:\\w|${ENCODED})`;
const VARIABLE = `${VARIABLE_CHARACTER}(?:\\.?${VARIABLE_CHARACTER})*(?::[1-9]\\d{0,3}|\\*)?`;
const URI_TEMPLATE = `(?:[!#$&(-;=?-\\[\\]_a-z~${UCS_CHARACTERS}${PRIVATE_CHARACTERS}]|${ENCODED}|\\{[+#./;?&=,!@|]?${VARIABLE}(?:,${VARIABLE})*\\})*`;

/** RFC 6901. */
const POINTER = '(?:/(?:[^~/]|~[01])*)*';

/** RFC 4648, section 4. The unused bits of the last character may have any value. */
const BASE64 = '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?';

const PATTERNS: ReadonlyMap<string, string> = new Map([
  ['date', DATE],
  ['time', TIME],
  ['date-time', `${DATE}[Tt]${TIME}`],
  ['duration', DURATION],
  ['email', createEmail(HOSTNAME)],
  ['idn-email', createEmail(IDN_HOSTNAME, NON_ASCII)],
  ['hostname', HOSTNAME],
  ['idn-hostname', IDN_HOSTNAME],
  ['ipv4', IPV4],
  ['ipv6', IPV6],
  ['uuid', UUID],
  ['uri', URI.absolute],
  ['iri', IRI.absolute],
  ['uri-reference', URI.reference],
  ['iri-reference', IRI.reference],
  ['uri-template', URI_TEMPLATE],
  ['json-pointer', POINTER],
  ['relative-json-pointer', `(?:0|[1-9]\\d*)(?:[+-][1-9]\\d*)?(?:#|${POINTER})`],
  ['byte', BASE64],
]);
