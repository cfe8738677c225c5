// Child process of batches.test.ts: runs a whole service, prints its URL, and waits for SIGKILL or SIGTERM.
import { flushCompileCache } from 'node:module';
import { loadConfig } from '../../src/config/load-config.ts';
import { createService } from '../../src/service/service.ts';

// Renews leases often, so that even a short-lived process reports progress: jobs without progress finally fail.
const service = await createService(loadConfig({ env: process.env }).config, { jobTiming: { renewMs: 100 } });
const [address] = await service.listen();
await service.getFirstKey();
// Writes the compile cache before the first kill, because otherwise only a process that exits normally writes it.
flushCompileCache();
process.stdout.write(`${address?.url ?? ''}\n`);
process.once('SIGTERM', () => void service.close());
