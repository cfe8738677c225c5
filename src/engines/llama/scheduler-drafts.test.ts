import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { GenerationPhase } from '../../core/prompt.ts';
import { detokenize, type FakeNativeModelOptions } from './__fixtures__/fake-native-model.ts';
import {
  createTestScheduler,
  type TestCallOptions,
  type TestScheduler,
  type TestSchedulerOptions,
} from './__fixtures__/test-scheduler.ts';

const DRAFT_TOKENS = 8;

/** A prompt from which answers copy. The answer follows its last `|`. */
const SOURCE = 'const alpha = 1; const beta = 2; const gamma = 3;';
const PROMPT = `${SOURCE}|`;

/** Runs a call without drafts and with them, and asserts that its lines are the same. */
async function compare(call: TestCallOptions, options: FakeNativeModelOptions) {
  const run = async (draftTokens: number) => {
    const setup = createTestScheduler({ ...options, draftTokens });
    return { setup, request: await setup.run(call) };
  };
  const [plain, drafted] = [await run(0), await run(DRAFT_TOKENS)];
  assert.deepEqual(drafted.request.lines, plain.request.lines);
  assert.deepEqual(drafted.request.refusal, plain.request.refusal);
  return { plain: plain.setup, drafted: drafted.setup, request: drafted.request };
}

const countDrafted = ({ model }: TestScheduler): number =>
  model.decodes.flat().filter(({ tokens, logits }) => logits === 'all' && tokens.length > 1).length;

describe('createScheduler: drafts', () => {
  it('give the same answer in fewer evaluations', async () => {
    const { plain, drafted, request } = await compare({ prompt: PROMPT }, { answer: () => SOURCE });
    assert.equal(request.getText(), SOURCE);
    assert.ok(drafted.model.decodes.length * 2 < plain.model.decodes.length);
    assert.equal(detokenize(drafted.model.cells(0)), `${PROMPT}${SOURCE}`);
  });

  it('are removed where the model continues otherwise', async () => {
    const answer = 'const alpha = 7; const beta = 2; let gamma = 3; const';
    const { drafted } = await compare({ prompt: PROMPT }, { answer: () => answer });
    assert.ok(countDrafted(drafted) > 2);
    assert.equal(detokenize(drafted.model.cells(0)), `${PROMPT}${answer}`);
  });

  it('end with the answer: at a stop sequence, a token limit or the end of the context', async () => {
    for (const call of [
      { stop: { strings: ['beta = '], tokens: [] } },
      { stop: { strings: [], tokens: [[...'beta'].map((letter) => letter.charCodeAt(0))] } },
      { maxTokens: 25 },
    ]) {
      const { request } = await compare({ prompt: PROMPT, ...call }, { answer: () => SOURCE });
      assert.ok(request.getText().startsWith('const alpha = 1; const'));
      assert.ok(!request.getText().includes('gamma'));
    }
    const { request } = await compare({ prompt: PROMPT }, { answer: () => SOURCE, contextTokens: PROMPT.length + 30 });
    assert.equal(request.getChoiceEnds()[0]?.reason, 'length');
  });

  it('end with a phase, whose end text may stand within them', async () => {
    const thought = `${SOURCE}</t>`;
    const phases: readonly GenerationPhase[] = [
      {
        kind: 'thought',
        until: { text: 'const beta' },
        appendOnEnd: [{ text: '</t>|', special: false }],
        nextPhase: 1,
      },
      { kind: 'answer', grammar: { type: 'text', text: SOURCE } },
    ];
    const { drafted, request } = await compare({ prompt: PROMPT, phases }, { answer: () => thought });
    assert.equal(request.getText(0, 0), 'const alpha = 1; ');
    assert.equal(request.getText(0, 1), SOURCE);
    assert.ok(countDrafted(drafted) > 2);
  });

  it('have the log probabilities of the tokens, each from its own context', async () => {
    const { plain, drafted } = await compare({ prompt: PROMPT, logprobs: { top: 2 } }, { answer: () => SOURCE });
    assert.deepEqual(drafted.model.readings, plain.model.readings);
  });

  it('are not made for requests with a seed, which evaluate tokens one by one', async () => {
    const { plain, drafted } = await compare({ prompt: PROMPT, sampling: { seed: 5 } }, { answer: () => SOURCE });
    assert.deepEqual(drafted.model.decodes, plain.model.decodes);
  });

  it('stop for a model that cannot remove tokens', async () => {
    const answer = 'const alpha = 7; const beta = 2; const gamma = 3; const';
    const { drafted, request } = await compare({ prompt: PROMPT }, { answer: () => answer, canTruncate: false });
    assert.equal(request.getText(), answer);
    assert.equal(countDrafted(drafted), 1);
  });

  it('are shared by the answers of a tick, and wait while a prompt is evaluated', async () => {
    const setup = createTestScheduler({ answer: () => SOURCE, draftTokens: DRAFT_TOKENS, batchTokensMax: 64 });
    const requests = ['a', 'b', 'c'].map((workspace) => setup.submit({ prompt: PROMPT, workspace }));
    await Promise.all(requests.map(({ closed }) => closed));
    for (const request of requests) assert.equal(request.getText(), SOURCE);
    for (const items of setup.model.decodes) {
      const drafted = items.filter(({ logits }) => logits === 'all');
      const tokens = drafted.reduce((sum, item) => sum + item.tokens.length - 1, 0);
      assert.ok(tokens <= DRAFT_TOKENS, `${tokens} drafted tokens`);
      if (drafted.length > 0) assert.ok(items.every((item) => item.tokens.length === 1 || item.logits === 'all'));
    }
    assert.ok(countDrafted(setup) > 0);
  });

  it('change no answer of requests that interrupt each other', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'ab', 'abc', 'é'), minLength: 1, maxLength: 40 });
    const requests = fc.array(
      fc.record({
        prompt: text,
        answer: text,
        choices: fc.integer({ min: 1, max: 3 }),
        workspace: fc.constantFrom('a', 'b'),
      }),
      { minLength: 1, maxLength: 5 },
    );
    await fc.assert(
      fc.asyncProperty(requests, fc.integer({ min: 1, max: 3 }), async (calls, sequences) => {
        const runAll = async (options: TestSchedulerOptions) => {
          // Evaluations take so long that answers exceed their time.
          let now = 0;
          const clock = { now: () => now, monotonic: () => now };
          const answers = new Map(calls.map(({ prompt, answer }, at) => [`${at}${prompt}|`, answer]));
          const setup = createTestScheduler({
            ...options,
            clock,
            sequences,
            onDecode: () => void (now += 200),
            answer: (prompt) => answers.get(prompt) ?? '',
          });
          const running = calls.map(({ prompt, choices, workspace }, at) =>
            setup.submit({ prompt: `${at}${prompt}|`, choices: Math.min(choices, sequences), workspace }),
          );
          await Promise.all(running.map(({ closed }) => closed));
          return running.map((request, at) => ({
            texts: Array.from({ length: calls[at]?.choices ?? 1 }, (_, choice) => request.getText(choice)),
            counts: request.getFinished().counts.completionTokens,
          }));
        };
        assert.deepEqual(await runAll({ draftTokens: DRAFT_TOKENS }), await runAll({}));
      }),
    );
  });
});
