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

/** Time limit of one run, in ms. A run takes 1 s. Below the limit of a test, so a timeout shows the output. */
const RUN_MS_MAX = 150_000;

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' };

const { url, skipReason } = findPageClient(
  `@openai/codex-${process.platform}-${process.arch}`,
  `vendor/${ARCHITECTURES[process.arch]}-unknown-linux-musl/bin/codex`,
);

interface OutputEvent {
  readonly type: string;
  readonly item?: { readonly type: string; readonly text?: string };
  readonly usage?: { readonly input_tokens: number; readonly output_tokens: number };
}

describe('the coding agent Codex with the settings of its page', { skip: skipReason ?? false }, () => {
  let parley: Parley;
  let home = '';
  let work = '';
  before(async () => {
    parley = await startParley({ engine: 'scripted', env: { PARLEY_ENGINE_CONTEXT_TOKENS: '32768' } });
    home = await mkdtemp(join(tmpdir(), 'parley-codex-'));
    work = join(home, 'work');
    await mkdir(work);
    await mkdir(join(home, '.codex'));
    await writeFile(join(home, '.codex/config.toml'), readPageSettings('codex', 'toml', parley));
  });
  after(async () => {
    await parley?.stop();
    // A process that a run started may still write its last file there.
    await rm(home, { recursive: true, force: true, maxRetries: 10 });
  });

  /**
   * Runs the agent once, in an empty home folder, with network access to Parley only.
   * @returns the events that it printed.
   */
  async function runAgent(prompt: string): Promise<readonly OutputEvent[]> {
    const options = ['--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
    const child = spawn(fileURLToPath(url), ['exec', ...options, prompt], {
      cwd: work,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: RUN_MS_MAX,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        PARLEY_KEY: parley.key,
        ...LOOPBACK_ONLY,
      },
    });
    const [output, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const events = output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line): OutputEvent => JSON.parse(line));
    assert.equal(events.at(-1)?.type, 'turn.completed', `${output}${stderr}`);
    return events;
  }

  const getMessages = (events: readonly OutputEvent[]): readonly string[] =>
    events.flatMap(({ item }) => (item?.type === 'agent_message' ? [item.text ?? ''] : []));

  test('gets an answer and its usage', async () => {
    const events = await runAgent(encodeScript('It is ', 'done.'));
    assert.deepEqual(getMessages(events), ['It is done.']);
    const { input_tokens: promptTokens = 0, output_tokens: completionTokens } = events.at(-1)?.usage ?? {};
    assert.ok(promptTokens > 1000, String(promptTokens));
    assert.equal(completionTokens, 2);
  });

  test('runs its tools and continues after their results', async () => {
    await writeFile(join(work, 'next.txt'), encodeScript('Both are ', 'done.'));
    const call = encodeToolCall('exec_command', { cmd: 'echo made > made.txt; cat next.txt' });
    assert.deepEqual(getMessages(await runAgent(encodeScript(call))), ['Both are done.']);
    assert.equal(await readFile(join(work, 'made.txt'), 'utf8'), 'made\n');
  });
});
