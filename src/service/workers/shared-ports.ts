import { createServer, type ListenOptions } from 'node:net';
import type { Config } from '../../config/config.ts';
import { createListenerConfigs } from '../../config/regions.ts';
import { toListenError } from '../listen-error.ts';

interface SharedPorts {
  /** The configuration with each port 0 replaced by the free port that was found. */
  readonly config: Config;
  /** Whether several processes can listen on one port, with connections balanced between them. */
  readonly isPortShared: boolean;
}

/**
 * Finds ports on which all workers can listen. Linux and some BSDs have a balanced SO_REUSEPORT, so each worker opens its own
 * socket; on other systems, such as macOS, Node.js rejects `reusePort`.
 *
 * Each port is first opened exclusively: two services of one user that share a port by accident would each get half of the
 * requests, without an error from the system.
 * @throws ServiceError `invalid-request` when a port is in use.
 */
export async function findSharedPorts(config: Config): Promise<SharedPorts> {
  let isPortShared = true;
  const regions = { ...config.regions };
  for (const { host, port, regions: served } of createListenerConfigs(config)) {
    const usedPort = await openAndClose({ host, port, exclusive: true }).catch((error: unknown) => {
      throw toListenError(error);
    });
    for (const { id, region } of served) regions[id] = { ...region, port: usedPort };
    const canShare = openAndClose({ host, port: usedPort, reusePort: true });
    isPortShared &&= await canShare.then(
      () => true,
      () => false,
    );
  }
  return { config: { ...config, regions }, isPortShared };
}

/** Returns the port on which the server listened: the requested one, or a free one for port 0. */
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
