import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EngineEvent } from '../../core/event.ts';
import type { EngineRequest } from '../engine.ts';
import { createTriggerMatcher } from '../trigger-matcher.ts';
import { TEST_METADATA, REQUEST } from './__fixtures__/parse-test-response.ts';
import { createChoiceRun, type ChoiceRun, type ChoiceRunDeps } from './choice-run.ts';
import type { CompletionEvent, TokensEvent, PhaseCall } from './completion-dialect.ts';
import { createPromptTokenizer } from './prompt-tokenizer.ts';

/** Creates an event with one token per character; the last one stands for `lost` more tokens. */
const createTokensEvent = (text: string, lost = 0): TokensEvent => ({
  type: 'tokens',
  ...(lost === 0 ? { ids: [text.codePointAt(0) ?? 0] } : {}),
  lastId: text.codePointAt(0) ?? 0,
  count: 1 + lost,
  text,
  logprobs: [],
});
const ENDED: CompletionEvent = { type: 'ended', reason: 'end', cachedTokens: 2 };
const FULL: CompletionEvent = { type: 'ended', reason: 'length' };

/** Runs a choice; the server replies to each call with one list of batches. */
async function runChoice(
  more: Partial<EngineRequest>,
  script: readonly (readonly (readonly CompletionEvent[])[])[],
  slot: ChoiceRunDeps['slot'] = { waitWhileInterrupted: () => undefined },
  onRead: (read: { readonly run: ChoiceRun; readonly cancelled: readonly number[] }) => void = () => undefined,
) {
  const request = { ...REQUEST, ...more };
  const calls: PhaseCall[] = [];
  const cancelled: number[] = [];
  const serverCalls: string[] = [];
  const tokens = createPromptTokenizer(
    {
      tokenizeSpecial: async (text) => [1_000 + text.length],
      async tokenizePieces(pieces) {
        return pieces.flatMap((piece) => {
          if (piece.type === 'text') serverCalls.push(piece.text);
          return piece.type === 'text' ? Array.from(piece.text, (one) => one.codePointAt(0) ?? 0) : [...piece.tokens];
        });
      },
      getTokenTexts: async () => [],
    },
    TEST_METADATA,
  );
  const run = createChoiceRun(1, {
    request,
    prompt: [1, 2],
    contextTokens: TEST_METADATA.model.contextTokens,
    triggers: createTriggerMatcher(request.phases),
    gbnfByPhase: new Map([[1, 'root ::= "x"']]),
    endTokens: [],
    markers: new Map(),
    tokenizer: tokens,
    signal: new AbortController().signal,
    penalizesPrompt: false,
    slot,
    async startCall(call) {
      const number = calls.push(call);
      let isRead = false;
      return {
        acceptance: number === 1 ? { cachedTokens: 1 } : {},
        batches: (async function* () {
          for (const batch of script[number - 1] ?? []) yield batch;
          isRead = true;
        })(),
        cancel: () => void (isRead || cancelled.push(number)),
      };
    },
  });
  const events: EngineEvent[] = [];
  for await (const batch of run.readEvents(await run.startNextCall())) {
    events.push(...batch);
    onRead({ run, cancelled });
  }
  return { run, calls, cancelled, serverCalls: serverCalls, events };
}

const summarizeEvents = (events: readonly EngineEvent[]): readonly unknown[] =>
  events.map((event) => (event.type === 'text' ? [event.phase, event.text, event.tokens] : event));

