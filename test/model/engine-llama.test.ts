import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { once } from 'node:events';
import { text as readText } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { ServiceError } from '../../src/core/error.ts';
import type { EngineEvent } from '../../src/core/event.ts';
import type { Grammar, JsonSchema } from '../../src/core/grammar.ts';
import type { GenerationPhase, PromptSegment } from '../../src/core/prompt.ts';
import type { EngineInput } from '../../src/engines/engine.ts';
import type { OutputLine } from '../../src/engines/llama/protocol.ts';
import {
  runToEnd,
  EMBEDDED_FEATURES,
  describeEngineContract,
  createEngineRequest,
  joinText,
  type EngineAnswer,
} from '../contracts/engine-contract.ts';
import { until } from '../until.ts';
import { CONTEXT_TOKENS, openTestLlama, SEQUENCES } from './test-llama.ts';
import type { TestLlama } from './test-llama.ts';
import { getWeightsFileSkipReason, TINY } from './weights.ts';

const skip = getWeightsFileSkipReason(TINY);

const createLiteral = (text: string): Grammar => ({ type: 'text', text });
const createSchemaGrammar = (jsonSchema: JsonSchema, field = 'response_format'): Grammar => ({
  type: 'schema',
  schema: jsonSchema,
  field,
});

/** Requests with the large grammar between two measurements of memory. If each leaked its grammar, they would leak 6 MB. */
const REQUESTS_PER_ROUND = 12;

/** A grammar that takes 0.5 MB for each answer when parsed, so that a memory leak becomes visible. */
const LARGE = createLiteral('x'.repeat(60_000));

if (skip === false)
  describeEngineContract('llama', EMBEDDED_FEATURES, async () => {
    const llama = await openTestLlama(TINY);
    return {
      engine: llama.engine,
      contextTokens: CONTEXT_TOKENS,
      sequences: SEQUENCES,
      longTokens: 60,
      countBusy: async () => (await llama.health()).busySequences,
      failing: { text: 'Tell me a story.', fail: () => llama.kill() },
      close: () => llama.close(),
    };
  });

/** Processor time of a process in ms; the wall time on platforms without /proc. */
function readCpuMs(pid: number): number {
  if (process.platform !== 'linux') return performance.now();
  const [, numbers = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) \S /);
  const [user = 0, system = 0] = numbers.split(' ').map(Number).slice(10, 12);
  return 10 * (user + system);
}

