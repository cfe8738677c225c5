import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GenerationPhase } from '../../core/prompt.ts';
import {
  compileTestGrammars,
  createFakeNativeModel,
  type FakeNativeModelOptions,
} from './__fixtures__/fake-native-model.ts';
import { applyToken, createJobChoice } from './choice-steps.ts';
import { createGenerationJob, isRefusal, type GenerationJob, type RunningChoice } from './job.ts';
import { tokenizeMarked } from './tokenize-input.ts';
import { createKvCache } from './kv-cache.ts';
import { createSlotPool } from './slot-pool.ts';

const END = { id: -1, bytes: new Uint8Array(), isEndToken: true };

const createToken = (letter: string) => ({
  id: letter.charCodeAt(0),
  bytes: new TextEncoder().encode(letter),
  isEndToken: false,
});

/** A choice whose prompt `ab` is evaluated, and that has sampled nothing yet. */
async function createTestChoice(phases: readonly GenerationPhase[] = [], options: FakeNativeModelOptions = {}) {
  const model = createFakeNativeModel(options);
  const job = await createGenerationJob(
    model,
    {
      id: 'id',
      owner: { workspace: 'w', key: 'k' },
      input: { type: 'segments', segments: [{ text: 'ab', special: false }] },
      sampling: {},
      stop: { strings: [], tokens: [] },
      choices: 1,
      phases,
    },
    {
      caller: { send: () => true, refuse: () => undefined, end: () => undefined },
      tokenize: async (tokenizer, input) => tokenizeMarked(tokenizer, input),
      compile: compileTestGrammars,
      choicesMax: 1,
      signal: new AbortController().signal,
    },
  );
  assert.ok(!isRefusal(job));
  const slot = createSlotPool(1).all[0];
  assert.ok(slot);
  slot.tokens = [...job.prompt];
  const truncations: number[] = [];
  const cells = createKvCache(model, 'none');
  const truncate = (of: typeof slot, length: number): void => {
    truncations.push(length);
    cells.truncate(of, length);
  };
  const choice = Object.assign(createJobChoice(model, job, { index: 1, baseSeed: 0xffff_ffff }), { slot });
  return { model, job, choice, truncations, deps: { model, cells: { truncate } } };
}

const getEnd = (job: GenerationJob) => job.lines.find((line) => line.type === 'choice-finished');

/** Moves the pending tokens to the sequence, as an evaluation does. */
function evaluatePending(choice: RunningChoice): void {
  choice.slot.tokens.push(...choice.pending.splice(0));
}

describe('the steps of a choice', () => {
  it('derives the seed from the first one and the index, as an unsigned integer', async () => {
    const { choice } = await createTestChoice();
    assert.equal(choice.seed, 0);
  });

  it('evaluates a sampled token next, and reports its text', async () => {
    const { deps, choice, job } = await createTestChoice();
    applyToken(deps, choice, createToken('x'));
    assert.deepEqual(choice.pending, [120]);
    assert.deepEqual([choice.sampledTokens, choice.phaseTokens], [[120], [120]]);
    assert.deepEqual(job.lines, [{ type: 'token', choice: 1, phase: 0, id: 120, tokens: 1, text: 'x' }]);
  });

  it('finishes at the end token, which is no sampled token', async () => {
    const { deps, choice, job } = await createTestChoice();
    applyToken(deps, choice, END);
    assert.ok(choice.isFinished);
    assert.deepEqual([choice.pending, choice.sampledTokens], [[], []]);
    assert.deepEqual(getEnd(job), { type: 'choice-finished', choice: 1, reason: 'stop' });
  });

  it('finishes when the context is full', async () => {
    const { deps, choice, job } = await createTestChoice([], { contextTokens: 4 });
    applyToken(deps, choice, createToken('x'));
    assert.equal(choice.isFinished, false);
    evaluatePending(choice);
    applyToken(deps, choice, createToken('y'));
    assert.equal(getEnd(job)?.reason, 'length');
  });

  it('starts the next phase with the retained tokens and the appended text', async () => {
    const phases: readonly GenerationPhase[] = [
      { kind: 'thought', until: { text: '.' }, nextPhase: 1, appendOnEnd: [{ text: 'Z', special: false }] },
      { kind: 'answer' },
    ];
    const { model, deps, choice } = await createTestChoice(phases);
    applyToken(deps, choice, createToken('x'));
    evaluatePending(choice);
    applyToken(deps, choice, createToken('.'));
    assert.equal(choice.output.kind, 'answer');
    assert.deepEqual([...choice.slot.tokens, ...choice.pending], [...Buffer.from('abxZ')]);
    assert.deepEqual([choice.phaseStart, choice.phaseTokens], [4, []]);
    assert.equal(model.activeSamplers, 1, 'the sampler of the first phase is disposed');
  });

  it('evaluates the last token of the context again when a phase appends nothing', async () => {
    const phases: readonly GenerationPhase[] = [
      { kind: 'thought', until: { text: '.' }, nextPhase: 1 },
      { kind: 'answer' },
    ];
    const { deps, choice, truncations } = await createTestChoice(phases);
    applyToken(deps, choice, createToken('x'));
    evaluatePending(choice);
    applyToken(deps, choice, createToken('.'));
    assert.deepEqual(truncations, [2]);
    assert.deepEqual(choice.pending, [...Buffer.from('x')]);
  });
});
