// Main file of a worker process.
import * as capabilities from './capabilities.ts';
import { runWorker } from './service/workers/run-worker.ts';

runWorker(Object.values(capabilities));
