import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EngineEvent } from '../../core/event.ts';
import type { EngineRequest } from '../engine.ts';
import { createTriggers } from '../triggers.ts';
import { FACTS, REQUEST } from './__fixtures__/heard.ts';
import { createChoiceRun } from './choice-run.ts';
import type { Heard, HeardTokens, PhaseCall } from './dialect.ts';
import { createPromptTokens } from './prompt-tokens.ts';

/** A token for each character; `lost` ones came with the last. */
const told = (text: string, lost = 0): HeardTokens => ({
  type: 'tokens',
  ...(lost === 0 ? { ids: [text.codePointAt(0) ?? 0] } : {}),
  lastId: text.codePointAt(0) ?? 0,
  count: 1 + lost,
  text,
  logprobs: [],
});
const ENDED: Heard = { type: 'ended', reason: 'end', cachedTokens: 2 };
const FULL: Heard = { type: 'ended', reason: 'length' };

/** Plays one list of batches for each call. */
async function play(more: Partial<EngineRequest>, script: readonly (readonly (readonly Heard[])[])[]) {
  const request = { ...REQUEST, ...more };
  const calls: PhaseCall[] = [];
  const cancelled: number[] = [];
  const asked: string[] = [];
  const tokens = createPromptTokens(
    {
      special: async (text) => [1_000 + text.length],
      async plain(pieces) {
        return pieces.flatMap((piece) => {
          if (piece.type === 'text') asked.push(piece.text);
          return piece.type === 'text' ? Array.from(piece.text, (one) => one.codePointAt(0) ?? 0) : [...piece.tokens];
        });
      },
      texts: async () => [],
    },
    FACTS,
  );
  const run = createChoiceRun(1, {
    request,
    prompt: [1, 2],
    contextTokens: FACTS.model.contextTokens,
    triggers: createTriggers(request.phases),
    gbnf: new Map([[1, 'root ::= "x"']]),
    endTokens: [],
    markers: new Map(),
    tokens,
    signal: new AbortController().signal,
    async begin(call) {
      const number = calls.push(call);
      let isRead = false;
      return {
        taken: number === 1 ? { cachedTokens: 1 } : {},
        batches: (async function* () {
          for (const batch of script[number - 1] ?? []) yield batch;
          isRead = true;
        })(),
        cancel: () => void (isRead || cancelled.push(number)),
      };
    },
  });
  const events: EngineEvent[] = [];
  for await (const batch of run.events(await run.begin())) events.push(...batch);
  return { run, calls, cancelled, asked, events };
}

const said = (events: readonly EngineEvent[]): readonly unknown[] =>
  events.map((event) => (event.type === 'text' ? [event.phase, event.text, event.tokens] : event));

describe('the phases of a choice on a server', () => {
  it("is one call for one answer, and reads to the server's own end", async () => {
    const { run, calls, cancelled, events } = await play({}, [[[told('a')], [told('b'), ENDED]]]);
    assert.deepEqual(said(events), [[0, 'a', 1], [0, 'b', 1], { type: 'choice-end', choice: 1, reason: 'stop' }]);
    assert.deepEqual([calls.length, cancelled, run.cachedTokens, run.output.tokens], [1, [], 2, 2]);
  });

  it('closes the call where a trigger matched, and goes on behind what was said', async () => {
    const { calls, cancelled, events } = await play(
      {
        phases: [
          { kind: 'answer', triggers: [{ pattern: 'b', phase: 1 }] },
          { kind: 'call', until: { tokens: 1 } },
        ],
      },
      [
        [[told('a')], [told('bc')], [told('never heard')]],
        [[told('d')], [FULL]],
      ],
    );
    assert.deepEqual(said(events), [
      [0, 'a', 1],
      [0, 'b', 1],
      [1, 'd', 1],
      { type: 'choice-end', choice: 1, reason: 'length' },
    ]);
    assert.deepEqual(cancelled, [1], 'the second call came to its own end');
    // The token that said more than the trigger leaves; what it said up to there is made into tokens anew.
    assert.deepEqual(calls[1]?.prompt, [1, 2, 97, 98]);
    assert.deepEqual([calls[0]?.gbnf, calls[1]?.gbnf], [undefined, 'root ::= "x"']);
  });

  it('puts in what it was told between phases, and asks for the tokens of a text whose ids were not told', async () => {
    const { calls, asked } = await play(
      {
        phases: [
          {
            kind: 'thought',
            until: { tokens: 5 },
            next: 1,
            thenAppend: [
              { text: '</t>', special: true },
              { text: '\n', special: false },
            ],
          },
          { kind: 'answer' },
        ],
      },
      [
        [[told('a'), told('🦄', 2), told('b')], [FULL]],
        [[told('c')], [ENDED]],
      ],
    );
    assert.deepEqual(calls[1]?.prompt, [1, 2, 97, 0x1f984, 98, 1_004, 10]);
    assert.deepEqual(asked.toSorted(), ['\n', '🦄']);
  });

  it('asks for no more tokens than are left, and seeds each phase of each choice differently', async () => {
    const { calls, events } = await play(
      {
        maxTokens: 4,
        maxTotalTokens: 6,
        sampling: { seed: 7 },
        phases: [
          { kind: 'thought', until: { tokens: 3 }, next: 1 },
          { kind: 'answer', until: { tokens: 2 }, next: 2 },
          { kind: 'answer' },
        ],
      },
      [
        [[told('a'), told('b'), told('c')], [FULL]],
        [[told('d'), told('e')], [FULL]],
        [[told('f')], [FULL]],
      ],
    );
    assert.deepEqual(
      calls.map(({ tokensMax }) => tokensMax),
      [3, 2, 1],
    );
    const seeds = calls.map(({ sampling }) => sampling.seed);
    assert.equal(seeds[0], 8);
    assert.equal(new Set(seeds).size, 3);
    assert.ok(seeds.every((seed) => seed !== undefined && seed >= 0 && seed < 2 ** 32));
    assert.deepEqual(events.at(-1), { type: 'choice-end', choice: 1, reason: 'length' });
  });

  it('ends where the context is full, in a call and between two', async () => {
    const full = await play({}, [[[told('a')], [FULL]]]);
    assert.deepEqual(full.events.at(-1), { type: 'choice-end', choice: 1, reason: 'length' });
    const append = [{ text: 'x'.repeat(200), special: false }];
    const between = await play(
      {
        phases: [{ kind: 'thought', until: { tokens: 1 }, next: 1, thenAppend: append }, { kind: 'answer' }],
      },
      [[[told('a')], [FULL]]],
    );
    assert.equal(between.calls.length, 1);
    assert.deepEqual(between.events.at(-1), { type: 'choice-end', choice: 1, reason: 'length' });
  });

  it('closes the call when the reader leaves', async () => {
    const cancelled: string[] = [];
    const { run } = await play({}, [[[ENDED]]]);
    const reading = run.events({
      taken: {},
      batches: (async function* () {
        yield [told('a')];
        yield [told('b')];
      })(),
      cancel: () => void cancelled.push('closed'),
    });
    for await (const batch of reading) if (batch.length > 0) break;
    assert.deepEqual(cancelled, ['closed']);
  });
});
