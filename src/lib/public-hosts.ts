import { isIP } from 'node:net';
import { createNetworkMatcher, getIpFamily, type AddressMatcher } from './network-matcher.ts';

/**
 * IPv4 networks without public hosts: the IANA special-purpose registry, multicast and reserved networks.
 * 168.63.129.16 looks public, but is the host of a virtual machine in one large cloud.
 */
const NON_PUBLIC_IPV4_NETWORKS: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** The only IPv6 network with assigned addresses; all others are local, reserved, or contain an IPv4 address. */
const GLOBAL_UNICAST_IPV6_NETWORKS: readonly string[] = ['2000::/3'];

/** Exceptions within it: protocol assignments with Teredo and ORCHID, documentation, 6to4. */
const NON_PUBLIC_IPV6_NETWORKS: readonly string[] = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

/** Matches the addresses of the public internet. Rejects texts that are not addresses, and addresses with a zone. */
export function createPublicAddressMatcher(): AddressMatcher {
  const isNonPublic = createNetworkMatcher([...NON_PUBLIC_IPV4_NETWORKS, ...NON_PUBLIC_IPV6_NETWORKS]);
  const isGlobalUnicast = createNetworkMatcher(GLOBAL_UNICAST_IPV6_NETWORKS);
  return (address) => {
    const family = getIpFamily(address);
    return family !== undefined && !isNonPublic(address) && (family === 'ipv4' || isGlobalUnicast(address));
  };
}

/** Top-level names that are never public, whatever they resolve to. */
const LOCAL_TOP_LEVEL_DOMAINS: ReadonlySet<string> = new Set([
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

/** Returns the host as the resolver takes it, without the brackets of an IPv6 address. */
export const getHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

/**
 * Whether a host name is never public. Public names contain a dot; others are completed by the search list of the machine.
 */
export function isLocalName(host: string): boolean {
  const labels = host.split('.');
  return labels.length < 2 || LOCAL_TOP_LEVEL_DOMAINS.has(labels.at(-1) ?? '');
}

/** Whether a URL names a public host, as far as its text tells: a name may still have an internal address. */
export function isPublicUrl(url: URL): boolean {
  const host = getHost(url);
  return isIP(host) === 0 ? !isLocalName(host.replace(/\.+$/, '')) : createPublicAddressMatcher()(host);
}
