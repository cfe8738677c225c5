import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { zodTextFormat } from 'openai/helpers/zod';
import { getWeightsSkipReason } from '../models-folder.ts';
import { PersonSchema, PERSON_TEXT } from './person-schema.ts';
import { useRecordedOpenAI } from './use-recorded-openai.ts';

const MODEL = 'svc-plus';

/** Greedy sampling, so that each run gives the same answer. */
const SETTINGS = { model: MODEL, temperature: 0, max_output_tokens: 100 };

describe('responses of a real model with the openai client for Node', { skip: getWeightsSkipReason(MODEL) }, () => {
  const openai = useRecordedOpenAI({ withTinyModel: true });

  test('are parsed by a zod schema', async () => {
    const { output_parsed: person, text } = await openai.client.responses.parse({
      ...SETTINGS,
      input: `Describe this person as JSON: ${PERSON_TEXT}`,
      text: { format: zodTextFormat(PersonSchema, 'person') },
    });
    assert.deepEqual(PersonSchema.parse(person), person);
    assert.equal(text?.format?.type, 'json_schema');
  });

  test('remember a conversation', async () => {
    const { conversations, responses } = openai.client;
    const { id: conversation } = await conversations.create({
      items: [{ role: 'system', content: 'Answer in one short sentence.' }],
    });
    const ask = async (input: string) => {
      const { output_text, usage } = await responses.create({
        ...SETTINGS,
        conversation,
        max_output_tokens: 12,
        input,
      });
      assert.ok(output_text && usage);
      return usage;
    };
    const first = await ask('My cat is named Biscuit.');
    const second = await ask('What is the name of my cat?');
    // Whether the smallest model knows the name depends on how the processor rounds.
    assert.ok(second.input_tokens > first.input_tokens + first.output_tokens);
    assert.ok(second.input_tokens_details.cached_tokens >= first.input_tokens);
  });

  test('contain log probabilities of each token, streamed or not', async () => {
    const params = {
      ...SETTINGS,
      input: 'Say hello.',
      max_output_tokens: 4,
      include: ['message.output_text.logprobs' as const],
      top_logprobs: 2,
    };
    for (const { output } of [
      await openai.client.responses.create(params),
      await openai.client.responses.stream(params).finalResponse(),
    ]) {
      const [part] = output[0]?.type === 'message' ? output[0].content : [];
      assert.ok(part?.type === 'output_text' && part.logprobs);
      assert.equal(part.logprobs.map(({ token }) => token).join(''), part.text);
      assert.ok(part.logprobs.every((each) => each.logprob <= 0 && each.top_logprobs?.length === 2));
    }
  });

  openai.testPublishedShapes(['ResponseResource', 'ResponseIncompleteStreamingEvent']);
});
