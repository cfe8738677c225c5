import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { encodeScript } from './engine-script.ts';
import { type Parley, startParley } from './harness.ts';
import { LOOPBACK_ONLY, readPageSettings } from './page-clients.ts';
import { findPython } from './python.ts';

/** Time limit of one run, in ms. A run takes 5 s of CPU time. Below the limit of a test, so a timeout shows the output. */
const RUN_MS_MAX = 150_000;

const { path, env, skipReason } = findPython('aider-chat', 'aider');

/** Options that leave out what needs a terminal, a repository or another service. */
const OPTIONS = [
  '--yes-always',
  '--no-git',
  '--no-auto-lint',
  '--analytics-disable',
  '--no-check-update',
  '--no-show-release-notes',
];

const ANSWER = ['Here.\n\nmain.py\n```\n', 'def main():\n    """Do nothing."""\n', '```\n'];

describe('aider with the settings of its page', { skip: skipReason ?? false }, () => {
  let parley: Parley;
  let home = '';
  before(async () => {
    parley = await startParley({ engine: 'scripted', env: { PARLEY_ENGINE_CONTEXT_TOKENS: '32768' } });
    home = await mkdtemp(join(tmpdir(), 'parley-aider-'));
    await writeFile(join(home, '.aider.conf.yml'), readPageSettings('aider', 'yaml', parley));
    await writeFile(join(home, '.aider.model.metadata.json'), readPageSettings('aider', 'json', parley));
  });
  after(async () => {
    await parley?.stop();
    await rm(home, { recursive: true, force: true, maxRetries: 10 });
  });

  test('knows the models and edits a file as the answer says', async () => {
    await writeFile(join(home, 'main.py'), 'def main():\n    pass\n');
    const message = ['--edit-format', 'whole', '--message', encodeScript(...ANSWER)];
    const child = spawn(path, ['-m', 'aider', ...OPTIONS, ...message, 'main.py'], {
      cwd: home,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: RUN_MS_MAX,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        OPENAI_API_KEY: parley.key,
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
        ...LOOPBACK_ONLY,
        ...env,
      },
    });
    const [output, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    assert.equal(code, 0, `${output}${stderr}`);
    assert.match(output, /Applied edit to main\.py/, stderr);
    assert.match(output, /Tokens: \d+ sent, \d+ received/);
    assert.doesNotMatch(output, /Unknown context window/);
    assert.equal(await readFile(join(home, 'main.py'), 'utf8'), ANSWER[1]);
  });
});
