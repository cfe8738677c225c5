import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BadRequestError, type OpenAI } from 'openai';
import { LengthFinishReasonError } from 'openai/error';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { getWeightsSkipReason } from '../models-folder.ts';
import { useOpenAI } from './use-openai.ts';
import { PERSON_TEXT, PersonSchema } from './person-schema.ts';

/** The smallest model, for objects whose schema bounds their length and whose content does not matter. */
const MODEL = 'svc-tiny';
/** The default model, for objects of any length. */
const CONCISE_MODEL = 'svc-plus';
const messages = [{ role: 'user' as const, content: `Describe this person as JSON: ${PERSON_TEXT}` }];

/** Greedy sampling, so that each run gives the same answer. The limit is beyond the longest person of the schema. */
const question = { model: MODEL, messages, temperature: 0, max_tokens: 300 };
const person = zodResponseFormat(PersonSchema, 'person');

describe(
  'structured answers with the openai client for Node',
  { skip: getWeightsSkipReason(MODEL) || getWeightsSkipReason(CONCISE_MODEL) },
  () => {
    const openai = useOpenAI();

    test('are parsed by the zod schema of the request', async () => {
      const { choices } = await openai.client.chat.completions.parse({ ...question, response_format: person });
      const [choice] = choices;
      assert.equal(choice?.finish_reason, 'stop');
      assert.deepEqual(PersonSchema.parse(choice?.message.parsed), JSON.parse(choice?.message.content ?? ''));
    });

    test('are parsed at the end of a stream', async () => {
      const pieces: string[] = [];
      const stream = openai.client.chat.completions
        .stream({ ...question, response_format: person })
        .on('content.delta', ({ delta }) => void pieces.push(delta));
      const [choice] = (await stream.finalChatCompletion()).choices;
      assert.ok(pieces.length > 3);
      assert.deepEqual(PersonSchema.parse(choice?.message.parsed), JSON.parse(pieces.join('')));
    });

    test('raise LengthFinishReasonError in the client when the token limit cuts them', () =>
      assert.rejects(
        openai.client.chat.completions.parse({ ...question, response_format: person, max_tokens: 4 }),
        LengthFinishReasonError,
      ));

    test('may be any JSON object', async () => {
      const { choices } = await openai.client.chat.completions.create({
        ...question,
        model: CONCISE_MODEL,
        messages: [{ role: 'user', content: 'Answer in JSON with the key "capital": what is the capital of France?' }],
        response_format: { type: 'json_object' },
      });
      assert.equal(choices[0]?.finish_reason, 'stop');
      assert.ok(z.record(z.string(), z.unknown()).parse(JSON.parse(choices[0]?.message.content ?? '')));
    });

    test('are refused as JSON objects unless a message contains the word JSON', () =>
      assertRejected(
        { ...question, messages: [{ role: 'user', content: 'Hello!' }], response_format: { type: 'json_object' } },
        'response_format',
        /must contain the word 'json'/,
      ));

    test('come with log probabilities for every token', async () => {
      const { choices } = await openai.client.chat.completions.create({
        ...question,
        messages: [{ role: 'user', content: 'Is Paris in France?' }],
        response_format: {
          type: 'json_schema',
          json_schema: {
            name: 'answer',
            strict: true,
            schema: z.toJSONSchema(z.object({ answer: z.enum(['yes', 'no']) })),
          },
        },
        logprobs: true,
        top_logprobs: 2,
      });
      const [choice] = choices;
      assert.ok(['yes', 'no'].includes(JSON.parse(choice?.message.content ?? '').answer));
      const tokens = choice?.logprobs?.content ?? [];
      assert.equal(Buffer.from(tokens.flatMap(({ bytes }) => bytes ?? [])).toString(), choice?.message.content);
      for (const { logprob, top_logprobs } of tokens) {
        assert.ok(logprob === null || logprob <= 0);
        assert.equal(top_logprobs.length, 2);
      }
    });

    test('are refused with an unsupported schema, naming the field', () => {
      const schema = { type: 'object', properties: { age: { type: 'integr' } } };
      const response_format = { type: 'json_schema', json_schema: { name: 'person', strict: true, schema } };
      return assertRejected({ ...question, response_format }, 'response_format.json_schema.schema', /age/);
    });

    test('are refused in an unknown format', () =>
      assertRejected({ ...question, response_format: { type: 'yaml' } }, 'response_format', /response_format/));

    async function assertRejected(body: object, param: string, pattern: RegExp): Promise<void> {
      const params = body as OpenAI.ChatCompletionCreateParamsNonStreaming;
      await assert.rejects(openai.client.chat.completions.create(params), (error) => {
        assert.ok(error instanceof BadRequestError, String(error));
        assert.ok(error.param?.startsWith(param), `${error.param}: ${error.message}`);
        assert.match(error.message, pattern);
        return true;
      });
    }
  },
);
