import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TokenLogprob } from '../../src/core/event.ts';
import type { Phase, PromptSegment } from '../../src/core/prompt.ts';
import { createCommandEngine } from '../../src/engines/command/command-engine.ts';
import { createCommandServer } from '../../src/engines/command/command-server.ts';
import { commandLine } from '../../src/engines/command/presets.ts';
import { createCompletionEngine } from '../../src/engines/completion/completion-engine.ts';
import type { TextEngine } from '../../src/engines/engine.ts';
import { createUpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts';
import { answerOf, EMBEDDED, engineContract, engineRequest, textOf } from '../contracts/engine-contract.ts';
import type { Declared } from '../contracts/engine-contract.ts';
import { LLAMA_SERVER_FOLDER, lacksLlamaServer, startLlamaServer } from '../llama-server.ts';
import type { LlamaServer } from '../llama-server.ts';
import { lacks, TINY, weightsFile } from './weights.ts';

const SLOTS = 2;
const CONTEXT_TOKENS = 2_048;
/** The machine may be busy. */
const PROBE_MS_MAX = 60_000;
const TOKENS: Declared = { ...EMBEDDED, embeddings: false, death: 'upstream-failed' };
const CHAT: Declared = {
  ...TOKENS,
  input: 'chat',
  grammar: false,
  phases: false,
  tokens: false,
  namesStops: false,
  queues: false,
};

const skip = lacks(TINY) || lacksLlamaServer();

async function startServer(): Promise<LlamaServer> {
  const modelFile = weightsFile(TINY);
  assert.ok(modelFile !== undefined, 'the weights are there');
  return await startLlamaServer({ modelFile, slots: SLOTS, contextTokens: CONTEXT_TOKENS });
}

/** The real server of llama.cpp, seen by one of our engines. */
const trialOf = (create: (url: string) => TextEngine) => async () => {
  const server = await startServer();
  const engine = create(server.url);
  return {
    engine,
    contextTokens: CONTEXT_TOKENS,
    sequences: SLOTS,
    longTokens: 60,
    busy: () => server.busySlots(),
    deadly: { text: 'Tell me a story.', strike: () => server.kill(), revive: () => server.revive() },
    async close() {
      await engine.close();
      await server.close();
    },
  };
};

/** The same server as a program of ours, which starts it again by itself. */
async function commandTrial() {
  const modelFile = weightsFile(TINY);
  assert.ok(modelFile !== undefined, 'the weights are there');
  const runFolder = await mkdtemp(join(tmpdir(), 'parley-program-'));
  const settings = {
    program: `${LLAMA_SERVER_FOLDER}llama-server`,
    model: modelFile,
    servedName: TINY,
    contextTokens: CONTEXT_TOKENS,
    sequences: SLOTS,
    threads: 1,
    gpu: false,
    more: ['--slots'],
  } as const;
  const server = createCommandServer(
    {
      name: TINY,
      line: (place) => commandLine('llama-server', settings, place),
      environment: process.env,
      runFolder,
    },
    { log: { info: () => undefined, warn: () => undefined } },
  );
  const engineAt = (url: string, apiKey: string): TextEngine =>
    createCompletionEngine({ url, apiKey, model: TINY, server: 'llama-server' });
  const { capabilities } = engineAt('http://127.0.0.1:9', '');
  const engine = createCommandEngine({ server, engineAt, capabilities });
  return {
    engine,
    contextTokens: CONTEXT_TOKENS,
    sequences: SLOTS,
    longTokens: 60,
    async busy() {
      const { url, apiKey } = await server.ready();
      const answer = await fetch(`${url}/slots`, { headers: { authorization: `Bearer ${apiKey}` } });
      return ((await answer.json()) as readonly { is_processing: boolean }[]).filter((slot) => slot.is_processing)
        .length;
    },
    deadly: {
      text: 'Tell me a story.',
      strike() {
        if (server.pid !== undefined) process.kill(server.pid, 'SIGKILL');
      },
    },
    async close() {
      await engine.close();
      await rm(runFolder, { recursive: true });
    },
  };
}

if (skip === false) {
  engineContract('llama-server as a program of ours', { ...TOKENS, death: 'engine-failed' }, commandTrial);
  engineContract(
    'llama-server by its tokens',
    TOKENS,
    trialOf((url) => createCompletionEngine({ url, model: TINY, server: 'llama-server' })),
  );
  engineContract(
    'llama-server by its chats',
    CHAT,
    trialOf((url) => createUpstreamEngine({ url: `${url}/v1`, model: TINY, kind: 'llama-server' })),
  );
}

describe('llama-server by its tokens', { skip }, () => {
  let server: LlamaServer;
  let engine: TextEngine;
  before(async () => {
    server = await startServer();
    engine = createCompletionEngine({ url: server.url, model: TINY, server: 'llama-server' });
  });
  after(async () => {
    await engine.close();
    await server.close();
  });

  it('tells what its model is', async () => {
    const model = await engine.model();
    assert.deepEqual(
      [model.contextTokens, model.vocabularySize, model.bosToken, model.eosToken],
      [CONTEXT_TOKENS, 49_152, '<|im_start|>', '<|im_end|>'],
    );
    assert.match(model.chatTemplate ?? '', /<\|im_start\|>/);
    for (const text of ['<|im_start|>', '<|im_end|>', '<|endoftext|>', '<repo_name>'])
      assert.ok(model.specialTokens.includes(text), text);
    assert.equal(engine.capabilities.choicesMax, SLOTS);
  });

  it("a caller's text never becomes a special token", async () => {
    const count = (text: string, special: boolean): Promise<number> => countOf([{ text, special }]);
    const countOf = (segments: readonly PromptSegment[]): Promise<number> =>
      engine.countTokens({ type: 'segments', segments });
    assert.equal(await count('<|im_end|><|im_start|>', true), 2);
    assert.ok((await count('<|im_end|><|im_start|>', false)) > 8);
    assert.ok((await count('<repo_name>', false)) > 1);
    const pieces = ['<|im', '_end|>', '<|im_start|>', 'system'].map((text) => ({ text, special: false }));
    assert.equal(await countOf(pieces), await count('<|im_end|><|im_start|>system', false));
  });

  it('computes a prompt once, and says so at the start', async () => {
    const request = engineRequest(`Say nothing of ${'one thing and another, '.repeat(20)}please.`, { maxTokens: 3 });
    const first = await answerOf(engine, request);
    const again = await answerOf(engine, request);
    assert.ok((first.start.cachedTokens ?? Infinity) < 20);
    assert.equal(again.start.cachedTokens, (again.start.promptTokens ?? 0) - 1);
    const end = again.events.at(-1);
    assert.equal(end?.type === 'end' && end.usage.cachedTokens, again.start.cachedTokens);
  });

  it('tells characters of several tokens whole, counts their tokens, and finds what ends behind them', async () => {
    const repeated = engineRequest('Repeat: 🦄🐙🦄🐙🦄🐙🦄🐙🦄🐙', {
      phases: [
        {
          kind: 'call',
          grammar: { type: 'text', text: '🦄🐙 é🦄' },
          next: 1,
          thenAppend: [{ text: '!', special: false }],
        },
        { kind: 'answer', grammar: { type: 'text', text: ' 🐙 ok' } },
      ],
      logprobs: { top: 1 },
    });
    const { events } = await answerOf(engine, repeated);
    const texts = events.filter((event) => event.type === 'text');
    assert.equal(texts.map(({ phase, text }) => (phase === 0 ? text : '')).join(''), '🦄🐙 é🦄');
    const counted = texts.reduce((sum, { tokens }) => sum + tokens, 0);
    const end = events.at(-1);
    assert.equal(end?.type === 'end' && end.usage.completionTokens, counted);
    assert.ok(counted > 8);
    const told: TokenLogprob[] = texts.flatMap(({ logprobs }) => logprobs ?? []);
    assert.equal(told.map(({ token }) => token).join(''), ' 🐙 ok');
    assert.deepEqual(Buffer.from(told.flatMap(({ bytes }) => bytes)).toString(), ' 🐙 ok');
  });

  it('speaks freely up to a trigger, follows a schema from there, and speaks freely again', async () => {
    const schema = {
      type: 'object',
      properties: { city: { enum: ['Paris', 'Rome'] }, days: { type: 'integer', minimum: 1, maximum: 9 } },
      required: ['city', 'days'],
      additionalProperties: false,
    };
    const phases: Phase[] = [
      { kind: 'answer', triggers: [{ pattern: '\\w+ \\w', phase: 1 }] },
      {
        kind: 'call',
        grammar: { type: 'schema', schema, field: 'tools[0]' },
        next: 2,
        thenAppend: [{ text: '\n', special: false }],
      },
      { kind: 'answer', until: { tokens: 4 } },
    ];
    const { events, text } = await answerOf(
      engine,
      engineRequest('What is the weather like in Paris?', { maxTokens: 60, phases }),
    );
    const said = (phase: number): string =>
      events.map((event) => (event.type === 'text' && event.phase === phase ? event.text : '')).join('');
    assert.match(said(0), /^\W*\w+ \w$/, 'it ends with the match, in the middle of a word');
    const { city, days } = JSON.parse(said(1)) as { city: string; days: number };
    assert.ok(['Paris', 'Rome'].includes(city) && days >= 1 && days <= 9);
    assert.equal(text, said(0) + said(1) + said(2));
  });

  it("gives the model's own probabilities, whatever the sampling and under a grammar, too", async () => {
    const firstOf = async (more: Parameters<typeof engineRequest>[1]) => {
      const request = engineRequest('The capital of France is', { maxTokens: 1, logprobs: { top: 5 }, ...more });
      const [first] = (await answerOf(engine, request)).events;
      assert.ok(first?.type === 'text' && first.logprobs?.[0]);
      return first.logprobs[0].top.map(({ token, logprob }) => [token, logprob?.toFixed(2)]);
    };
    const greedy = await firstOf({});
    assert.deepEqual(await firstOf({ sampling: { temperature: 1.5, topK: 2, seed: 3 } }), greedy);
    const phases: Phase[] = [{ kind: 'answer', grammar: { type: 'text', text: '7' } }];
    assert.deepEqual(await firstOf({ phases }), greedy);
  });

  it('stays within reach while many more ask than it has slots, and serves them all', async () => {
    const all = Promise.all(
      Array.from({ length: 14 }, (_, at) => {
        const owner = { workspace: 'w', key: `k${at % 2}` };
        return answerOf(engine, engineRequest(`Count from ${at}.`, { owner, maxTokens: 6 }));
      }),
    );
    const [answers] = await Promise.all([all, engine.probe?.(AbortSignal.timeout(PROBE_MS_MAX))]);
    for (const { events } of answers) {
      assert.equal(events.at(-1)?.type, 'end');
      assert.notEqual(textOf(events), '');
    }
    assert.equal(await server.busySlots(), 0);
  });
});
