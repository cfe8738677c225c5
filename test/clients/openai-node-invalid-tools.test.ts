import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BadRequestError, type OpenAI } from 'openai';
import { getWeightsSkipReason } from '../models-folder.ts';
import { useOpenAI } from './use-openai.ts';
import { WEATHER_FUNCTION, WEATHER_QUESTION, WEATHER_RESULT } from './weather-function.ts';

const MODEL = 'svc-plus';
const messages = [{ role: 'user' as const, content: WEATHER_QUESTION }];
const weather = { type: 'function' as const, function: WEATHER_FUNCTION };
const time = { type: 'function' as const, function: { name: 'get_time', description: 'Get the time of day.' } };
const forceTool = (name: string) => ({ type: 'function' as const, function: { name } });
const question = { model: MODEL, messages, temperature: 0, max_tokens: 8 };

/** Longest time until a refusal, in ms. A slower one would block other requests. */
const REFUSAL_MS_MAX = 10_000;

describe('invalid tools with the openai client for Node', { skip: getWeightsSkipReason('svc-tiny') }, () => {
  const openai = useOpenAI({ withTinyModel: true });

  test('are refused with more than one choice', () => assertRejected({ ...question, n: 2, tools: [weather] }, 'n'));

  test('are refused with an invalid name', () =>
    assertRejected(
      { ...question, tools: [{ ...weather, function: { ...WEATHER_FUNCTION, name: 'get weather!' } }] },
      'tools',
    ));

  test('are refused when the forced tool is not among them', () =>
    assertRejected({ ...question, tools: [weather], tool_choice: forceTool('get_time') }, 'tool_choice'));

  test('are refused when forced while thinking is on, naming both fields', () =>
    assertRejected(
      { ...question, enable_thinking: true, tools: [weather], tool_choice: forceTool(WEATHER_FUNCTION.name) },
      'tool_choice',
      [/tool_choice/, /enable_thinking/],
    ));

  test('are refused with the result of an unknown call', () => {
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: WEATHER_FUNCTION.name, arguments: '{"city":"Paris"}' },
    };
    const history = [
      ...messages,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_2', content: JSON.stringify(WEATHER_RESULT) },
    ];
    return assertRejected({ ...question, messages: history, tools: [weather] }, 'messages[2].tool_call_id');
  });

  for (const [fault, city] of Object.entries({
    'an unknown type': { type: 'strnig' },
    'an unsupported keyword': { type: 'object', $recursiveRef: '#' },
    'a reference to another host': { $ref: 'https://schemas.invalid/city.json' },
    'a reference to nothing': { $ref: '#/$defs/city' },
    'a pattern with a lookbehind': { type: 'string', pattern: '(?<=x)y' },
  })) {
    test(`are refused with ${fault} in their schema, naming the property`, () => {
      const parameters = { type: 'object', properties: { city }, required: ['city'] };
      const faulty = { ...weather, function: { ...WEATHER_FUNCTION, parameters } };
      return assertRejected({ ...question, tools: [time, faulty] }, 'tools[1].function.parameters', [/city/]);
    });
  }

  for (const [name, value] of Object.entries(hostileSchemas())) {
    test(`are refused quickly with ${name} in their schema`, async () => {
      const parameters = { type: 'object', properties: { value }, required: ['value'] };
      const startedAt = performance.now();
      await assertRejected({ ...question, tools: [{ ...weather, function: { ...WEATHER_FUNCTION, parameters } }] });
      assert.ok(performance.now() - startedAt < REFUSAL_MS_MAX);
      const { choices } = await openai.client.chat.completions.create({ ...question, max_tokens: 1 });
      assert.equal(choices.length, 1);
    });
  }

  async function assertRejected(body: object, param?: string, patterns: readonly RegExp[] = []): Promise<void> {
    const params = body as OpenAI.ChatCompletionCreateParamsNonStreaming;
    for (const stream of [false, true]) {
      await assert.rejects(openai.client.chat.completions.create({ ...params, stream }), (error) => {
        assert.ok(error instanceof BadRequestError, String(error));
        assert.equal(error.code, 'invalid_parameter_error');
        if (param !== undefined) assert.ok(error.param?.startsWith(param), `${error.param}: ${error.message}`);
        for (const pattern of patterns) assert.match(error.message, pattern);
        return true;
      });
    }
  }
});

function hostileSchemas(): Record<string, object> {
  let deep: object = { type: 'string' };
  for (let depth = 0; depth < 2_000; depth += 1) deep = { type: 'array', items: deep };
  const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`p${index}`, { type: 'string' }]));
  return {
    'two thousand nested arrays': deep,
    'twenty thousand properties': { type: 'object', properties: wide, required: Object.keys(wide) },
    'a billion items': { type: 'array', items: { type: 'string' }, minItems: 1e9 },
    'circular references': { anyOf: [{ $ref: '#/properties/value' }] },
    'nested repetitions': { type: 'string', pattern: '^(((a{1,999}b){1,999}c){1,999}d){1,999}$' },
  };
}
