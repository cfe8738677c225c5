import { lookup } from 'node:dns/promises';

/** All addresses of a name, in the order in which they are to be tried. Rejects or is empty where there is none. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** As every other program of this machine resolves a name: its hosts file, then its servers. */
export const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);
