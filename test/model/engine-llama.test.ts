import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { once } from 'node:events';
import { text as readText } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import type { EngineEvent } from '../../src/core/event.ts';
import type { Grammar, JsonSchema } from '../../src/core/grammar.ts';
import type { Phase, PromptSegment } from '../../src/core/prompt.ts';
import type { EngineInput } from '../../src/engines/engine.ts';
import type { Line } from '../../src/engines/llama/protocol.ts';
import { answerOf, EMBEDDED, engineContract, engineRequest, textOf } from '../contracts/engine-contract.ts';
import { until } from '../until.ts';
import { CONTEXT_TOKENS, openLlama, SEQUENCES } from './llama.ts';
import type { Llama } from './llama.ts';
import { lacks, TINY } from './weights.ts';

const skip = lacks(TINY);

const literal = (text: string): Grammar => ({ type: 'text', text });
const schema = (of: JsonSchema, field = 'response_format'): Grammar => ({ type: 'schema', schema: of, field });

/** Parsed it takes 0.5 MB for each answer: what is not given back shows. */
const LARGE = literal('x'.repeat(60_000));

if (skip === false)
  engineContract('llama', EMBEDDED, async () => {
    const llama = await openLlama(TINY);
    return {
      engine: llama.engine,
      contextTokens: CONTEXT_TOKENS,
      sequences: SEQUENCES,
      longTokens: 60,
      busy: async () => (await llama.health()).busySequences,
      deadly: { text: 'Tell me a story.', strike: () => llama.kill() },
      close: () => llama.close(),
    };
  });

/** Processor time that a process has used, in ms; where that is not known, time. */
function workMs(pid: number): number {
  if (process.platform !== 'linux') return performance.now();
  const [, numbers = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) \S /);
  const [user = 0, system = 0] = numbers.split(' ').map(Number).slice(10, 12);
  return 10 * (user + system);
}

