import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { encodeScript, encodeToolCall } from './engine-script.ts';
import { type Parley, startParley } from './harness.ts';
import { findPageClient, LOOPBACK_ONLY, readPageSettings } from './page-clients.ts';

/** Time limit of one run, in ms. A run takes 9 s of CPU time. Below the limit of a test, so a timeout shows the output. */
const RUN_MS_MAX = 150_000;

const CONTEXT_TOKENS = '32768';

const { url, skipReason } = findPageClient(`opencode-${process.platform}-${process.arch}`, 'bin/opencode');

interface OutputEvent {
  readonly type: string;
  readonly part?: { readonly text?: string };
}

describe('the coding agent opencode with the settings of its page', { skip: skipReason ?? false }, () => {
  let parley: Parley;
  let home = '';
  let work = '';
  before(async () => {
    parley = await startParley({ engine: 'scripted', env: { PARLEY_ENGINE_CONTEXT_TOKENS: CONTEXT_TOKENS } });
    home = await mkdtemp(join(tmpdir(), 'parley-opencode-'));
    work = join(home, 'work');
    await mkdir(work);
    await writeFile(join(work, 'opencode.json'), readPageSettings('opencode', 'json', parley));
  });
  after(async () => {
    await parley?.stop();
    // A process that a run started may still write its last file there.
    await rm(home, { recursive: true, force: true, maxRetries: 10 });
  });

  /**
   * Runs the agent once, in an empty home folder, with network access to Parley only. The prompt comes from standard
   * input, because the agent puts an argument with spaces into quotation marks.
   * @returns the texts that it printed.
   */
  async function runAgent(prompt: string): Promise<string> {
    const child = spawn(fileURLToPath(url), ['run', '--format', 'json'], {
      cwd: work,
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: RUN_MS_MAX,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        PWD: work,
        PARLEY_KEY: parley.key,
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        ...LOOPBACK_ONLY,
      },
    });
    child.stdin.end(prompt);
    const [output, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const events = output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line): OutputEvent => JSON.parse(line));
    assert.ok(events.length > 0, `${output}${stderr}`);
    assert.ok(!events.some(({ type }) => type === 'error'), output);
    return events.map(({ type, part }) => (type === 'text' ? part?.text : '')).join('');
  }

  test('gets an answer', async () => {
    assert.equal(await runAgent(encodeScript('It is ', 'done.')), 'It is done.');
  });

  test('runs its tools and continues after their results', async () => {
    await writeFile(join(work, 'next.txt'), encodeScript('Both are ', 'done.'));
    const command = 'echo made > made.txt; cat next.txt';
    const call = encodeToolCall('bash', { command, description: 'Make a file' });
    assert.match(await runAgent(encodeScript(call)), /Both are done\./);
    assert.equal(await readFile(join(work, 'made.txt'), 'utf8'), 'made\n');
  });
});
