import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InstalledRuntime, RuntimeStore } from '../weights/runtime/runtime-store.ts';
import { createEnginesCommand } from './engines-command.ts';

const RUNTIME = { name: 'speech', version: '2.0.0', licence: 'MIT', main: 'm', packages: [] };
const OLD: InstalledRuntime = {
  name: 'speech',
  version: '1.0.0',
  folder: '/e/speech-1.0.0',
  sizeBytes: 46e6,
  isOutdated: true,
};
const PATH = '/e/speech-2.0.0/node_modules/m';

async function run(
  args: readonly string[],
  { installed = [] as readonly InstalledRuntime[], isSupported = true } = {},
) {
  let [output, errors] = ['', ''];
  const store: RuntimeStore = {
    runtime: isSupported ? RUNTIME : undefined,
    locate: async () => undefined,
    async install({ onProgress }) {
      onProgress({ weights: 'speech 2.0.0', source: 'registry', doneBytes: 5, totalBytes: 10, ratePerSecond: 0 });
      return PATH;
    },
    remove: async () => installed.length > 0,
    list: async () => installed,
  };
  const command = createEnginesCommand({
    open: () => store,
    stdout: { write: (text) => (output += text) },
    stderr: { write: (text) => (errors += text) },
  });
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  for (const sub of command.commands) sub.exitOverride().configureOutput({ writeErr: () => undefined });
  await command.parseAsync(args, { from: 'user' });
  return { output, errors };
}

test('list shows installed engines and how to install missing ones', async () => {
  assert.match((await run(['list'])).output, /^speech +2\.0\.0 +no; run: parley engines add speech +-$/m);
  const { output } = await run(['list'], { installed: [{ ...OLD, version: '2.0.0', isOutdated: false }, OLD] });
  assert.match(output, /^speech +2\.0\.0 +yes +46 MB$/m);
  assert.match(output, /^speech +1\.0\.0 +yes, no longer used +46 MB$/m);
  assert.ok(!output.includes('parley engines add'));
  assert.match(
    (await run(['list'], { installed: [OLD] })).output,
    /^speech +2\.0\.0 +no; run: parley engines add speech/m,
  );
  assert.equal(
    (await run(['list'], { isSupported: false })).output,
    'The speech engine does not support this platform.\n',
  );
});

test('list prints one JSON value with --json', async () => {
  const { output } = await run(['list', '--json'], { installed: [OLD] });
  assert.deepEqual(JSON.parse(output), {
    available: { name: 'speech', version: '2.0.0', licence: 'MIT' },
    installed: [OLD],
  });
});

test('add prints the path, and licence, progress and unused versions on stderr', async () => {
  const { output, errors } = await run(['add', 'speech'], { installed: [OLD] });
  assert.equal(output, `${PATH}\n`);
  assert.match(
    errors,
    /^speech 2\.0\.0: licence MIT\nspeech 2\.0\.0 from registry: 50 % 5 B of 10 B\nNo longer used: \/e\/speech-1\.0\.0\n$/,
  );
  await assert.rejects(run(['add', 'singing']), { code: 'commander.invalidArgument' });
});

test('remove deletes the engine and fails if none is installed', async () => {
  assert.match((await run(['remove', 'speech'], { installed: [OLD] })).output, /^speech deleted/);
  await assert.rejects(run(['remove', 'speech']), {
    kind: 'not-found',
    message: 'The engine speech is not installed.',
  });
});
