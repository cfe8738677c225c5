import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TokenLogprob } from '../../src/core/event.ts';
import type { GenerationPhase, PromptSegment } from '../../src/core/prompt.ts';
import { createCommandEngine } from '../../src/engines/command/command-engine.ts';
import { createCommandServer } from '../../src/engines/command/command-server.ts';
import { buildCommandLine } from '../../src/engines/command/command-line.ts';
import { createCompletionEngine } from '../../src/engines/completion/completion-engine.ts';
import type { TextEngine } from '../../src/engines/engine.ts';
import { createUpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts';
import {
  runToEnd,
  EMBEDDED_FEATURES,
  describeEngineContract,
  createEngineRequest,
  joinText,
} from '../contracts/engine-contract.ts';
import type { EngineFeatures } from '../contracts/engine-contract.ts';
import { LLAMA_SERVER_FOLDER, getLlamaServerSkipReason, startLlamaServer } from '../llama-server.ts';
import type { LlamaServer } from '../llama-server.ts';
import { getWeightsFileSkipReason, TINY, findWeightsFile } from './weights.ts';

const SLOTS = 2;
const CONTEXT_TOKENS = 2_048;
/** Longest wait for a health probe on a busy machine, in ms. */
const PROBE_MS_MAX = 60_000;
const TOKENS: EngineFeatures = {
  ...EMBEDDED_FEATURES,
  promptLogprobs: false,
  embeddings: false,
  failureKind: 'upstream-failed',
};
const CHAT: EngineFeatures = {
  ...TOKENS,
  input: 'chat',
  grammar: false,
  phases: false,
  tokens: false,
  reportsStopString: false,
  hasQueue: false,
};

const skip = getWeightsFileSkipReason(TINY) || getLlamaServerSkipReason();

async function startServer(): Promise<LlamaServer> {
  const modelFile = findWeightsFile(TINY);
  assert.ok(modelFile !== undefined, 'the weights are missing');
  return await startLlamaServer({ modelFile, slots: SLOTS, contextTokens: CONTEXT_TOKENS });
}

/** Creates a subject for the contract: the real llama.cpp server, called by an engine of Parley. */
const createServerSubject = (create: (url: string) => TextEngine) => async () => {
  const server = await startServer();
  const engine = create(server.url);
  return {
    engine,
    contextTokens: CONTEXT_TOKENS,
    sequences: SLOTS,
    longTokens: 60,
    countBusy: () => server.countBusySlots(),
    failing: { text: 'Tell me a story.', fail: () => server.kill(), restart: () => server.restart() },
    async close() {
      await engine.close();
      await server.close();
    },
  };
};

/** Creates a subject for the contract: the same server, started and restarted by Parley. */
async function createCommandSubject() {
  const modelFile = findWeightsFile(TINY);
  assert.ok(modelFile !== undefined, 'the weights are missing');
  const runFolder = await mkdtemp(join(tmpdir(), 'parley-program-'));
  const settings = {
    program: `${LLAMA_SERVER_FOLDER}llama-server`,
    model: modelFile,
    servedName: TINY,
    contextTokens: CONTEXT_TOKENS,
    sequences: SLOTS,
    threads: 1,
    gpu: false,
    extraArguments: ['--slots'],
  } as const;
  const server = createCommandServer(
    {
      name: TINY,
      createLine: (launch) => buildCommandLine('llama-server', settings, launch),
      environment: process.env,
      runFolder,
    },
    { log: { info: () => undefined, warn: () => undefined } },
  );
  const engineAt = (url: string, apiKey: string): TextEngine =>
    createCompletionEngine({ url, apiKey, model: TINY, server: 'llama-server' });
  const { capabilities } = engineAt('http://127.0.0.1:9', '');
  const engine = createCommandEngine({ server, createEngineAt: engineAt, capabilities });
  return {
    engine,
    contextTokens: CONTEXT_TOKENS,
    sequences: SLOTS,
    longTokens: 60,
    async countBusy() {
      const { url, apiKey } = await server.waitUntilReady();
      const answer = await fetch(`${url}/slots`, { headers: { authorization: `Bearer ${apiKey}` } });
      return ((await answer.json()) as readonly { is_processing: boolean }[]).filter((slot) => slot.is_processing)
        .length;
    },
    failing: {
      text: 'Tell me a story.',
      fail() {
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
  describeEngineContract(
    'llama-server started by Parley',
    { ...TOKENS, failureKind: 'engine-failed' },
    createCommandSubject,
  );
  // The engine is the one that the server started by Parley uses, so only a full run has its contract twice.
  if (process.env['PARLEY_TEST_FULL'] === '1')
    describeEngineContract(
      'llama-server with token prompts',
      TOKENS,
      createServerSubject((url) => createCompletionEngine({ url, model: TINY, server: 'llama-server' })),
    );
  describeEngineContract(
    'llama-server with chat messages',
    CHAT,
    createServerSubject((url) => createUpstreamEngine({ url: `${url}/v1`, model: TINY, kind: 'llama-server' })),
  );
}

describe('llama-server with token prompts', { skip }, () => {
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

  it('reports the metadata of its model', async () => {
    const model = await engine.loadModel();
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
    const count = (text: string, special: boolean): Promise<number> => countSegments([{ text, special }]);
    const countSegments = (segments: readonly PromptSegment[]): Promise<number> =>
      engine.countTokens({ type: 'segments', segments });
    assert.equal(await count('<|im_end|><|im_start|>', true), 2);
    assert.ok((await count('<|im_end|><|im_start|>', false)) > 8);
    assert.ok((await count('<repo_name>', false)) > 1);
    const pieces = ['<|im', '_end|>', '<|im_start|>', 'system'].map((text) => ({ text, special: false }));
    assert.equal(await countSegments(pieces), await count('<|im_end|><|im_start|>system', false));
  });

  it('reuses a prompt, and reports it at the start', async () => {
    const request = createEngineRequest(`Say nothing of ${'one thing and another, '.repeat(20)}please.`, {
      maxTokens: 3,
    });
    const first = await runToEnd(engine, request);
    const again = await runToEnd(engine, request);
    assert.ok((first.engineRun.cachedTokens ?? Infinity) < 20);
    assert.equal(again.engineRun.cachedTokens, (again.engineRun.promptTokens ?? 0) - 1);
    const end = again.events.at(-1);
    assert.equal(end?.type === 'end' && end.usage.cachedTokens, again.engineRun.cachedTokens);
  });

  it('emits characters of several tokens whole, counts their tokens, and finds the end after them', async () => {
    const repeated = createEngineRequest('Repeat: 🦄🐙🦄🐙🦄🐙🦄🐙🦄🐙', {
      phases: [
        {
          kind: 'call',
          grammar: { type: 'text', text: '🦄🐙 é🦄' },
          nextPhase: 1,
          appendOnEnd: [{ text: '!', special: false }],
        },
        { kind: 'answer', grammar: { type: 'text', text: ' 🐙 ok' } },
      ],
      logprobs: { top: 1 },
    });
    const { events } = await runToEnd(engine, repeated);
    const texts = events.filter((event) => event.type === 'text');
    assert.equal(texts.map(({ phase, text }) => (phase === 0 ? text : '')).join(''), '🦄🐙 é🦄');
    const tokenCount = texts.reduce((sum, { tokens }) => sum + tokens, 0);
    const end = events.at(-1);
    assert.equal(end?.type === 'end' && end.usage.completionTokens, tokenCount);
    assert.ok(tokenCount > 8);
    const tokenLogprobs: TokenLogprob[] = texts.flatMap(({ logprobs }) => logprobs ?? []);
    assert.equal(tokenLogprobs.map(({ token }) => token).join(''), ' 🐙 ok');
    assert.deepEqual(Buffer.from(tokenLogprobs.flatMap(({ bytes }) => bytes)).toString(), ' 🐙 ok');
  });

  it('generates freely up to a trigger, then by a schema, then freely again', async () => {
    const schema = {
      type: 'object',
      properties: { city: { enum: ['Paris', 'Rome'] }, days: { type: 'integer', minimum: 1, maximum: 9 } },
      required: ['city', 'days'],
      additionalProperties: false,
    };
    const phases: GenerationPhase[] = [
      { kind: 'answer', triggers: [{ pattern: '\\w+ \\w', phase: 1 }] },
      {
        kind: 'call',
        grammar: { type: 'schema', schema, field: 'tools[0]' },
        nextPhase: 2,
        appendOnEnd: [{ text: '\n', special: false }],
      },
      { kind: 'answer', until: { tokens: 4 } },
    ];
    const { events, text } = await runToEnd(
      engine,
      createEngineRequest('What is the weather like in Paris?', { maxTokens: 60, phases }),
    );
    const getPhaseText = (phase: number): string =>
      events.map((event) => (event.type === 'text' && event.phase === phase ? event.text : '')).join('');
    assert.match(getPhaseText(0), /^\W*\w+ \w$/, 'the phase ends at the match, in the middle of a word');
    const { city, days } = JSON.parse(getPhaseText(1)) as { city: string; days: number };
    assert.ok(['Paris', 'Rome'].includes(city) && days >= 1 && days <= 9);
    assert.equal(text, getPhaseText(0) + getPhaseText(1) + getPhaseText(2));
  });

  it("gives the model's raw probabilities for any sampling, also under a grammar", async () => {
    const getFirstLogprobs = async (more: Parameters<typeof createEngineRequest>[1]) => {
      const request = createEngineRequest('The capital of France is', { maxTokens: 1, logprobs: { top: 5 }, ...more });
      const [first] = (await runToEnd(engine, request)).events;
      assert.ok(first?.type === 'text' && first.logprobs?.[0]);
      return first.logprobs[0].top.map(({ token, logprob }) => [token, logprob?.toFixed(2)]);
    };
    const greedy = await getFirstLogprobs({});
    assert.deepEqual(await getFirstLogprobs({ sampling: { temperature: 1.5, topK: 2, seed: 3 } }), greedy);
    const phases: GenerationPhase[] = [{ kind: 'answer', grammar: { type: 'text', text: '7' } }];
    assert.deepEqual(await getFirstLogprobs({ phases }), greedy);
  });

  it('stays reachable with more requests than slots, and serves them all', async () => {
    const all = Promise.all(
      Array.from({ length: 14 }, (_, at) => {
        const owner = { workspace: 'w', key: `k${at % 2}` };
        return runToEnd(engine, createEngineRequest(`Count from ${at}.`, { owner, maxTokens: 6 }));
      }),
    );
    const [answers] = await Promise.all([all, engine.probe?.(AbortSignal.timeout(PROBE_MS_MAX))]);
    for (const { events } of answers) {
      assert.equal(events.at(-1)?.type, 'end');
      assert.notEqual(joinText(events), '');
    }
    assert.equal(await server.countBusySlots(), 0);
  });
});

describe('llama-server with chat messages', { skip }, () => {
  it('continues a partial message with new text only', async () => {
    const server = await startServer();
    const engine = createUpstreamEngine({ url: `${server.url}/v1`, model: TINY, kind: 'llama-server' });
    const text = (value: string) => [{ type: 'text', text: value }] as const;
    const question = { role: 'user', content: text('Count from one to five in words.') } as const;
    const start = { role: 'assistant', content: text('One, two, three,'), partial: true } as const;
    const request = createEngineRequest('', {
      input: { type: 'messages', messages: [question, start] },
      sampling: { temperature: 0 },
      maxTokens: 4,
    });
    const { text: continuation } = await runToEnd(engine, request);
    assert.match(continuation, /^ ?four/i);
    await engine.close();
    await server.close();
  });
});