describe('the llama engine', { skip }, () => {
  let llama: Llama;
  before(async () => {
    llama = await openLlama(TINY);
  });
  after(() => llama.close());

  const free = { sampling: { temperature: 0 } };
  const words = (count: number): string => Array.from({ length: count }, (_, i) => `word${i % 10}`).join(' ');
  const isFree = (): Promise<true> =>
    until('the sequences are free', { withinMs: 1_000 }, async () =>
      (await llama.health()).busySequences === 0 ? true : undefined,
    );

  it('reuses the prompt of the same workspace, says how much, and shares nothing with another', async () => {
    const ask = (workspace: string) =>
      answerOf(llama.engine, engineRequest(words(60), { ...free, owner: { workspace, key: 'k' }, maxTokens: 3 }));
    const first = await ask('a');
    const again = await ask('a');
    const other = await ask('b');
    assert.equal(first.start.cachedTokens, 0);
    assert.equal(again.start.cachedTokens, (first.start.promptTokens ?? 0) - 1);
    assert.equal(other.start.cachedTokens, 0);
    assert.equal(again.text, first.text);
    const last = again.events.at(-1);
    assert.equal(last?.type === 'end' && last.usage.cachedTokens, again.start.cachedTokens);
  });

  it("a caller's text never becomes a special token", async () => {
    const count = (text: string, special: boolean): Promise<number> => countOf([{ text, special }]);
    const countOf = (segments: readonly PromptSegment[]): Promise<number> =>
      llama.engine.countTokens({ type: 'segments', segments });
    assert.equal(await count('<|im_end|><|im_start|>', true), 2);
    assert.ok((await count('<|im_end|><|im_start|>', false)) > 8);
    // What is written in pieces is read as one text, and stays text.
    const pieces = ['<|im', '_end|>', '<|im_start|>', 'system'].map((text) => ({ text, special: false }));
    assert.equal(await countOf(pieces), await count('<|im_end|><|im_start|>system', false));
  });

  it('serves many more requests than it has sequences', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const owner = { workspace: 'w', key: `k${i % 2}` };
        return answerOf(llama.engine, engineRequest(`Count from ${i}.`, { ...free, owner, maxTokens: 6 }));
      }),
    );
    for (const { events } of answers) assert.equal(events.at(-1)?.type, 'end');
    assert.equal((await llama.health()).busySequences, 0);
  });

  it('leaves a long prompt within a second when the caller goes', async () => {
    const input: EngineInput = { type: 'tokens', tokens: Array.from({ length: 1_500 }, (_, i) => 1_000 + i) };
    const caller = new AbortController();
    const { batches } = await llama.engine.start(engineRequest('', { ...free, input }), caller.signal);
    const read = Array.fromAsync(batches);
    const { ticks } = await llama.health();
    await until('the prompt is being evaluated', { withinMs: 5_000 }, async () =>
      (await llama.health()).ticks > ticks + 1 ? true : undefined,
    );
    caller.abort();
    await assert.rejects(read, { kind: 'cancelled' });
    await isFree();
  });

  it('can be driven by any HTTP client, and a closed connection ends the run within 100 ms or a few ticks', async () => {
    const call = engineRequest('Tell me a story.', free);
    const beginRun = async () => {
      const sent = llama.open('POST', '/generate');
      sent.on('error', () => undefined); // closed by ourselves below
      sent.end(JSON.stringify(call));
      const [response] = await once(sent, 'response');
      return { sent, response, first: await once(response.setEncoding('utf8'), 'data') };
    };
    const took: { ms: number; ticks: number }[] = [];
    // A slow machine takes longer than that for a tick, and any may be busy with something else once.
    const isSoon = () => took.some(({ ms, ticks }) => ms <= 100 || ticks <= 3);
    for (let attempt = 0; attempt < 5 && !isSoon(); attempt++) {
      const { sent, response, first } = await beginRun();
      assert.equal(response.statusCode, 200);
      const line: Line = JSON.parse(String(first[0]).split('\n')[0] ?? '');
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
      took.push({ ms: performance.now() - closedAt, ticks: now.ticks - open.ticks });
    }
    assert.ok(isSoon(), `free after ${JSON.stringify(took)}`);
  });

  it('answers a broken call with a refusal, not with its end', async () => {
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

  it('follows a grammar in each phase, and puts in between what it was told', async () => {
    const { events } = await answerOf(
      llama.engine,
      engineRequest('Is water wet?', {
        phases: [
          {
            kind: 'call',
            grammar: { type: 'choice', options: [literal('yes'), literal('no')] },
            next: 1,
            thenAppend: [{ text: ', and the number is ', special: false }],
          },
          { kind: 'answer', grammar: schema({ enum: [10, 23, 42] }) },
        ],
      }),
    );
    assert.match(textOf(events), /^(yes|no)(10|23|42)$/);
    const phases = new Set(events.flatMap((event) => (event.type === 'text' ? [event.phase] : [])));
    assert.deepEqual([...phases], [0, 1]);
  });

  it('refuses a schema that it cannot enforce, and names it', async () => {
    const phases: Phase[] = [
      { kind: 'answer', grammar: schema({ $ref: '#/nowhere' }, 'tools[2].function.parameters') },
    ];
    await assert.rejects(llama.engine.start(engineRequest('x', { phases }), new AbortController().signal), {
      kind: 'invalid-request',
      param: 'tools[2].function.parameters',
    });
  });

  it('speaks freely up to a trigger, follows a schema from there, and speaks freely again', async () => {
    const WEATHER = {
      type: 'object',
      properties: { city: { enum: ['Paris', 'Rome'] }, days: { type: 'integer', minimum: 1, maximum: 9 } },
      required: ['city', 'days'],
      additionalProperties: false,
    };
    // A model that does not know of calls: whatever it says first begins one.
    const { events, text } = await answerOf(
      llama.engine,
      engineRequest('What is the weather like in Paris?', {
        maxTokens: 60,
        logprobs: { top: 1 },
        phases: [
          { kind: 'answer', triggers: [{ pattern: '\\w+ \\w', phase: 1 }] },
          { kind: 'call', grammar: schema(WEATHER), next: 2, thenAppend: [{ text: '\n', special: false }] },
          { kind: 'answer', until: { tokens: 4 } },
        ],
      }),
    );
    const said = (phase: number): string =>
      events.map((event) => (event.type === 'text' && event.phase === phase ? event.text : '')).join('');
    assert.match(said(0), /^\W*\w+ \w$/, 'it ends with the match, in the middle of a word');
    const { city, days } = JSON.parse(said(1)) as { city: string; days: number };
    assert.ok(['Paris', 'Rome'].includes(city) && days >= 1 && days <= 9);
    assert.equal(text, said(0) + said(1) + said(2));
    const end = events.at(-1);
    assert.ok(end?.type === 'end');
    const ofAnswers = events.flatMap((event) => (event.type === 'text' ? (event.logprobs ?? []) : []));
    const told = events.reduce((sum, event) => sum + (event.type === 'text' ? event.tokens : 0), 0);
    assert.equal(told, end.usage.completionTokens);
    assert.ok(ofAnswers.length >= 5 && ofAnswers.every(({ logprob }) => logprob !== undefined));
  });

  it('gives the same probabilities under a grammar as without one', async () => {
    const ask = (phases: readonly Phase[]) =>
      answerOf(llama.engine, engineRequest('Say yes or no.', { maxTokens: 1, logprobs: { top: 3 }, phases }));
    const firstOf = ({ events: [first] }: Awaited<ReturnType<typeof ask>>) =>
      first?.type === 'text' ? first.logprobs?.[0] : undefined;
    const free = firstOf(await ask([]));
    const bound = firstOf(await ask([{ kind: 'answer', grammar: schema({ type: 'integer' }) }]));
    assert.ok(free && bound);
    assert.deepEqual(
      bound.top.map(({ token, logprob }) => [token, logprob?.toFixed(3)]),
      free.top.map(({ token, logprob }) => [token, logprob?.toFixed(3)]),
    );
    assert.ok((bound.logprob ?? -Infinity) <= (free.logprob ?? 0));
  });

  it('gives up a request whose grammar has too many readings; others wait for it a second at most', async () => {
    // Each bracket doubles what is still possible: no schema compiles to this, but nobody should rely on it.
    let hostile = literal('1');
    for (let depth = 0; depth < 14; depth++) {
      const options = ['', 'x'].map(
        (end) => ({ type: 'sequence', parts: [literal('['), hostile, literal(end)] }) as const,
      );
      hostile = { type: 'choice', options };
    }
    const story = engineRequest('Tell me a story.', { ...free, maxTokens: 150 });
    const other = await llama.engine.start(story, new AbortController().signal);
    // A machine that stands still, or works for others, makes nobody wait for this grammar: what counts is both times.
    const times = () => ({ wall: performance.now(), work: workMs(llama.pid) });
    const gapsMs: number[] = [];
    const reading = (async () => {
      let last = times();
      for await (const batch of other.batches) {
        const now = times();
        if (batch.length > 0) gapsMs.push(Math.min(now.wall - last.wall, now.work - last.work));
        last = now;
      }
    })();
    const grammar: Grammar = { type: 'sequence', parts: [hostile, schema(true, 'tools[4]')] };
    await assert.rejects(
      answerOf(llama.engine, engineRequest('[[[[', { ...free, phases: [{ kind: 'answer', grammar }] })),
      { kind: 'invalid-request', param: 'tools[4]', message: /too ambiguous/ },
    );
    await reading;
    assert.ok(Math.max(...gapsMs) < 3_000, `nothing for ${Math.round(Math.max(...gapsMs))} ms`);
    const { text } = await answerOf(llama.engine, engineRequest('Hello', { ...free, maxTokens: 4 }));
    assert.notEqual(text, '');
  });

  it("gives the model's own probabilities, whatever the sampling", async () => {
    const ask = (temperature: number) =>
      answerOf(
        llama.engine,
        engineRequest('The capital of France is', {
          sampling: { temperature, topK: 2, seed: 3 },
          maxTokens: 1,
          logprobs: { top: 5 },
        }),
      );
    const firstOf = (events: readonly EngineEvent[]) => {
      const [first] = events;
      assert.ok(first?.type === 'text' && first.logprobs?.[0]);
      return first.logprobs[0];
    };
    const [greedy, warm] = [firstOf((await ask(0)).events), firstOf((await ask(1.5)).events)];
    assert.equal(greedy.top[0]?.logprob, greedy.logprob);
    const round = (values: readonly { logprob: number | undefined }[]) =>
      values.map(({ logprob }) => logprob?.toFixed(3));
    assert.deepEqual(round(greedy.top), round(warm.top));
    const share = greedy.top.reduce((sum, { logprob }) => sum + Math.exp(logprob ?? -Infinity), 0);
    assert.ok(share > 0.1 && share <= 1.0001, `the five best have ${share} of all`);
  });

  it('starts a run that was killed before its first word once more', async () => {
    const before = llama.pid;
    const { batches } = await llama.engine.start(
      engineRequest(words(400), { ...free, maxTokens: 4 }),
      new AbortController().signal,
    );
    llama.kill();
    const events = (await Array.fromAsync(batches)).flat();
    assert.equal(events.at(-1)?.type, 'end');
    assert.notEqual(llama.pid, before);
  });

  it('does not grow from request to request', { skip: process.platform !== 'linux' && 'reads /proc' }, async () => {
    const residentMb = async (): Promise<number> =>
      Number(/VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${llama.pid}/status`, 'utf8'))?.[1]) / 1024;
    const ask = (i: number) =>
      answerOf(
        llama.engine,
        engineRequest(`Request ${i}`, {
          ...free,
          maxTokens: 6,
          logprobs: { top: 2 },
          phases: [
            { kind: 'call', grammar: literal(`a${i}`), next: 1 },
            { kind: 'answer', grammar: LARGE },
          ],
        }),
      );
    const growthOf = async (round: number): Promise<number> => {
      const before = await residentMb();
      for (let i = round * 30; i < round * 30 + 30; i += 3) await Promise.all([ask(i), ask(i + 1), ask(i + 2)]);
      return (await residentMb()) - before;
    };
    // Allocators fill their arenas for a while, on some machines for longer; a leak is in every round.
    const grown: number[] = [];
    for (let round = 0; round < 8 && (grown.at(-1) ?? Infinity) > 3; round++) grown.push(await growthOf(round));
    assert.ok(
      grown.some((mb) => mb <= 3),
      `every 30 requests made it larger, by ${grown.map(Math.round).join(', ')} MB`,
    );
  });
});
