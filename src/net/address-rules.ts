import { BlockList, isIP } from 'node:net';

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

/** An address with an optional prefix length. Requires digits after the slash: `Number('')` is 0, every address. */
const NETWORK_PATTERN = /^([^/]+)(?:\/(\d{1,3}))?$/;

/** Returns whether an address belongs to a fixed set of addresses. */
export type AddressMatcher = (address: string) => boolean;

/**
 * @param texts Addresses, and networks such as `10.0.0.0/8` or `fd00::/8`.
 * @throws Error if a text is neither.
 */
export function createNetworkMatcher(texts: readonly string[]): AddressMatcher {
  const blockList = new BlockList();
  for (const text of texts) {
    const [, network = '', bits] = NETWORK_PATTERN.exec(text) ?? [];
    const family = getIpFamily(network);
    if (family === undefined) throw new TypeError(`${text} is not a network`);
    blockList.addSubnet(network, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits), family);
  }
  return (address) => {
    const family = getIpFamily(address);
    return family !== undefined && blockList.check(address, family);
  };
}

/** Matches the addresses of the public internet. Rejects texts that are not addresses, and addresses with a zone. */
export function createPublicAddressMatcher(): AddressMatcher {
  const isNonPublic = createNetworkMatcher([...NON_PUBLIC_IPV4_NETWORKS, ...NON_PUBLIC_IPV6_NETWORKS]);
  const isGlobalUnicast = createNetworkMatcher(GLOBAL_UNICAST_IPV6_NETWORKS);
  return (address) => {
    const family = getIpFamily(address);
    return family !== undefined && !isNonPublic(address) && (family === 'ipv4' || isGlobalUnicast(address));
  };
}

function getIpFamily(address: string): 'ipv4' | 'ipv6' | undefined {
  if (address.includes('%')) return undefined;
  const version = isIP(address);
  return version === 4 ? 'ipv4' : version === 6 ? 'ipv6' : undefined;
}
