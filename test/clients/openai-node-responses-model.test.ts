import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { zodTextFormat } from 'openai/helpers/zod';
import { lacksWeights } from '../models-folder.ts';
import { Person, PERSON_TEXT } from './person.ts';
import { useRecordedOpenAI } from './use-recorded-openai.ts';

const MODEL = 'svc-plus';

/** Greedy, so that a run says what the next will. */
const SETTINGS = { model: MODEL, temperature: 0, max_output_tokens: 100 };

describe('responses of a real model with the openai client for Node', { skip: lacksWeights(MODEL) }, () => {
  const openai = useRecordedOpenAI({});

  test('are parsed by a zod schema', async () => {
    const { output_parsed: person, text } = await openai.client.responses.parse({
      ...SETTINGS,
      input: `Describe this person as JSON: ${PERSON_TEXT}`,
      text: { format: zodTextFormat(Person, 'person') },
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
    const { output_text: said } = await responses.create({
      ...SETTINGS,
      conversation,
      max_output_tokens: 12,
      input: 'What is the name of my cat?',
    });
    assert.match(said, /Biscuit/);
  });

  test('tell how likely each token was, in a stream as at once', async () => {
    const asked = {
      ...SETTINGS,
      input: 'Say hello.',
      max_output_tokens: 4,
      include: ['message.output_text.logprobs' as const],
      top_logprobs: 2,
    };
    for (const { output } of [
      await openai.client.responses.create(asked),
      await openai.client.responses.stream(asked).finalResponse(),
    ]) {
      const [part] = output[0]?.type === 'message' ? output[0].content : [];
      assert.ok(part?.type === 'output_text' && part.logprobs);
      assert.equal(part.logprobs.map(({ token }) => token).join(''), part.text);
      assert.ok(part.logprobs.every((each) => each.logprob <= 0 && each.top_logprobs?.length === 2));
    }
  });

  openai.testPublished(['ResponseResource', 'ResponseIncompleteStreamingEvent']);
});
