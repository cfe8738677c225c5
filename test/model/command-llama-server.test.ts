import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ServiceError } from '../../src/core/error.ts';
import { createCommandEngine } from '../../src/engines/command/command-engine.ts';
import { createCommandServer } from '../../src/engines/command/command-server.ts';
import { findProgram, readProgramVersion } from '../../src/engines/command/find-program.ts';
import { buildCommandLine, type ProgramSettings } from '../../src/engines/command/command-line.ts';
import type { EngineRequest, TextEngine } from '../../src/engines/engine.ts';
import type { Log } from '../../src/core/telemetry.ts';
import { createUpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts';
import { findPython } from '../clients/python.ts';
import { until } from '../until.ts';
import { getWeightsFileSkipReason, TINY, findWeightsFile } from './weights.ts';

const LAUNCHER = fileURLToPath(new URL('../__fixtures__/llama-server', import.meta.url));
const environment = { ...process.env, PATH: [LAUNCHER, process.env.PATH].join(delimiter) };
const skip = getWeightsFileSkipReason(TINY) || findPython('xllamacpp', 'llama-server').skipReason || false;

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

/** Returns the generated text. `onText` is called for each text event. */
async function generateText(
  engine: TextEngine,
  maxTokens: number,
  onText: () => void = () => undefined,
): Promise<string> {
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

/** Creates the server of the smallest model on one thread. */
const createTestServer = (
  settings: Pick<ProgramSettings, 'program' | 'sequences' | 'extraArguments'>,
  onWarning: Log['warn'] = () => undefined,
) =>
  createCommandServer(
    {
      name: TINY,
      createLine: (launch) =>
        buildCommandLine(
          'llama-server',
          {
            ...settings,
            model: findWeightsFile(TINY) ?? '',
            servedName: 'tiny',
            contextTokens: CONTEXT_TOKENS,
            threads: 1,
            gpu: false,
          },
          launch,
        ),
      environment,
      runFolder,
    },
    { log: { info: () => undefined, warn: onWarning } },
  );

test('llama-server found on PATH serves an engine that survives a killed program', { skip }, async () => {
  const program = await findProgram('llama-server', environment);
  assert.equal(program, join(LAUNCHER, 'llama-server'));
  assert.match((await readProgramVersion(program, { environment, timeoutMs: 30_000 })) ?? '', /version/);

  const warnings: Readonly<Record<string, unknown>>[] = [];
  const server = createTestServer(
    { program, sequences: 2 },
    (message, fields) => void warnings.push({ message, ...fields }),
  );
  const engine = createCommandEngine({
    server,
    createEngineAt: (url, apiKey) =>
      createUpstreamEngine({ url: `${url}/v1`, model: 'tiny', apiKey, contextTokens: CONTEXT_TOKENS }),
    capabilities: {
      input: 'chat',
      logprobs: true,
      promptLogprobs: false,
      grammar: false,
      phases: false,
      cache: false,
      choicesMax: 4,
    },
  });
  try {
    assert.notEqual(await generateText(engine, 8), '');
    const endpoint = await server.waitUntilReady();
    const withoutKey = await fetch(`${endpoint.url}/v1/chat/completions`, { method: 'POST', body: '{}' });
    assert.equal(withoutKey.status, 401, 'the server refuses requests without its key');

    const pid = await until('the program runs', { timeoutMs: 1_000 }, async () => server.pid);
    let textEvents = 0;
    await assert.rejects(
      generateText(engine, 800, () => {
        if (textEvents++ === 0) process.kill(pid, 'SIGKILL');
      }),
      (error) => error instanceof ServiceError && error.kind === 'engine-failed',
    );
    assert.ok(textEvents > 0);
    assert.notEqual(await generateText(engine, 8), '');
    assert.notEqual(server.pid, pid);
    assert.match(String(warnings[0]?.stderr), /llama-server exited: SIGKILL/);
    assert.ok(!JSON.stringify(warnings).includes(endpoint.apiKey));
  } finally {
    await engine.close();
  }
  assert.deepEqual(readdirSync(runFolder), []);
});

for (const [what, args] of [
  ['repetitions', ['--spec-type', 'ngram-simple']],
  // The model drafts for itself: every draft is right.
  ['a draft model', ['--spec-type', 'draft-simple', '--spec-draft-model', findWeightsFile(TINY) ?? '']],
] as const)
  test(`llama-server drafts from ${what} with the operator's arguments, and answers as without`, { skip }, async () => {
    const program = await findProgram('llama-server', environment);
    const answers: { readonly text: string; readonly drafted: number }[] = [];
    for (const extraArguments of [[], args]) {
      const server = createTestServer({ program, sequences: 1, extraArguments });
      const { url, apiKey } = await server.waitUntilReady();
      const response = await fetch(`${url}/completion`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          prompt: 'one two three four '.repeat(20),
          n_predict: 32,
          temperature: 0,
        }),
      });
      const { content, timings } = (await response.json()) as { content: string; timings: { draft_n?: number } };
      answers.push({ text: content, drafted: timings.draft_n ?? 0 });
      await server.stop();
    }
    const [plain, drafting] = answers;
    assert.equal(plain?.drafted, 0);
    assert.ok((drafting?.drafted ?? 0) > 0);
    assert.equal(drafting?.text, plain?.text);
  });