describe('the llama engine', { skip }, () => {
  let llama: TestLlama;
  before(async () => {
    llama = await openTestLlama(TINY);
  });
  after(() => llama.close());

  const greedyOptions = { sampling: { temperature: 0 } };
  const createWords = (count: number): string => Array.from({ length: count }, (_, i) => `word${i % 10}`).join(' ');
  const waitUntilFree = (): Promise<true> =>
    until('the sequences are free', { timeoutMs: 30_000 }, async () =>
      (await llama.health()).busySequences === 0 ? true : undefined,
    );

  it('reuses the prompt of the same workspace, reports how much, and shares nothing with another', async () => {
    const ask = (workspace: string) =>
      runToEnd(
        llama.engine,
        createEngineRequest(createWords(60), { ...greedyOptions, owner: { workspace, key: 'k' }, maxTokens: 3 }),
      );
    const first = await ask('a');
    const again = await ask('a');
    const other = await ask('b');
    assert.equal(first.engineRun.cachedTokens, 0);
    assert.equal(again.engineRun.cachedTokens, (first.engineRun.promptTokens ?? 0) - 1);
    assert.equal(other.engineRun.cachedTokens, 0);
    assert.equal(again.text, first.text);
    const last = again.events.at(-1);
    assert.equal(last?.type === 'end' && last.usage.cachedTokens, again.engineRun.cachedTokens);
  });

  it("a caller's text never becomes a special token", async () => {
    const count = (text: string, special: boolean): Promise<number> => countSegments([{ text, special }]);
    const countSegments = (segments: readonly PromptSegment[]): Promise<number> =>
      llama.engine.countTokens({ type: 'segments', segments });
    assert.equal(await count('<|im_end|><|im_start|>', true), 2);
    assert.ok((await count('<|im_end|><|im_start|>', false)) > 8);
    // Adjacent text segments are tokenized as one text, without special tokens.
    const pieces = ['<|im', '_end|>', '<|im_start|>', 'system'].map((text) => ({ text, special: false }));
    assert.equal(await countSegments(pieces), await count('<|im_end|><|im_start|>system', false));
  });

  it('serves many more requests than it has sequences', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const owner = { workspace: 'w', key: `k${i % 2}` };
        return runToEnd(
          llama.engine,
          createEngineRequest(`Count from ${i}.`, { ...greedyOptions, owner, maxTokens: 6 }),
        );
      }),
    );
    for (const { events } of answers) assert.equal(events.at(-1)?.type, 'end');
    assert.equal((await llama.health()).busySequences, 0);
  });

  it('stops a long prompt within a second or three ticks when the caller aborts', async () => {
    const input: EngineInput = { type: 'tokens', tokens: Array.from({ length: 1_500 }, (_, i) => 1_000 + i) };
    const caller = new AbortController();
    const { batches } = await llama.engine.start(createEngineRequest('', { ...greedyOptions, input }), caller.signal);
    const read = Array.fromAsync(batches);
    const { ticks } = await llama.health();
    await until('the prompt is being evaluated', { timeoutMs: 5_000 }, async () =>
      (await llama.health()).ticks > ticks + 1 ? true : undefined,
    );
    const abortedAt = performance.now();
    const { ticks: ticksBefore } = await llama.health();
    caller.abort();
    await assert.rejects(read, { kind: 'cancelled' });
    await waitUntilFree();
    const [ms, tickCount] = [performance.now() - abortedAt, (await llama.health()).ticks - ticksBefore];
    assert.ok(ms <= 1_000 || tickCount <= 3, `free after ${Math.round(ms)} ms, ${tickCount} ticks`);
  });

  it('accepts any HTTP client, and ends the run within 100 ms or three ticks after a closed connection', async () => {
    const call = createEngineRequest('Tell me a story.', greedyOptions);
    const startRun = async () => {
      const sent = llama.open('POST', '/generate');
      sent.on('error', () => undefined); // the test destroys the request below
      sent.end(JSON.stringify(call));
      const [response] = await once(sent, 'response');
      return { sent, response, first: await once(response.setEncoding('utf8'), 'data') };
    };
    const attempts: { ms: number; ticks: number }[] = [];
    // A slow machine needs more than 100 ms for a tick, and any machine may be busy once.
    const isSoon = () => attempts.some(({ ms, ticks }) => ms <= 100 || ticks <= 3);
    for (let attempt = 0; attempt < 5 && !isSoon(); attempt++) {
      const { sent, response, first } = await startRun();
      assert.equal(response.statusCode, 200);
      const line: OutputLine = JSON.parse(String(first[0]).split('\n')[0] ?? '');
      assert.equal(line.type, 'started');
      const open = await llama.health();
      assert.equal(open.busySequences, 1);
      const closedAt = performance.now();
      sent.destroy();
      let now = open;
      while (now.busySequences > 0) {
        assert.ok(performance.now() - closedAt < 30_000);
        now = await llama.health();
      }
      attempts.push({ ms: performance.now() - closedAt, ticks: now.ticks - open.ticks });
    }
    assert.ok(isSoon(), `free after ${JSON.stringify(attempts)}`);
  });

  it('refuses an invalid call, and keeps running', async () => {
    for (const [method, path, body, status] of [
      ['POST', '/generate', '{', 400],
      ['POST', '/generate', '{}', 400],
      ['POST', '/generate', '{"id":"a","input":{"type":"tokens","tokens":[1]},"sampling":{},"phases":[]}', 400],
      ['POST', '/count', '[]', 400],
      ['GET', '/nothing', '', 404],
    ] as const) {
      const sent = llama.open(method, path);
      sent.end(body);
      const [response] = await once(sent, 'response');
      assert.equal(response.statusCode, status, `${method} ${path} ${body}`);
      await readText(response);
    }
    assert.equal((await llama.health()).busySequences, 0);
  });

  it('follows a grammar in each phase, and inserts the given text between them', async () => {
    const { events } = await runToEnd(
      llama.engine,
      createEngineRequest('Is water wet?', {
        phases: [
          {
            kind: 'call',
            grammar: { type: 'choice', options: [createLiteral('yes'), createLiteral('no')] },
            nextPhase: 1,
            appendOnEnd: [{ text: ', and the number is ', special: false }],
          },
          { kind: 'answer', grammar: createSchemaGrammar({ enum: [10, 23, 42] }) },
        ],
      }),
    );
    assert.match(joinText(events), /^(yes|no)(10|23|42)$/);
    const phases = new Set(events.flatMap((event) => (event.type === 'text' ? [event.phase] : [])));
    assert.deepEqual([...phases], [0, 1]);
  });

  it('refuses a schema that it cannot enforce, and names it', async () => {
    const phases: GenerationPhase[] = [
      { kind: 'answer', grammar: createSchemaGrammar({ $ref: '#/nowhere' }, 'tools[2].function.parameters') },
    ];
    await assert.rejects(llama.engine.start(createEngineRequest('x', { phases }), new AbortController().signal), {
      kind: 'invalid-request',
      param: 'tools[2].function.parameters',
    });
  });

  it('generates freely up to a trigger, then by a schema, then freely again', async () => {
    const WEATHER = {
      type: 'object',
      properties: { city: { enum: ['Paris', 'Rome'] }, days: { type: 'integer', minimum: 1, maximum: 9 } },
      required: ['city', 'days'],
      additionalProperties: false,
    };
    // This model does not know tool calls, so the pattern makes its first two words trigger one.
    const { events, text } = await runToEnd(
      llama.engine,
      createEngineRequest('What is the weather like in Paris?', {
        maxTokens: 60,
        logprobs: { top: 1 },
        phases: [
          { kind: 'answer', triggers: [{ pattern: '\\w+ \\w', phase: 1 }] },
          {
            kind: 'call',
            grammar: createSchemaGrammar(WEATHER),
            nextPhase: 2,
            appendOnEnd: [{ text: '\n', special: false }],
          },
          { kind: 'answer', until: { tokens: 4 } },
        ],
      }),
    );
    const getPhaseText = (phase: number): string =>
      events.map((event) => (event.type === 'text' && event.phase === phase ? event.text : '')).join('');
    assert.match(getPhaseText(0), /^\W*\w+ \w$/, 'the phase ends at the match, in the middle of a word');
    const { city, days } = JSON.parse(getPhaseText(1)) as { city: string; days: number };
    assert.ok(['Paris', 'Rome'].includes(city) && days >= 1 && days <= 9);
    assert.equal(text, getPhaseText(0) + getPhaseText(1) + getPhaseText(2));
    const end = events.at(-1);
    assert.ok(end?.type === 'end');
    const answerLogprobs = events.flatMap((event) => (event.type === 'text' ? (event.logprobs ?? []) : []));
    const tokenCount = events.reduce((sum, event) => sum + (event.type === 'text' ? event.tokens : 0), 0);
    assert.equal(tokenCount, end.usage.completionTokens);
    assert.ok(answerLogprobs.length >= 5 && answerLogprobs.every(({ logprob }) => logprob !== undefined));
  });

  it('gives the same probabilities under a grammar as without one', async () => {
    const ask = (phases: readonly GenerationPhase[]) =>
      runToEnd(llama.engine, createEngineRequest('Say yes or no.', { maxTokens: 1, logprobs: { top: 3 }, phases }));
    const getFirstLogprob = ({ events: [first] }: Awaited<ReturnType<typeof ask>>) =>
      first?.type === 'text' ? first.logprobs?.[0] : undefined;
    const unconstrained = getFirstLogprob(await ask([]));
    const constrained = getFirstLogprob(
      await ask([{ kind: 'answer', grammar: createSchemaGrammar({ type: 'integer' }) }]),
    );
    assert.ok(unconstrained && constrained);
    assert.deepEqual(
      constrained.top.map(({ token, logprob }) => [token, logprob?.toFixed(3)]),
      unconstrained.top.map(({ token, logprob }) => [token, logprob?.toFixed(3)]),
    );
    assert.ok((constrained.logprob ?? -Infinity) <= (unconstrained.logprob ?? 0));
  });

  it('refuses a grammar that is too ambiguous, without blocking other requests for 3 s', async () => {
    // Each bracket doubles the number of possible parses. No schema compiles to such a grammar, but the engine does not
    // rely on that.
    let hostile = createLiteral('1');
    for (let depth = 0; depth < 14; depth++) {
      const options = ['', 'x'].map(
        (end) => ({ type: 'sequence', parts: [createLiteral('['), hostile, createLiteral(end)] }) as const,
      );
      hostile = { type: 'choice', options };
    }
    const story = createEngineRequest('Tell me a story.', { ...greedyOptions, maxTokens: 150 });
    const reader = new AbortController();
    const other = await llama.engine.start(story, reader.signal);
    // The smaller of wall time and processor time counts, because a stalled or busy machine also delays the stream.
    const times = () => ({ wall: performance.now(), work: readCpuMs(llama.pid) });
    const gapsMs: number[] = [];
    const reading = (async () => {
      let last = times();
      for await (const batch of other.batches) {
        const now = times();
        if (batch.length > 0) gapsMs.push(Math.min(now.wall - last.wall, now.work - last.work));
        last = now;
      }
    })();
    const grammar: Grammar = { type: 'sequence', parts: [hostile, createSchemaGrammar(true, 'tools[4]')] };
    await assert.rejects(
      runToEnd(llama.engine, createEngineRequest('[[[[', { ...greedyOptions, phases: [{ kind: 'answer', grammar }] })),
      { kind: 'invalid-request', param: 'tools[4]', message: /too ambiguous/ },
    );
    reader.abort();
    // The story may have ended before.
    await reading.catch((error: unknown) => assert.ok(error instanceof ServiceError && error.kind === 'cancelled'));
    assert.ok(Math.max(...gapsMs) < 3_000, `nothing for ${Math.round(Math.max(...gapsMs))} ms`);
    const { text } = await runToEnd(llama.engine, createEngineRequest('Hello', { ...greedyOptions, maxTokens: 4 }));
    assert.notEqual(text, '');
  });

  it("gives the model's raw probabilities for any sampling", async () => {
    const ask = (temperature: number) =>
      runToEnd(
        llama.engine,
        createEngineRequest('The capital of France is', {
          sampling: { temperature, topK: 2, seed: 3 },
          maxTokens: 1,
          logprobs: { top: 5 },
        }),
      );
    const getFirstLogprob = (events: readonly EngineEvent[]) => {
      const [first] = events;
      assert.ok(first?.type === 'text' && first.logprobs?.[0]);
      return first.logprobs[0];
    };
    const [greedy, warm] = [getFirstLogprob((await ask(0)).events), getFirstLogprob((await ask(1.5)).events)];
    assert.equal(greedy.top[0]?.logprob, greedy.logprob);
    const roundLogprobs = (values: readonly { logprob: number | undefined }[]) =>
      values.map(({ logprob }) => logprob?.toFixed(3));
    assert.deepEqual(roundLogprobs(greedy.top), roundLogprobs(warm.top));
    const share = greedy.top.reduce((sum, { logprob }) => sum + Math.exp(logprob ?? -Infinity), 0);
    assert.ok(share > 0.1 && share <= 1.0001, `the five best have ${share} of all`);
  });

  it('interrupts answers that occupy all sequences for another workspace, and continues them to the last bit', async () => {
    const ask = (): Promise<EngineAnswer> =>
      runToEnd(
        llama.engine,
        createEngineRequest('Tell me a long story.', {
          owner: { workspace: 'greedy', key: 'k' },
          sampling: { temperature: 0.8, seed: 5 },
          choices: SEQUENCES,
          maxTokens: 20,
        }),
      );
    const getTexts = ({ events }: EngineAnswer): string[] =>
      Array.from({ length: SEQUENCES }, (_, choice) => joinText(events, choice));
    const undisturbed = getTexts(await ask());
    assert.equal(new Set(undisturbed).size, SEQUENCES);
    let isRunning = true;
    const disturbed = ask().finally(() => {
      isRunning = false;
    });
    await until('all sequences are busy', { timeoutMs: 30_000 }, async () =>
      (await llama.health()).busySequences === SEQUENCES ? true : undefined,
    );
    const other = createEngineRequest('Hi', {
      owner: { workspace: 'other', key: 'k' },
      ...greedyOptions,
      maxTokens: 1,
    });
    assert.notEqual((await runToEnd(llama.engine, other)).text, '');
    assert.ok(isRunning, 'the long answers have not ended');
    assert.deepEqual(getTexts(await disturbed), undisturbed);
    await waitUntilFree();
  });

  it('restarts a run that was killed before its first token', async () => {
    const before = llama.pid;
    const { batches } = await llama.engine.start(
      createEngineRequest(createWords(250), { ...greedyOptions, maxTokens: 4 }),
      new AbortController().signal,
    );
    llama.kill();
    const events = (await Array.fromAsync(batches)).flat();
    assert.equal(events.at(-1)?.type, 'end');
    assert.notEqual(llama.pid, before);
  });

  it(
    'does not use more memory from request to request',
    { skip: process.platform !== 'linux' && 'reads /proc' },
    async () => {
      const residentMb = async (): Promise<number> =>
        Number(/VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${llama.pid}/status`, 'utf8'))?.[1]) / 1024;
      const ask = (i: number) =>
        runToEnd(
          llama.engine,
          createEngineRequest(`Request ${i}`, {
            ...greedyOptions,
            maxTokens: 6,
            logprobs: { top: 2 },
            phases: [
              { kind: 'call', grammar: createLiteral(`a${i}`), nextPhase: 1 },
              { kind: 'answer', grammar: LARGE },
            ],
          }),
        );
      const measureGrowthMb = async (round: number): Promise<number> => {
        const before = await residentMb();
        const first = round * REQUESTS_PER_ROUND;
        for (let i = first; i < first + REQUESTS_PER_ROUND; i += 3) await Promise.all([ask(i), ask(i + 1), ask(i + 2)]);
        return (await residentMb()) - before;
      };
      // Memory allocators grow for a few rounds; a leak grows in every round.
      const grown: number[] = [];
      for (let round = 0; round < 16 && (grown.at(-1) ?? Infinity) > 3; round++)
        grown.push(await measureGrowthMb(round));
      assert.ok(
        grown.some((mb) => mb <= 3),
        `every ${REQUESTS_PER_ROUND} requests made it larger, by ${grown.map(Math.round).join(', ')} MB`,
      );
    },
  );
});
