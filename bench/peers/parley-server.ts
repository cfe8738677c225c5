// Runs the whole service in one process, as `parley serve` does. Returns its CPU time and address over IPC.
import { loadConfig } from '../../src/config/load-config.ts';
import * as capabilities from '../../src/capabilities.ts';
import { createService } from '../../src/service/service.ts';
import { serveRequests, getCpuMicros } from '../child.ts';

const { config } = loadConfig({ env: process.env });
const service = await createService(config, { capabilities: Object.values(capabilities) });
const [address] = await service.listen();
const key = await service.getFirstKey();
const stop = new AbortController();
await service.prepareDefaultModel({ signal: stop.signal, onProgress: () => undefined });
process.once('disconnect', () => void service.close());

serveRequests((question) => {
  if (question === 'cpu') return getCpuMicros();
  return { url: address?.url, key: key?.secret };
});
