// Thread that checks a database file: SQLite and the scan of the log block for as long as the file takes to read.
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../lib/assert.ts';
import type { DatabaseCheck } from './check-database.ts';
import { runDatabaseCheck } from './run-database-check.ts';

assert(parentPort, 'this file runs in a worker thread');
parentPort.postMessage(runDatabaseCheck(workerData as DatabaseCheck));
