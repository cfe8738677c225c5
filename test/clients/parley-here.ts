import type { Service } from '../../src/service/service.ts';
import type { Parley } from './harness.ts';

/** A service of this process as clients see it: it listens from here on. */
export async function parleyHere(service: Service, { data, stop }: Pick<Parley, 'data' | 'stop'>): Promise<Parley> {
  const [listening] = await service.listen();
  const address = listening?.url ?? '';
  const key = (await service.firstKey())?.secret ?? '';
  return { address, baseUrl: `${address}/compatible-mode/v1`, key, data, pid: process.pid, stop };
}
