// Entry of the process that hashes a file with the lowest priority. Its argument is a HashRequest as JSON; it prints the
// hash. It exits when its standard input closes, which also happens when its parent ends.
import { setPriority, constants } from 'node:os';
import { hashSlowly, type HashRequest } from './hash-slowly.ts';

setPriority(constants.priority.PRIORITY_LOW);
process.stdin.on('close', () => process.exit(1)).resume();

/** Not validated: the argument comes from Parley's own process of the same version. */
const request = JSON.parse(process.argv[2] ?? '{}') as HashRequest;
process.stdout.write(`${await hashSlowly(request)}\n`, () => process.exit(0));
