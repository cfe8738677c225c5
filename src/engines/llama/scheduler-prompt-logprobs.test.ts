import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { IM_END } from './__fixtures__/fake-native-model.ts';
import { createTestScheduler, type TestRequest } from './__fixtures__/test-scheduler.ts';
import { PROMPT_LOGPROBS_SLICE_TOKENS } from './limits.ts';

const SCORED = { logprobs: { top: 1 }, promptLogprobs: { top: 1 } };

const listPromptLines = ({ lines }: TestRequest, choice = 0) =>
  lines.filter((line) => line.type === 'prompt').filter((line) => line.choice === choice);

const listPromptTokens = (request: TestRequest, choice = 0) =>
  listPromptLines(request, choice).flatMap(({ logprobs }) => logprobs);

describe('createScheduler: log probabilities of the prompt', () => {
  it('reads each token after the tokens before it, in small slices, and reports it once', async () => {
    const setup = createTestScheduler();
    const prompt = 'The lighthouse keeper has a cat.'.repeat(3);
    const request = await setup.run({ prompt, maxTokens: 2, ...SCORED });
    const tokens = [...Buffer.from(prompt)];
    assert.deepEqual(
      listPromptTokens(request).map(({ id, logprob }) => [id, logprob]),
      tokens.map((id, at) => [id, at === 0 ? null : -0.5]),
    );
    assert.deepEqual(
      setup.model.readings.slice(0, tokens.length - 1),
      tokens.slice(1).map((token, at) => ({ context: tokens.slice(0, at + 1), token })),
    );
    const prefill = setup.model.decodes.flat().filter(({ position }) => position < tokens.length);
    assert.ok(prefill.every(({ tokens: slice }) => slice.length <= PROMPT_LOGPROBS_SLICE_TOKENS));
    assert.ok(prefill.length > 4);
    assert.equal(
      listPromptLines(request)
        .map(({ text }) => text)
        .join(''),
      prompt,
    );
    assert.equal(
      request.lines.findIndex(({ type }) => type === 'token'),
      1 + listPromptLines(request).length,
    );
    assert.deepEqual(request.getFinished().counts, {
      promptTokens: tokens.length,
      cachedTokens: 0,
      completionTokens: 2,
      thoughtTokens: 0,
    });
  });

  it('evaluates the whole prompt, although another sequence holds it', async () => {
    const setup = createTestScheduler();
    const prompt = 'x'.repeat(100);
    for (const sampling of [{}, { seed: 1 }]) {
      await setup.run({ prompt, maxTokens: 1, sampling });
      const request = await setup.run({ prompt, maxTokens: 1, sampling, ...SCORED });
      assert.equal(request.getStarted().cachedTokens, 0);
      assert.equal(listPromptTokens(request).length, prompt.length);
    }
    const reusing = await setup.run({ prompt, maxTokens: 1 });
    assert.equal(reusing.getStarted().cachedTokens, prompt.length - 1);
  });

  it('lets other requests generate with every slice', async () => {
    let scored: TestRequest | undefined;
    const setup = createTestScheduler({
      onDecode(_items, count) {
        if (count === 10) scored = setup.submit({ prompt: 'x'.repeat(200), maxTokens: 1, ...SCORED });
      },
    });
    await setup.run({ prompt: 'ab', maxTokens: 60 });
    await scored?.closed;
    const slices = setup.model.decodes.slice(10).filter((items) => items.some(({ tokens }) => tokens.length > 1));
    assert.ok(slices.length >= 12);
    for (const items of slices) assert.equal(items.filter(({ tokens }) => tokens.length === 1).length, 1);
  });

  it('reports to each choice, and joins characters that a slice cuts', async () => {
    const setup = createTestScheduler();
    const prompt = `${'x'.repeat(PROMPT_LOGPROBS_SLICE_TOKENS - 2)}👍${'é'.repeat(20)}`;
    const request = await setup.run({ prompt, maxTokens: 1, choices: 2, ...SCORED });
    for (const choice of [0, 1])
      assert.equal(
        listPromptLines(request, choice)
          .map(({ text }) => text)
          .join(''),
        prompt,
      );
    assert.equal(setup.model.readings.length, Buffer.byteLength(prompt) - 1 + 2);
  });

  it('ends after the prompt with maxTokens 0, and frees its sequences', async () => {
    const setup = createTestScheduler();
    for (const fields of [SCORED, {}, { sampling: { seed: 1 }, choices: 2 }]) {
      const request = await setup.run({ prompt: 'some prompt', maxTokens: 0, ...fields });
      assert.equal(request.getText(), '');
      assert.ok(request.getChoiceEnds().every(({ reason }) => reason === 'length'));
      assert.equal(request.getFinished().counts.completionTokens, 0);
    }
    assert.equal(setup.scheduler.health().busySequences, 0);
    assert.equal(setup.model.activeSamplers, 0);
  });

  it('reports the end token of such an answer, so that each sampled token has an entry', async () => {
    const setup = createTestScheduler({ answer: () => 'ab' });
    const list = ({ lines }: TestRequest) =>
      lines.flatMap((line) => (line.type === 'token' ? (line.logprobs ?? []) : []));
    const scored = await setup.run({ prompt: 'q|', ...SCORED });
    assert.deepEqual(
      list(scored).map(({ id }) => id),
      [97, 98, IM_END],
    );
    assert.equal(scored.getText(), 'ab');
    assert.equal(scored.getFinished().counts.completionTokens, 2);
    const plain = await setup.run({ prompt: 'q|', logprobs: { top: 1 } });
    assert.deepEqual(
      list(plain).map(({ id }) => id),
      [97, 98],
    );
  });

  it('stops reading when the request is canceled', async () => {
    const setup = createTestScheduler({
      onDecode: (_items, count) => {
        if (count === 2) request.handle.cancel();
      },
    });
    const request: TestRequest = setup.submit({ prompt: 'x'.repeat(200), ...SCORED });
    await setup.drain();
    assert.equal(setup.model.decodes.length, 2);
    assert.equal(setup.model.readings.length, PROMPT_LOGPROBS_SLICE_TOKENS);
    assert.equal(setup.scheduler.health().busySequences, 0);
  });

  it('is not preempted, because it would report its prompt again', async () => {
    const setup = createTestScheduler({
      sequences: 1,
      onDecode: (_items, count) => {
        if (count === 2) live = setup.submit({ prompt: 'live', maxTokens: 1 });
      },
    });
    let live: TestRequest | undefined;
    const background = await setup.run({ prompt: 'x'.repeat(100), priority: 'background', maxTokens: 1, ...SCORED });
    await live?.closed;
    assert.equal(listPromptTokens(background).length, 100);
    assert.equal(live?.getText().length, 1);
  });

  it('refuses a token id outside the vocabulary, and accepts special tokens', async () => {
    const setup = createTestScheduler();
    const refused = await setup.run({ input: { type: 'tokens', tokens: [97, 259] }, ...SCORED });
    assert.deepEqual(refused.refusal, {
      kind: 'invalid',
      message: 'prompt must have token ids from 0 to 258, got 259',
      param: 'prompt',
    });
    const accepted = await setup.run({ input: { type: 'tokens', tokens: [256, 97] }, maxTokens: 0, ...SCORED });
    assert.equal(listPromptLines(accepted)[0]?.text, '<|im_start|>a');
  });
});
