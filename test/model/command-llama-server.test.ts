import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ServiceError } from '../../src/core/error.ts';
import { createCommandEngine } from '../../src/engines/command/command-engine.ts';
import { createCommandServer } from '../../src/engines/command/command-server.ts';
import { findProgram, programVersion } from '../../src/engines/command/find-program.ts';
import { commandLine } from '../../src/engines/command/presets.ts';
import type { EngineRequest, TextEngine } from '../../src/engines/engine.ts';
import { createUpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts';
import { findPython } from '../clients/python.ts';
import { until } from '../until.ts';
import { lacks, TINY, weightsFile } from './weights.ts';

const LAUNCHER = fileURLToPath(new URL('../__fixtures__/llama-server', import.meta.url));
const environment = { ...process.env, PATH: [LAUNCHER, process.env.PATH].join(delimiter) };
const skip = lacks(TINY) || findPython('xllamacpp', 'llama-server').lacks || false;

const runFolder = mkdtempSync(join(tmpdir(), 'parley-llama-server-'));
after(() => rmSync(runFolder, { recursive: true }));

const CONTEXT_TOKENS = 1_024;

const request = (maxTokens: number): EngineRequest => ({
  id: 'request',
  owner: { workspace: 'w', key: 'k' },
  input: {
    type: 'messages',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Tell me a long story about the sea.' }] }],
  },
  sampling: { temperature: 0 },
  stop: { strings: [], tokens: [] },
  choices: 1,
  maxTokens,
  phases: [],
});

/** What is said, as often as `onText` hears of it. */
async function said(engine: TextEngine, maxTokens: number, onText: () => void = () => undefined): Promise<string> {
  const { batches } = await engine.start(request(maxTokens), new AbortController().signal);
  let text = '';
  for await (const batch of batches)
    for (const event of batch)
      if (event.type === 'text') {
        text += event.text;
        onText();
      }
  return text;
}

test('llama-server, found along PATH, is an engine that outlives kill -9 of its program', { skip }, async () => {
  const program = await findProgram('llama-server', environment);
  assert.equal(program, join(LAUNCHER, 'llama-server'));
  assert.match((await programVersion(program, { environment, withinMs: 30_000 })) ?? '', /version/);

  const warnings: Readonly<Record<string, unknown>>[] = [];
  const server = createCommandServer(
    {
      name: TINY,
      line: (place) =>
        commandLine(
          'llama-server',
          {
            program,
            model: weightsFile(TINY) ?? '',
            servedName: 'tiny',
            contextTokens: CONTEXT_TOKENS,
            sequences: 2,
            threads: 1,
            gpu: false,
          },
          place,
        ),
      environment,
      runFolder,
    },
    { log: { info: () => undefined, warn: (message, facts) => void warnings.push({ message, ...facts }) } },
  );
  const engine = createCommandEngine({
    server,
    engineAt: (url, apiKey) =>
      createUpstreamEngine({ url: `${url}/v1`, model: 'tiny', apiKey, contextTokens: CONTEXT_TOKENS }),
    capabilities: { input: 'chat', logprobs: true, grammar: false, phases: false, cache: false, choicesMax: 4 },
  });
  try {
    assert.notEqual(await said(engine, 8), '');
    const up = await server.ready();
    const stranger = await fetch(`${up.url}/v1/chat/completions`, { method: 'POST', body: '{}' });
    assert.equal(stranger.status, 401, 'nobody else on this machine is served');

    const pid = await until('the program runs', { withinMs: 1_000 }, async () => server.pid);
    let heard = 0;
    await assert.rejects(
      said(engine, 800, () => {
        if (heard++ === 0) process.kill(pid, 'SIGKILL');
      }),
      (error) => error instanceof ServiceError && error.kind === 'engine-failed',
    );
    assert.ok(heard > 0);
    assert.notEqual(await said(engine, 8), '');
    assert.notEqual(server.pid, pid);
    assert.match(String(warnings[0]?.stderr), /llama-server ended: SIGKILL/);
    assert.ok(!JSON.stringify(warnings).includes(up.apiKey));
  } finally {
    await engine.close();
  }
  assert.deepEqual(readdirSync(runFolder), []);
});
