import { lookup } from 'node:dns/promises';

/** Resolves a name to all of its addresses in order of preference. Rejects or returns none for an unknown name. */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

/** Resolves names as other programs of this machine do: by the hosts file, then by DNS. */
export const resolveWithSystem: ResolveHost = async (host) =>
  (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);
