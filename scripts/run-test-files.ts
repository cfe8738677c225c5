// Runs test files, each in a process of its own, in the given order; `node --test` would sort them by name. Arguments:
// the time limit of a test in ms, the number of processes side by side, the files. `test-pass.ts` starts it.
import { resolve } from 'node:path';
import { run } from 'node:test';
import reporter from './reporter.ts';

const [timeout, concurrency, ...files] = process.argv.slice(2);

const events = run({
  files: files.map((file) => resolve(file)),
  isolation: 'process',
  timeout: Number(timeout),
  concurrency: Number(concurrency),
});
for await (const _ of reporter(events)); // Each finished test goes to the parent process.
