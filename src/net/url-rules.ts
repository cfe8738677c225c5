import { isIP } from 'node:net';
import { ServiceError } from '../core/error.ts';
import { FETCH_URL_CHARS_MAX } from './limits.ts';
import { createNetworkMatcher, type AddressMatcher } from '../lib/network-matcher.ts';
import { createPublicAddressMatcher, getHost, isLocalName } from '../lib/public-hosts.ts';
import { createInvalidUrlError, createHostError } from './fetch-errors.ts';

export interface UrlRules {
  /** Parses a URL of a caller or a redirect. @throws ServiceError `invalid-request`. */
  parse(text: string, base?: URL): URL;
  /**
   * Rejects a name if any of its addresses is not public: no honest name has public and internal addresses.
   * @throws ServiceError `invalid-request`, the same error for internal addresses and for no address.
   */
  assertAddressesAllowed(host: string, addresses: readonly string[]): void;
}

export interface UrlRulesOptions {
  /**
   * Allowed although not public: names (`wiki.example`, or `*.example` for all names below), addresses and networks.
   * A name in this list may have any address.
   */
  readonly allow: readonly string[];
  /** Default: 80, 443, and all ports from 1024. */
  readonly ports: readonly number[] | undefined;
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

const UNPRIVILEGED_PORT_MIN = 1_024;

/** @throws ServiceError `invalid-request` if an entry of `allow` is neither a name nor a network. */
export function createUrlRules({ allow, ports }: UrlRulesOptions): UrlRules {
  const isPublic = createPublicAddressMatcher();
  const networks = allow.filter((entry) => isIP(entry.split('/')[0] ?? '') !== 0);
  const names = allow.filter((entry) => !networks.includes(entry)).map((entry) => entry.toLowerCase());
  const isAllowedAddress = createAllowedNetworks(networks);
  for (const name of names) {
    if (!/^(\*\.)?[\w-]+(\.[\w-]+)*$/.test(name)) throw createAllowListError(name);
  }
  const isAllowedName = (host: string): boolean =>
    names.some((name) => (name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name));
  const isAllowedPort = (port: number): boolean =>
    ports ? ports.includes(port) : port >= UNPRIVILEGED_PORT_MIN || Object.values(DEFAULT_PORTS).includes(port);

  return {
    parse(text, base) {
      if (text.length > FETCH_URL_CHARS_MAX)
        throw createInvalidUrlError(`is longer than ${FETCH_URL_CHARS_MAX} characters`);
      if (!URL.canParse(text, base?.href)) throw createInvalidUrlError('is not a valid URL');
      const url = new URL(text, base?.href);
      const defaultPort = DEFAULT_PORTS[url.protocol];
      if (defaultPort === undefined) throw createInvalidUrlError('does not begin with http:// or https://');
      if (url.username !== '' || url.password !== '') throw createInvalidUrlError('contains a user name or password');
      if (!isAllowedPort(url.port === '' ? defaultPort : Number(url.port)))
        throw createInvalidUrlError('uses a port that is not allowed');
      // A trailing dot marks a complete name; names and certificates are compared without it.
      url.hostname = url.hostname.replace(/\.+$/, '');
      url.hash = '';
      const host = getHost(url);
      if (isIP(host) === 0 && !isAllowedName(host) && isLocalName(host)) throw createHostError();
      return url;
    },
    assertAddressesAllowed(host, addresses) {
      const isRight = (address: string): boolean =>
        isIP(address) !== 0 && (isAllowedName(host) || isPublic(address) || isAllowedAddress(address));
      if (addresses.length === 0 || !addresses.every(isRight)) throw createHostError();
    },
  };
}

function createAllowedNetworks(texts: readonly string[]): AddressMatcher {
  for (const text of texts) {
    try {
      createNetworkMatcher([text]);
    } catch {
      throw createAllowListError(text);
    }
  }
  return createNetworkMatcher(texts);
}

const createAllowListError = (entry: string): ServiceError =>
  new ServiceError(
    'invalid-request',
    `The allow list of fetches contains ${entry}, which is neither a host name nor a network.`,
  );
