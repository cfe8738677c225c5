import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { findCodingAgent } from './coding-agent.ts';
import { type Parley, startParley } from './harness.ts';
import { LOOPBACK_ONLY } from './page-clients.ts';
import { encodeToolCall, encodeScript } from './engine-script.ts';

/**
 * Time limit of one run, in ms. A run takes 1 to 2 s on an idle machine. The limit is below the one of a test, so that
 * a timeout shows the output.
 */
const RUN_MS_MAX = 150_000;

/** The system prompt and the tool descriptions of the agent have about 7,000 words. */
const CONTEXT_TOKENS = '32768';

interface Result {
  readonly result: string;
  readonly is_error: boolean;
  readonly num_turns: number;
  readonly stop_reason: string;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
}

const { launcher, skipReason } = findCodingAgent();

describe('the coding agent Claude Code', { skip: skipReason ?? false }, () => {
  let parley: Parley;
  let home = '';
  let work = '';
  before(async () => {
    parley = await startParley({ engine: 'scripted', env: { PARLEY_ENGINE_CONTEXT_TOKENS: CONTEXT_TOKENS } });
    home = await mkdtemp(join(tmpdir(), 'parley-agent-'));
    work = join(home, 'work');
    await mkdir(work);
  });
  after(async () => {
    await parley?.stop();
    // A process that a run started may still write its last file there.
    await rm(home, { recursive: true, force: true, maxRetries: 10 });
  });

  /** Runs the agent once without a terminal, in an empty home folder, with network access to Parley only. */
  async function runAgent(
    prompt: string,
    { args = [], env = {} }: { args?: string[]; env?: Record<string, string> } = {},
  ) {
    const child = spawn(process.execPath, [launcher, '-p', prompt, '--output-format', 'json', ...args], {
      cwd: work,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: RUN_MS_MAX,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        ANTHROPIC_BASE_URL: parley.address,
        ANTHROPIC_AUTH_TOKEN: parley.key,
        ANTHROPIC_MODEL: 'svc-plus',
        ANTHROPIC_SMALL_FAST_MODEL: 'svc-turbo',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        ...LOOPBACK_ONLY,
        ...env,
      },
    });
    const [output, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const line = output.split('\n').findLast((line) => line.startsWith('{'));
    assert.ok(line !== undefined, `${output}${stderr}`);
    return JSON.parse(line) as Result;
  }

  test('gets an answer after a thought', async () => {
    const { result, is_error: isError, usage } = await runAgent(encodeScript('Easy.', '</think>', 'It is done.'));
    assert.deepEqual([result.trim(), isError], ['It is done.', false]);
    assert.ok(usage.input_tokens > 1000 && usage.output_tokens > 0);
  });

  test('runs its tools and continues after their results, with the longer base URL', async () => {
    await writeFile(join(work, 'next.txt'), encodeScript('Both are ', 'done.'));
    const command = 'echo made > made.txt; cat next.txt';
    const prompt = encodeScript(encodeToolCall('Bash', { command, description: 'Make a file' }));
    const {
      result,
      num_turns: turns,
      stop_reason: reason,
    } = await runAgent(prompt, {
      args: ['--allowedTools', 'Bash'],
      env: { MAX_THINKING_TOKENS: '0', ANTHROPIC_BASE_URL: `${parley.address}/apps/anthropic` },
    });
    assert.deepEqual([result, turns, reason], ['Both are done.', 2, 'end_turn']);
    assert.equal(await readFile(join(work, 'made.txt'), 'utf8'), 'made\n');
  });

  test('names the unknown model in its error', async () => {
    const { result, is_error: isError } = await runAgent('Hi', { env: { ANTHROPIC_MODEL: 'no-such-model' } });
    assert.ok(isError);
    assert.match(result, /no-such-model/);
  });
});
