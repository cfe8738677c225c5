import type { Automaton } from './automaton.ts';
import type { PatternDeps } from './parse-pattern.ts';
import { patternToAutomaton } from './pattern-to-automaton.ts';

/**
 * Returns the automaton of a JSON Schema format (draft 2020-12, section 7.3, and OpenAPI's `byte`); undefined for a
 * format that is unknown or does not restrict the text. Accepts nothing that a strict validator rejects. Some rare
 * spellings that it accepts are left out (leap seconds, quoted local parts, IPv4 inside IPv6, …).
 */
export function formatToAutomaton(format: string, deps: Partial<PatternDeps> = {}): Automaton | undefined {
  const pattern = PATTERNS.get(format);
  return pattern === undefined ? undefined : patternToAutomaton(`^${pattern}$`, deps);
}

export const hasFormat = (format: string): boolean => PATTERNS.has(format);

const anyOfPatterns = (...options: readonly string[]): string => `(?:${options.join('|')})`;

/** RFC 3339. Excludes year 0, which not every calendar has. */
const LEAP_YEAR = anyOfPatterns('\\d\\d(?:0[48]|[2468][048]|[13579][26])', '(?:0[48]|[2468][048]|[13579][26])00');
const YEAR = '(?:000[1-9]|00[1-9]\\d|0[1-9]\\d\\d|[1-9]\\d{3})';
const DATE = anyOfPatterns(
  `${YEAR}-(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])`,
  `${YEAR}-(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)`,
  `${YEAR}-02-(?:0[1-9]|1\\d|2[0-8])`,
  `${LEAP_YEAR}-02-29`,
);
const CLOCK = '(?:[01]\\d|2[0-3]):[0-5]\\d';
const TIME = `${CLOCK}:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+-]${CLOCK})`;

/** RFC 3339, appendix A: units in order, without gaps. */
const NUMBER = '\\d{1,9}';
const TIME_SPAN = `T${anyOfPatterns(`${NUMBER}H(?:${NUMBER}M(?:${NUMBER}S)?)?`, `${NUMBER}M(?:${NUMBER}S)?`, `${NUMBER}S`)}`;
const DATE_SPAN = anyOfPatterns(`${NUMBER}Y(?:${NUMBER}M(?:${NUMBER}D)?)?`, `${NUMBER}M(?:${NUMBER}D)?`, `${NUMBER}D`);
const DURATION = `P${anyOfPatterns(`${DATE_SPAN}(?:${TIME_SPAN})?`, TIME_SPAN, `${NUMBER}W`)}`;

/** RFC 1123. A label has at most 63 characters and a name 253: six labels of 41 characters are within both. */
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,39}[A-Za-z0-9])?';
const HOSTNAME = `${LABEL}(?:\\.${LABEL}){0,5}`;

/** RFC 5321, without quoted local parts and addresses instead of domains. At most 64 characters before the @. */
const EMAIL_WORD = '[A-Za-z0-9_+-]{1,20}';
const EMAIL = `${EMAIL_WORD}(?:\\.${EMAIL_WORD}){0,2}@(?:${LABEL}\\.){1,4}[A-Za-z]{2,24}`;

const BYTE = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = `${BYTE}(?:\\.${BYTE}){3}`;
/** RFC 4291, without an IPv4 address at the end. */
const HEX_GROUP = '[0-9A-Fa-f]{1,4}';
const IPV6 = anyOfPatterns(
  `(?:${HEX_GROUP}:){7}${HEX_GROUP}`,
  ...[1, 2, 3, 4, 5, 6].map((count) => `(?:${HEX_GROUP}:){1,${count}}(?::${HEX_GROUP}){1,${7 - count}}`),
  `(?:${HEX_GROUP}:){1,7}:`,
  `:(?::${HEX_GROUP}){1,7}`,
  '::',
);

const HEX = '[0-9A-Fa-f]';
const UUID = `${HEX}{8}(?:-${HEX}{4}){3}-${HEX}{12}`;

/**
 * RFC 3986, restricted to names and addresses that the WHATWG URL parser accepts, too: the last label of a name begins
 * with a letter. Characters outside ASCII must be percent-encoded, as the RFC requires.
 */
const ENCODED = `%${HEX}{2}`;
const SEGMENT_CHARACTER = `(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|${ENCODED})`;
const PORT = anyOfPatterns('[1-9]\\d{0,3}', '[1-5]\\d{4}', '6[0-4]\\d{3}', '65[0-4]\\d\\d', '655[0-2]\\d', '6553[0-5]');
const NAME = '(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\\.)*[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
const AUTHORITY = `${anyOfPatterns(NAME, IPV4)}(?::${PORT})?`;
const SCHEME = '[a-z][a-z0-9+.-]*';
const PATH = `(?:/${SEGMENT_CHARACTER}*)*`;
const TAIL = `(?:\\?(?:${SEGMENT_CHARACTER}|[/?])*)?(?:#(?:${SEGMENT_CHARACTER}|[/?])*)?`;
const URI = `${anyOfPatterns(`${SCHEME}://${AUTHORITY}${PATH}`, `file:///${SEGMENT_CHARACTER}*${PATH}`, `${SCHEME}:${SEGMENT_CHARACTER}+${PATH}`)}${TAIL}`;
/** Schemes that require a host: the URL parser reads what follows as one. */
const HOST_LOOKAHEAD = '(?!(?:https?|wss?|ftp|file):[^/])';
/** The first segment of a relative path has no colon, which would make it a scheme. */
const FIRST_SEGMENT = `(?:[A-Za-z0-9._~!$&'()*+,;=@-]|${ENCODED})+`;
const RELATIVE = `${anyOfPatterns(`/(?:${SEGMENT_CHARACTER}+${PATH})?`, `${FIRST_SEGMENT}${PATH}`, '')}${TAIL}`;

/** RFC 6901. */
const POINTER = '(?:/(?:[^~/]|~[01])*)*';

/** RFC 4648, section 4; unused bits are zero. */
const BASE64 = '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?';

/** Lookaheads come first, because they must follow `^` directly. */
const PATTERNS: ReadonlyMap<string, string> = new Map([
  ['date', DATE],
  ['time', TIME],
  ['date-time', `${DATE}T${TIME}`],
  ['duration', DURATION],
  ['email', EMAIL],
  ['idn-email', EMAIL],
  ['hostname', HOSTNAME],
  ['idn-hostname', HOSTNAME],
  ['ipv4', IPV4],
  ['ipv6', IPV6],
  ['uuid', UUID],
  ['uri', HOST_LOOKAHEAD + URI],
  ['iri', HOST_LOOKAHEAD + URI],
  ['uri-reference', HOST_LOOKAHEAD + anyOfPatterns(URI, RELATIVE)],
  ['iri-reference', HOST_LOOKAHEAD + anyOfPatterns(URI, RELATIVE)],
  // RFC 6570 leaves out the apostrophe.
  ['uri-template', `(?!.*')${HOST_LOOKAHEAD}${anyOfPatterns(URI, RELATIVE)}`],
  ['json-pointer', POINTER],
  ['relative-json-pointer', `(?:0|[1-9]\\d{0,8})(?:#|${POINTER})`],
  ['byte', BASE64],
]);
