import { BlockList, isIP } from 'node:net';

/**
 * Of the IPv4 addresses, those that lead to no public host: the special-purpose registry of IANA with multicast and what is
 * reserved. 168.63.129.16 looks public and is the host of a virtual machine in one large cloud.
 */
const NOT_PUBLIC_4: readonly string[] = [
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

/** Of the IPv6 addresses, the only ones that are given out; all others are local, reserved, or hold an IPv4 address. */
const GIVEN_OUT_6: readonly string[] = ['2000::/3'];

/** Of these again: protocol assignments with Teredo and ORCHID, documentation, 6to4. */
const NOT_PUBLIC_6: readonly string[] = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

/** What stands behind the slash is digits: nothing at all would be read as 0, which is every address that there is. */
const NETWORK = /^([^/]+)(?:\/(\d{1,3}))?$/;

/** A set of addresses. */
export type Networks = (address: string) => boolean;

/**
 * @param texts Addresses and networks as `10.0.0.0/8` or `fd00::/8`.
 * @throws Error where one is none.
 */
export function createNetworks(texts: readonly string[]): Networks {
  const list = new BlockList();
  for (const text of texts) {
    const [, network = '', bits] = NETWORK.exec(text) ?? [];
    const family = familyOf(network);
    if (family === undefined) throw new TypeError(`${text} is no network`);
    list.addSubnet(network, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits), family);
  }
  return (address) => {
    const family = familyOf(address);
    return family !== undefined && list.check(address, family);
  };
}

/** Whether an address belongs to the public internet. What is no address, or has a zone, does not. */
export function createPublicAddresses(): Networks {
  const notPublic = createNetworks([...NOT_PUBLIC_4, ...NOT_PUBLIC_6]);
  const givenOut = createNetworks(GIVEN_OUT_6);
  return (address) => {
    const family = familyOf(address);
    return family !== undefined && !notPublic(address) && (family === 'ipv4' || givenOut(address));
  };
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  if (address.includes('%')) return undefined;
  const version = isIP(address);
  return version === 4 ? 'ipv4' : version === 6 ? 'ipv6' : undefined;
}
