import { isIP } from 'node:net';
import { ServiceError } from '../core/error.ts';
import { FETCH_URL_CHARS_MAX } from '../core/limits.ts';
import { createNetworks, createPublicAddresses } from './address-rules.ts';
import type { Networks } from './address-rules.ts';
import { notAllowed, unusableHost } from './fetch-refusals.ts';

export interface UrlRules {
  /** What a caller wrote, or a server redirects to. @throws ServiceError `invalid-request`. */
  parse(text: string, base?: URL): URL;
  /**
   * All addresses of a name are judged together: one that is not public refuses the name, since no honest one is both.
   * @throws ServiceError `invalid-request`, which does not tell an address that is not public from none at all.
   */
  checkAddresses(host: string, addresses: readonly string[]): void;
}

export interface UrlRulesOptions {
  /**
   * What may be asked although it is not public: names (`wiki.example`, or `*.example` for all below), addresses and networks.
   * Of a name that stands here any address is taken.
   */
  readonly allow: readonly string[];
  /** Default: 80, 443 and all from 1024 on. */
  readonly ports: readonly number[] | undefined;
}

/** Last parts of names that never are public ones, whatever they resolve to here. */
const LOCAL_ENDS: ReadonlySet<string> = new Set([
  'alt',
  'arpa',
  'corp',
  'home',
  'internal',
  'intranet',
  'lan',
  'local',
  'localdomain',
  'localhost',
  'onion',
  'private',
]);

const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

const PORT_FREE_MIN = 1_024;

/** @throws ServiceError `invalid-request` where `allow` holds what is neither a name nor a network. */
export function createUrlRules({ allow, ports }: UrlRulesOptions): UrlRules {
  const isPublic = createPublicAddresses();
  const networks = allow.filter((entry) => isIP(entry.split('/')[0] ?? '') !== 0);
  const names = allow.filter((entry) => !networks.includes(entry)).map((entry) => entry.toLowerCase());
  const isAllowedAddress = networksOf(networks);
  for (const name of names) {
    if (!/^(\*\.)?[\w-]+(\.[\w-]+)*$/.test(name)) throw badEntry(name);
  }
  const isAllowedName = (host: string): boolean =>
    names.some((name) => (name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name));
  const isAllowedPort = (port: number): boolean =>
    ports ? ports.includes(port) : port >= PORT_FREE_MIN || Object.values(PORTS).includes(port);

  return {
    parse(text, base) {
      if (text.length > FETCH_URL_CHARS_MAX) throw notAllowed(`is longer than ${FETCH_URL_CHARS_MAX} characters`);
      if (!URL.canParse(text, base?.href)) throw notAllowed('is not a valid URL');
      const url = new URL(text, base?.href);
      const defaultPort = PORTS[url.protocol];
      if (defaultPort === undefined) throw notAllowed('does not begin with http:// or https://');
      if (url.username !== '' || url.password !== '') throw notAllowed('holds a user name or password');
      if (!isAllowedPort(url.port === '' ? defaultPort : Number(url.port)))
        throw notAllowed('names a port that is not allowed');
      // A dot at the end says that a name is whole; names and certificates are compared without it.
      url.hostname = url.hostname.replace(/\.+$/, '');
      url.hash = '';
      const host = hostOf(url);
      if (isIP(host) === 0 && !isAllowedName(host) && isLocalName(host)) throw unusableHost();
      return url;
    },
    checkAddresses(host, addresses) {
      const isRight = (address: string): boolean =>
        isIP(address) !== 0 && (isAllowedName(host) || isPublic(address) || isAllowedAddress(address));
      if (addresses.length === 0 || !addresses.every(isRight)) throw unusableHost();
    },
  };
}

/** As it is looked up: without the brackets of an IPv6 address. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

/** Every public name has a dot; what has none is found in the search list of the machine. */
function isLocalName(host: string): boolean {
  const labels = host.split('.');
  return labels.length < 2 || LOCAL_ENDS.has(labels.at(-1) ?? '');
}

function networksOf(texts: readonly string[]): Networks {
  for (const text of texts) {
    try {
      createNetworks([text]);
    } catch {
      throw badEntry(text);
    }
  }
  return createNetworks(texts);
}

const badEntry = (entry: string): ServiceError =>
  new ServiceError(
    'invalid-request',
    `The allow list of fetches holds ${entry}, which is neither a host name nor a network.`,
  );