describe('choice run', () => {
  it('makes one call for one answer, and reads to the end of the call', async () => {
    const { run, calls, cancelled, events } = await runChoice({}, [
      [[createTokensEvent('a')], [createTokensEvent('b'), ENDED]],
    ]);
    assert.deepEqual(summarizeEvents(events), [
      [0, 'a', 1],
      [0, 'b', 1],
      { type: 'choice-end', choice: 1, reason: 'stop' },
    ]);
    assert.deepEqual([calls.length, cancelled, run.cachedTokens, run.output.totalTokens], [1, [], 2, 2]);
  });

  it('closes the call when a trigger matches, and continues after the emitted text', async () => {
    const { calls, cancelled, events } = await runChoice(
      {
        phases: [
          { kind: 'answer', triggers: [{ pattern: 'b', phase: 1 }] },
          { kind: 'call', until: { tokens: 1 } },
        ],
      },
      [
        [[createTokensEvent('a')], [createTokensEvent('bc')], [createTokensEvent('never heard')]],
        [[createTokensEvent('d')], [FULL]],
      ],
    );
    assert.deepEqual(summarizeEvents(events), [
      [0, 'a', 1],
      [0, 'b', 1],
      [1, 'd', 1],
      { type: 'choice-end', choice: 1, reason: 'length' },
    ]);
    assert.deepEqual(cancelled, [1], 'the second call came to its own end');
    // The last token contains more text than the trigger keeps, so the kept part is tokenized again.
    assert.deepEqual(calls[1]?.prompt, [1, 2, 97, 98]);
    assert.deepEqual([calls[0]?.gbnf, calls[1]?.gbnf], [undefined, 'root ::= "x"']);
  });

  it('inserts appended text between phases, and tokenizes a text whose ids are unknown', async () => {
    const { calls, serverCalls } = await runChoice(
      {
        phases: [
          {
            kind: 'thought',
            until: { tokens: 5 },
            nextPhase: 1,
            appendOnEnd: [
              { text: '</t>', special: true },
              { text: '\n', special: false },
            ],
          },
          { kind: 'answer' },
        ],
      },
      [
        [[createTokensEvent('a'), createTokensEvent('🦄', 2), createTokensEvent('b')], [FULL]],
        [[createTokensEvent('c')], [ENDED]],
      ],
    );
    assert.deepEqual(calls[1]?.prompt, [1, 2, 97, 0x1f984, 98, 1_004, 10]);
    assert.deepEqual(serverCalls.toSorted(), ['\n', '🦄']);
  });

  it('requests at most the tokens that are left, with a different seed per phase and choice', async () => {
    const { calls, events } = await runChoice(
      {
        maxTokens: 4,
        maxTotalTokens: 6,
        sampling: { seed: 7 },
        phases: [
          { kind: 'thought', until: { tokens: 3 }, nextPhase: 1 },
          { kind: 'answer', until: { tokens: 2 }, nextPhase: 2 },
          { kind: 'answer' },
        ],
      },
      [
        [[createTokensEvent('a'), createTokensEvent('b'), createTokensEvent('c')], [FULL]],
        [[createTokensEvent('d'), createTokensEvent('e')], [FULL]],
        [[createTokensEvent('f')], [FULL]],
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

  it('ends when the context is full, in a call and between two calls', async () => {
    const full = await runChoice({}, [[[createTokensEvent('a')], [FULL]]]);
    assert.deepEqual(full.events.at(-1), { type: 'choice-end', choice: 1, reason: 'length' });
    const append = [{ text: 'x'.repeat(200), special: false }];
    const between = await runChoice(
      {
        phases: [{ kind: 'thought', until: { tokens: 1 }, nextPhase: 1, appendOnEnd: append }, { kind: 'answer' }],
      },
      [[[createTokensEvent('a')], [FULL]]],
    );
    assert.equal(between.calls.length, 1);
    assert.deepEqual(between.events.at(-1), { type: 'choice-end', choice: 1, reason: 'length' });
  });

  it('stops when its slot is taken, and continues with the tokens so far when it has one again', async () => {
    let taken = 0;
    const { calls, cancelled, events } = await runChoice(
      { maxTokens: 5 },
      [
        [[createTokensEvent('a')], [createTokensEvent('b', 1)], [createTokensEvent('never read')]],
        [[createTokensEvent('c'), createTokensEvent('d')], [FULL]],
      ],
      { waitWhileInterrupted: () => (++taken === 2 ? Promise.resolve() : undefined) },
    );
    assert.deepEqual(
      calls.map(({ prompt, tokensMax }) => [prompt, tokensMax]),
      [
        [[1, 2], 5],
        [[1, 2, 97, 98], 2],
      ],
    );
    assert.deepEqual(cancelled, [1]);
    assert.deepEqual(summarizeEvents(events), [
      [0, 'a', 1],
      [0, 'b', 2],
      [0, 'c', 1],
      [0, 'd', 1],
      { type: 'choice-end', choice: 1, reason: 'length' },
    ]);
  });

  it('reports the cached tokens of its first call although that is interrupted', async () => {
    let taken = 0;
    const { run } = await runChoice(
      {},
      [
        [[{ type: 'cached', tokens: 7 }, createTokensEvent('a')]],
        [[{ type: 'cached', tokens: 50 }, createTokensEvent('b')], [ENDED]],
      ],
      { waitWhileInterrupted: () => (++taken === 1 ? Promise.resolve() : undefined) },
    );
    assert.equal(run.cachedTokens, 7);
  });

  it('is never stopped within a grammar, with a seed or with penalties', async () => {
    const slot = { waitWhileInterrupted: () => Promise.resolve() };
    const phases = [{ kind: 'thought', until: { tokens: 1 }, nextPhase: 1 }, { kind: 'answer' }] as const;
    for (const sampling of [{ seed: 1 }, { presencePenalty: 1 }, { frequencyPenalty: 1 }]) {
      const { calls } = await runChoice({ sampling }, [[[createTokensEvent('a')], [ENDED]]], slot);
      assert.equal(calls.length, 1);
    }
    const { calls } = await runChoice(
      { phases, maxTokens: 9 },
      [
        [[createTokensEvent('a')], [FULL]],
        [[createTokensEvent('b')], [createTokensEvent('c')], [ENDED]],
      ],
      slot,
    );
    assert.equal(calls.length, 2, 'the second phase has a grammar');
  });

  it('closes its call at once when it loses its slot while events wait for the reader, and continues later', async () => {
    let isInterrupted = false;
    const { calls, events } = await runChoice(
      {},
      [
        [[createTokensEvent('a')], [createTokensEvent('never read')]],
        [[createTokensEvent('b')], [ENDED]],
      ],
      {
        waitWhileInterrupted() {
          if (!isInterrupted) return undefined;
          isInterrupted = false;
          return Promise.resolve();
        },
      },
      ({ run, cancelled }) => {
        if (cancelled.length > 0) return;
        assert.equal(run.isUnread(), true);
        isInterrupted = true;
        run.onInterrupt();
        assert.deepEqual(cancelled, [1]);
      },
    );
    assert.deepEqual(calls[1]?.prompt, [1, 2, 97]);
    assert.deepEqual(summarizeEvents(events).slice(0, 2), [
      [0, 'a', 1],
      [0, 'b', 1],
    ]);
  });

  it('closes the call when the reader leaves', async () => {
    const cancelled: string[] = [];
    const { run } = await runChoice({}, [[[ENDED]]]);
    const reading = run.readEvents({
      acceptance: {},
      batches: (async function* () {
        yield [createTokensEvent('a')];
        yield [createTokensEvent('b')];
      })(),
      cancel: () => void cancelled.push('closed'),
    });
    for await (const batch of reading) if (batch.length > 0) break;
    assert.deepEqual(cancelled, ['closed']);
  });

  it('waits for its slot before the next phase, and is not interrupted when its call ends anyway', async () => {
    let checks = 0;
    const { calls } = await runChoice(
      { phases: [{ kind: 'thought', until: { text: '!' }, nextPhase: 1 }, { kind: 'answer' }] },
      [[[createTokensEvent('!')]], [[createTokensEvent('x'), ENDED]]],
      {
        async waitWhileInterrupted() {
          checks++;
        },
      },
    );
    assert.deepEqual([calls.length, checks], [2, 1]);
  });

  it('cannot be interrupted with a penalty that counts only generated tokens', async () => {
    for (const [sampling, isPossible] of [
      [{}, true],
      [{ repetitionPenalty: 1 }, true],
      [{ repetitionPenalty: 1.1 }, false],
      [{ seed: 1 }, false],
    ] as const) {
      const { run } = await runChoice({ sampling }, [[[createTokensEvent('a'), ENDED]]]);
      assert.equal(run.canInterrupt(), isPossible);
    }
  });
});
