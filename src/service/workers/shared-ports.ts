import { createServer } from 'node:net';
import type { ListenOptions } from 'node:net';
import type { Config } from '../../config/config.ts';
import { listenersOf } from '../../config/regions.ts';
import { cannotListen } from '../cannot-listen.ts';

interface SharedPorts {
  /** The same, with the ports that were found in the place of those that were 0. */
  readonly config: Config;
  /** Whether several processes may listen on one port here, with connections shared out among them. */
  readonly isPortShared: boolean;
}

/**
 * Ports that all workers can listen on. On those of Linux and the BSDs with a balanced SO_REUSEPORT each worker has a
 * socket of its own; elsewhere, as on macOS, the runtime refuses that.
 *
 * Each port is taken alone first: two services of one user that share a port by accident would each get half of the
 * requests, and the system would not complain.
 * @throws ServiceError `invalid-request` when one of them is in use.
 */
export async function findSharedPorts(config: Config): Promise<SharedPorts> {
  let isPortShared = true;
  const regions = { ...config.regions };
  for (const { host, port, regions: reached } of listenersOf(config)) {
    const found = await openAndClose({ host, port, exclusive: true }).catch((error: unknown) => {
      throw cannotListen(error);
    });
    for (const { id, region } of reached) regions[id] = { ...region, port: found };
    const canShare = openAndClose({ host, port: found, reusePort: true });
    isPortShared &&= await canShare.then(
      () => true,
      () => false,
    );
  }
  return { config: { ...config, regions }, isPortShared };
}

/** The port, which was 0 or is the one that was asked for. */
function openAndClose(options: ListenOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(options, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
