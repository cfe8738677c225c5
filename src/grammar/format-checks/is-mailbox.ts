import { isIPv4, isIPv6 } from 'node:net';
import { isAsciiLabel, isInternationalizedHostName } from './is-host-name.ts';

/** RFC 5321, section 4.5.3.1, in octets. A path has 256, with its angle brackets. */
const LOCAL_PART_OCTETS_MAX = 64;
const MAILBOX_OCTETS_MAX = 254;

/** RFC 1035, section 2.3.4: 255 octets on the wire, which are two more than the text. */
const DOMAIN_OCTETS_MAX = 253;

/** Tells whether a text is a mailbox: RFC 5321, section 4.1.2. */
export const isMailbox = (text: string): boolean =>
  splitMailbox(text, ({ localPart, domain }) => /^[\u0020-\u007e]*$/.test(localPart) && isAsciiDomain(domain));

/** Tells whether a text is a mailbox with Unicode: RFC 6531, section 3.3. */
export const isInternationalizedMailbox = (text: string): boolean =>
  splitMailbox(text, ({ domain }) => isAsciiDomain(domain) || isInternationalizedHostName(domain));

interface Mailbox {
  readonly localPart: string;
  readonly domain: string;
}

/** A domain contains no @, so that the last one separates. */
function splitMailbox(text: string, isDomainValid: (mailbox: Mailbox) => boolean): boolean {
  const at = text.lastIndexOf('@');
  const [localPart, domain] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  return (
    text.isWellFormed() &&
    Buffer.byteLength(text) <= MAILBOX_OCTETS_MAX &&
    isLocalPart(localPart) &&
    isDomainValid({ localPart, domain })
  );
}

const isLocalPart = (text: string): boolean =>
  text.length > 0 &&
  Buffer.byteLength(text) <= LOCAL_PART_OCTETS_MAX &&
  (isQuotedString(text) || text.split('.').every((atom) => ATOM.test(atom)));

const ATOM = /^[\w!#$%&'*+/=?^`{|}~\u0080-\u{10FFFF}-]+$/u;

/** Inside the quotes, a backslash precedes a quote or a backslash, and may precede any other character. */
const isQuotedString = (text: string): boolean => {
  if (text.length < 2 || !text.startsWith('"') || !text.endsWith('"')) return false;
  const unescaped = text.slice(1, -1).replaceAll(/\\[ -~]/g, '');
  return !/["\\]/.test(unescaped) && /^[ -~\u0080-\u{10FFFF}]*$/u.test(unescaped);
};

function isAsciiDomain(text: string): boolean {
  if (text.length > DOMAIN_OCTETS_MAX) return false;
  const literal = /^\[(.*)\]$/s.exec(text)?.[1];
  if (literal === undefined) return text.split('.').every(isAsciiLabel);
  const address = /^IPv6:(.*)$/is.exec(literal)?.[1];
  return address === undefined ? isIPv4(literal) : isIPv6(address) && !address.includes('%');
}
