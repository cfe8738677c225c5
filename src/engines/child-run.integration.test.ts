import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startChild, type ChildExit, type ProcessLaunch, type SupervisorLog } from './child-run.ts';

const TIMES = { startMsMax: 60_000, progressMs: 60_000 };

/** Starts Node with a program, and records what the run reports. */
function startProgram(program: string, launch: Partial<ProcessLaunch<string>> = {}, times = TIMES) {
  const messages: string[] = [];
  const ready: string[] = [];
  const { promise: exited, resolve } = Promise.withResolvers<{ exit: ChildExit; lines: readonly string[] }>();
  /** Ends the child when a log line shows its own line. */
  const record: SupervisorLog['info'] = (message, { pid, line } = {}) => {
    messages.push(message);
    if (line !== undefined) process.kill(Number(pid), 'SIGTERM');
  };
  const child = startChild<string>(
    {
      command: process.execPath,
      args: ['-e', program],
      handshake: (line) => (line.startsWith('ready ') ? line.slice(6) : undefined),
      ...launch,
    },
    {
      name: 'test',
      log: { info: record, warn: record },
      times,
      onReady(value) {
        ready.push(value);
        child.kill('SIGTERM');
      },
      onExit: (exit, lines) => resolve({ exit, lines }),
    },
  );
  return { exited, messages, ready };
}

const WAIT = 'setInterval(() => undefined, 1_000);';

test('reports the first handshake, and the signal that ended the child', async () => {
  const { exited, ready } = startProgram(
    `console.log('other'); console.log('ready a'); console.log('ready b'); ${WAIT}`,
  );
  assert.deepEqual((await exited).exit, { code: null, signal: 'SIGTERM' });
  assert.deepEqual(ready, ['a']);
});

test('passes the input, and shows the last line of standard error during the start and at the end, without secrets', async () => {
  const program =
    "process.on('SIGTERM', () => process.exit(3)); process.stdin.once('data', (text) => console.error('key ' + text));";
  const launch = { input: 'secret\n', secrets: ['secret'] };
  const { exited, messages, ready } = startProgram(program + WAIT, launch, { ...TIMES, progressMs: 1 });
  assert.deepEqual(await exited, { exit: { code: 3, signal: null }, lines: ['key [hidden]'] });
  assert.equal(messages.at(-1), 'engine process is starting');
  assert.deepEqual(ready, []);
});

test('kills a child that is not ready in time', async () => {
  const { exited, messages, ready } = startProgram(WAIT, {}, { ...TIMES, startMsMax: 1 });
  assert.deepEqual((await exited).exit, { code: null, signal: 'SIGKILL' });
  assert.deepEqual([messages, ready], [['engine process not ready in time'], []]);
});

test('kills a child that does not accept requests after its handshake', async () => {
  const waitUntilServing = () => Promise.reject(new Error('refused'));
  const { exited, ready } = startProgram(`console.log('ready a'); ${WAIT}`, { waitUntilServing });
  assert.deepEqual((await exited).exit, { code: null, signal: 'SIGKILL' });
  assert.deepEqual(ready, []);
});

test('reports a program that cannot be started', async () => {
  const { exited } = startProgram('', { command: '/nowhere/program' });
  assert.match((await exited).exit.error ?? '', /ENOENT/);
});
