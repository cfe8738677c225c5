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
    assert.equal(person?.name, 'Anna Kowalska');
    assert.equal(text?.format?.type, 'json_schema');
  });

  test('remember a conversation', async () => {
    const { conversations, responses } = openai.client;
    const { id: conversation } = await conversations.create({
      items: [{ role: 'system', content: 'Answer in one short sentence.' }],
    });
    await responses.create({ ...SETTINGS, conversation, max_output_tokens: 12, input: 'My cat is named Biscuit.' });
    const { output_text: answer } = await responses.create({
      ...SETTINGS,
      conversation,
      max_output_tokens: 12,
      input: 'What is the name of my cat?',
    });
    assert.match(answer, /Biscuit/);
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
