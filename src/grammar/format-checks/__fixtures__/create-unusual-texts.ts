import { createSeededRandom } from '../../../lib/seeded-random.ts';

type Rule = () => string;

/**
 * Creates texts of formats from the productions of the formats' standards: valid, and mostly of a shape that is rarely
 * seen. Shares nothing with the code under test. The same count gives the same texts.
 */
export function createUnusualTexts(count: number): Readonly<Record<string, readonly string[]>> {
  const random = createSeededRandom(count);
  const below = (limit: number): number => Math.floor(random() * limit);
  const one = <T>(choices: readonly [T, ...T[]]): T => choices[below(choices.length)] ?? choices[0];
  const any = (...rules: [Rule, ...Rule[]]): string => one(rules)();
  const character = (characters: string): string => characters.charAt(below(characters.length));
  const repeat = (rule: Rule, min: number, max: number, separator = ''): string =>
    Array.from({ length: min + below(max - min + 1) }, rule).join(separator);
  const maybe = (rule: Rule): string => (random() < 0.5 ? rule() : '');
  const pad = (value: number, digits = 2): string => String(value).padStart(digits, '0');

  const DIGITS = '0123456789';
  const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
  const HEX_DIGITS = `${DIGITS}abcdefABCDEF`;

  // RFC 3339, section 5.6.
  const fullDate = (): string => {
    const year = below(10_000);
    const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
    const month = 1 + below(12);
    const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 28;
    return `${pad(year, 4)}-${pad(month)}-${pad(random() < 0.5 ? days : 1 + below(days))}`;
  };
  const offset = (): string => any(() => character('Zz'), () => `${character('+-')}${pad(below(24))}:${pad(below(60))}`);
  const fraction = (): string => maybe(() => `.${repeat(() => character(DIGITS), 1, 24)}`);
  const leapTime = (): string => {
    const [sign, hours, minutes] = [one([1, -1]), below(24), below(60)];
    const local = (24 * 60 - 1 + sign * (hours * 60 + minutes) + 24 * 60) % (24 * 60);
    const zone = `${sign === 1 ? '+' : '-'}${pad(hours)}:${pad(minutes)}`;
    return `${pad(Math.floor(local / 60))}:${pad(local % 60)}:60${fraction()}${zone}`;
  };
  const fullTime = (): string =>
    random() < 0.2
      ? any(leapTime, () => `23:59:60${fraction()}Z`)
      : `${pad(below(24))}:${pad(below(60))}:${pad(below(60))}${fraction()}${offset()}`;
  const number = (): string => repeat(() => character(DIGITS), 1, 14);
  // ISO 8601: some of the units, in order; seconds may have a fraction.
  const units = (letters: string): string => {
    const last = below(letters.length);
    const chosen = Array.from(letters).filter((_, at) => at === last || random() < 0.4);
    const second = (): string => number() + maybe(() => character('.,') + number());
    return chosen.map((letter) => (letter === 'S' ? second() : number()) + letter).join('');
  };
  const duration = (): string =>
    `P${any(
      () => units('YMD'),
      () => `T${units('HMS')}`,
      () => `${units('YMD')}T${units('HMS')}`,
      () => `${number()}W`,
    )}`;

  // RFC 1123, section 2.1: at most 63 characters in a label and 253 in a name.
  const label = (max: number): string => {
    const letDig = (): string => character(LETTERS + DIGITS);
    const inner = repeat(() => character(`${LETTERS}${DIGITS}--`), 0, max - 2);
    // The third and fourth character are no hyphens, so that the label is none of RFC 5890's reserved ones.
    return random() < 0.1 ? letDig() : `${letDig()}${inner}${letDig()}`.replace(/^(..)--/, '$10-');
  };
  const limitName = (name: string): string => (name.length <= 253 ? name : name.slice(-253).replace(/^[^.]*\./, ''));
  const hostName = (): string =>
    any(
      () => label(63),
      () => limitName(repeat(() => label(63), 2, 6, '.')),
      () => repeat(() => label(4), 8, 40, '.'),
      () => `${label(20)}.xn--${one(['mnchen-3ya', 'p1ai', '4gbwdl', 'wgbh1c', 'fiqs8s', 'h2brj9c'])}`,
      () => repeat(() => character(DIGITS), 1, 8),
    );

  // RFC 5321, section 4.1.2, and RFC 5322, section 3.2.3: at most 64 characters before the @.
  const ATOM_CHARACTERS = `${LETTERS}${DIGITS}!#$%&'*+-/=?^_\`{|}~`;
  const dotString = (): string =>
    repeat(() => repeat(() => character(ATOM_CHARACTERS), 1, 30), 1, 12, '.')
      .slice(0, 64)
      .replace(/\.$/, '');
  const quotedString = (): string =>
    `"${repeat(
      () => any(() => character(`${ATOM_CHARACTERS} .,:;<>@[]()`), () => `\\${character(`"\\ @${LETTERS}`)}`),
      0,
      30,
    )}"`;
  const octet = (): string => String(below(256));
  const ipv4 = (): string => [octet(), octet(), octet(), octet()].join('.');
  const group = (): string => repeat(() => character(HEX_DIGITS), 1, 4);
  const ipv6 = (): string => {
    const tail = random() < 0.3 ? [ipv4()] : [group(), group()];
    if (random() < 0.3) return [...Array.from({ length: 6 }, group), ...tail].join(':');
    const after = random() < 0.3 ? [] : [...Array.from({ length: below(4) }, group), ...tail];
    const before = Array.from({ length: below(3) }, group);
    return `${before.join(':')}::${after.join(':')}`;
  };
  // RFC 5321, section 4.5.3.1.3: at most 254 octets.
  const mailbox = (): string => {
    const text = `${any(dotString, dotString, dotString, quotedString)}@${any(hostName, hostName, hostName, () => `[${ipv4()}]`, () => `[IPv6:${ipv6()}]`)}`;
    return text.length <= 254 ? text : mailbox();
  };

  // RFC 3986, appendix A.
  const UNRESERVED = `${LETTERS}${DIGITS}-._~`;
  const SUB_DELIMITERS = "!$&'()*+,;=";
  const pctEncoded = (): string => `%${character(HEX_DIGITS)}${character(HEX_DIGITS)}`;
  const chars = (more: string, min: number, max: number): string =>
    repeat(() => (random() < 0.1 ? pctEncoded() : character(UNRESERVED + SUB_DELIMITERS + more)), min, max);
  const host = (): string =>
    any(
      hostName,
      ipv4,
      () => `[${ipv6()}]`,
      () => `[v${group()}.${repeat(() => character(`${UNRESERVED}${SUB_DELIMITERS}:`), 1, 8)}]`,
      () => chars('', 0, 30),
    );
  const authority = (): string =>
    `//${maybe(() => `${chars(':', 0, 20)}@`)}${host()}${maybe(() => `:${repeat(() => character(DIGITS), 0, 5)}`)}`;
  const segments = (): string => repeat(() => `/${chars(':@', 0, 12)}`, 0, 6);
  const scheme = (): string => character(LETTERS) + repeat(() => character(`${LETTERS}${DIGITS}+-.`), 0, 9);
  const tail = (): string => maybe(() => `?${chars(':@/?', 0, 30)}`) + maybe(() => `#${chars(':@/?', 0, 20)}`);
  const pathOnly = (): string => any(() => `/${chars(':@', 1, 12)}${segments()}`, () => `${chars(':@', 1, 12)}${segments()}`, () => '');
  const uri = (): string =>
    `${any(() => one(['http', 'https', 'ssh', 'postgres', 'amqp', 'urn', 'tel', 'git+ssh', 'ldap', 'mailto']), scheme)}:${any(
      () => authority() + segments(),
      () => authority() + segments(),
      pathOnly,
    )}${tail()}`;

  const create = (rule: Rule): readonly string[] => Array.from({ length: count }, rule);
  return {
    email: create(mailbox),
    uri: create(uri),
    hostname: create(hostName),
    date: create(fullDate),
    time: create(fullTime),
    'date-time': create(() => `${fullDate()}${character('Tt')}${fullTime()}`),
    duration: create(duration),
    ipv6: create(ipv6),
  };
}
