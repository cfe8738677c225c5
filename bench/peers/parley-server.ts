// The whole service in one process, as `parley serve` runs it, asked over IPC for its CPU time and address.
import { loadConfig } from '../../src/config/load-config.ts';
import { createService } from '../../src/service/service.ts';
import { answerQuestions, cpuMicros } from '../child.ts';

const { config } = loadConfig({ env: process.env });
const service = await createService(config);
const [address] = await service.listen();
const key = await service.firstKey();
const stop = new AbortController();
await service.prepare({ signal: stop.signal, onProgress: () => undefined });
process.once('disconnect', () => void service.close());

answerQuestions((question) => {
  if (question === 'cpu') return cpuMicros();
  return { url: address?.url, key: key?.secret };
});
