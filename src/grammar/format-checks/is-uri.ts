import { isIPv6 } from 'node:net';

/** Characters of RFC 3986 (`uri`) or RFC 3987 (`iri`) beyond delimiters. */
interface UriCharacters {
  readonly unreserved: string;
  /** Additional characters of a query. */
  readonly query: string;
}

/** RFC 3987, section 2.2: `ucschar` and `iprivate`. */
const UCS_CHARACTERS = [
  '\\u{A0}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFEF}',
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13].map((plane) => {
    const prefix = plane.toString(16);
    return `\\u{${prefix}0000}-\\u{${prefix}FFFD}`;
  }),
  '\\u{E1000}-\\u{EFFFD}',
].join('');
const PRIVATE_CHARACTERS = '\\u{E000}-\\u{F8FF}\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}';

const ASCII: UriCharacters = { unreserved: 'A-Za-z0-9._~\\-', query: '' };
const UNICODE: UriCharacters = { unreserved: ASCII.unreserved + UCS_CHARACTERS, query: PRIVATE_CHARACTERS };

/** Tells whether a text is a URI (RFC 3986, section 3); `isUriReference` also allows relative references. */
export const isUri = (text: string): boolean => isReference(text, ASCII_TESTS, { isRelativeAllowed: false });
export const isUriReference = (text: string): boolean => isReference(text, ASCII_TESTS, { isRelativeAllowed: true });

/** The same for IRIs (RFC 3987, section 2.2, without the formatting characters that section 4.1 forbids). */
export const isIri = (text: string): boolean =>
  !BIDI_CONTROL.test(text) && isReference(text, UNICODE_TESTS, { isRelativeAllowed: false });
export const isIriReference = (text: string): boolean =>
  !BIDI_CONTROL.test(text) && isReference(text, UNICODE_TESTS, { isRelativeAllowed: true });

const BIDI_CONTROL = /[\u200E\u200F\u202A-\u202E]/;

/** Tells whether a text is a URI template: RFC 6570, section 2. */
export function isUriTemplate(text: string): boolean {
  const literals = text.replaceAll(/\{([^{}]*)\}/g, (whole, expression: string) =>
    TEMPLATE_EXPRESSION.test(expression) ? '' : whole,
  );
  return TEMPLATE_LITERALS.test(literals);
}

const PERCENT_ENCODED = '%[0-9A-Fa-f]{2}';
const VARIABLE_CHARACTER = `(?:\\w|${PERCENT_ENCODED})`;
const VARIABLE = `${VARIABLE_CHARACTER}(?:\\.?${VARIABLE_CHARACTER})*(?::[1-9][0-9]{0,3}|\\*)?`;
const TEMPLATE_EXPRESSION = new RegExp(`^[+#./;?&=,!@|]?${VARIABLE}(?:,${VARIABLE})*$`);
const TEMPLATE_LITERALS = new RegExp(
  `^(?:[!#$&(-;=?-\\[\\]_a-z~${UCS_CHARACTERS}${PRIVATE_CHARACTERS}]|${PERCENT_ENCODED})*$`,
  'u',
);

/** Tests of the parts of a reference. Each is a repetition of disjoint characters, and so takes linear time. */
const createTests = ({ unreserved, query }: UriCharacters) => {
  const repeat = (more: string): RegExp =>
    new RegExp(`^(?:[${unreserved}!$&'()*+,;=${more}]|${PERCENT_ENCODED})*$`, 'u');
  return {
    userInfo: repeat(':'),
    registeredName: repeat(''),
    path: repeat(':@/'),
    query: repeat(`:@/?${query}`),
    fragment: repeat(':@/?'),
  };
};

const ASCII_TESTS = createTests(ASCII);
const UNICODE_TESTS = createTests(UNICODE);

function isReference(
  text: string,
  tests: typeof ASCII_TESTS,
  { isRelativeAllowed }: { readonly isRelativeAllowed: boolean },
): boolean {
  // RFC 3986, appendix B. It matches any text.
  const parts = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(text);
  const [, scheme, authority, path = '', query = '', fragment = ''] = parts ?? [];
  if (scheme === undefined ? !isRelativeAllowed || text.startsWith(':') : !/^[A-Za-z][A-Za-z0-9+.-]*$/.test(scheme))
    return false;
  return (
    (authority === undefined || isAuthority(authority, tests)) &&
    tests.path.test(path) &&
    tests.query.test(query) &&
    tests.fragment.test(fragment)
  );
}

function isAuthority(authority: string, tests: typeof ASCII_TESTS): boolean {
  const at = authority.lastIndexOf('@');
  if (at !== -1 && !tests.userInfo.test(authority.slice(0, at))) return false;
  const hostAndPort = authority.slice(at + 1);
  const [, host = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(hostAndPort) ?? [undefined, '['];
  if (!/^[0-9]*$/.test(port)) return false;
  if (!host.startsWith('[')) return tests.registeredName.test(host);
  const literal = /^\[(.*)\]$/s.exec(host)?.[1] ?? '';
  return (isIPv6(literal) && !literal.includes('%')) || /^v[0-9A-F]+\.[A-Z0-9._~!$&'()*+,;=:-]+$/i.test(literal);
}
