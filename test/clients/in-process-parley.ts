import type { Service } from '../../src/service/service.ts';
import type { Parley } from './harness.ts';

/** Makes a service of this process listen, and describes it like a Parley in its own process. */
export async function openInProcessParley(
  service: Service,
  { data, stop }: Pick<Parley, 'data' | 'stop'>,
): Promise<Parley> {
  const [listener] = await service.listen();
  const address = listener?.url ?? '';
  const key = (await service.getFirstKey())?.secret ?? '';
  return { address, baseUrl: `${address}/compatible-mode/v1`, key, data, pid: process.pid, stop };
}
