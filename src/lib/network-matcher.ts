import { BlockList, isIP } from 'node:net';

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

/** Returns whether a text is an address, or a network such as `10.0.0.0/8`. */
export function isNetwork(text: string): boolean {
  try {
    createNetworkMatcher([text]);
    return true;
  } catch {
    return false;
  }
}

/** Returns undefined for texts that are not addresses, and for addresses with a zone. */
export function getIpFamily(address: string): 'ipv4' | 'ipv6' | undefined {
  if (address.includes('%')) return undefined;
  const version = isIP(address);
  return version === 4 ? 'ipv4' : version === 6 ? 'ipv6' : undefined;
}
