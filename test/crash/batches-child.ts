// A whole service in a process of its own for batches.test.ts: tells its address, and waits to be killed or told to stop.
import { flushCompileCache } from 'node:module';
import { loadConfig } from '../../src/config/load-config.ts';
import { createService } from '../../src/service/service.ts';

// Signs of life often enough that a short life has one: what never moves on is given up.
const service = await createService(loadConfig({ env: process.env }).config, { jobTiming: { renewMs: 100 } });
const [bound] = await service.listen();
await service.firstKey();
// Before the first kill: only a process that ends by itself writes it otherwise.
flushCompileCache();
process.stdout.write(`${bound?.url ?? ''}\n`);
process.once('SIGTERM', () => void service.close());
