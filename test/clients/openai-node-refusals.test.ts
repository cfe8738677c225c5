import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BadRequestError, type OpenAI } from 'openai';
import { lacksWeights } from '../models-folder.ts';
import { useOpenAI } from './use-openai.ts';
import { WEATHER, WEATHER_QUESTION, WEATHER_RESULT } from './weather.ts';

const MODEL = 'svc-plus';
const messages = [{ role: 'user' as const, content: WEATHER_QUESTION }];
const weather = { type: 'function' as const, function: WEATHER };
const time = { type: 'function' as const, function: { name: 'get_time', description: 'Get the time of day.' } };
const named = (name: string) => ({ type: 'function' as const, function: { name } });
const question = { model: MODEL, messages, temperature: 0, max_tokens: 8 };

/** Beyond it, a refusal kept everybody waiting, in ms. */
const REFUSAL_MS_MAX = 10_000;

describe('tools that cannot be had, with the openai client for Node', { skip: lacksWeights(MODEL) }, () => {
  const openai = useOpenAI();

  test('are refused in more than one choice', () => refused({ ...question, n: 2, tools: [weather] }, 'n'));

  test('are refused under a name that is none', () =>
    refused({ ...question, tools: [{ ...weather, function: { ...WEATHER, name: 'get weather!' } }] }, 'tools'));

  test('are refused when the forced one is not among them', () =>
    refused({ ...question, tools: [weather], tool_choice: named('get_time') }, 'tool_choice'));

  test('are refused by force while thinking is on, naming both fields', () =>
    refused({ ...question, enable_thinking: true, tools: [weather], tool_choice: named(WEATHER.name) }, 'tool_choice', [
      /tool_choice/,
      /enable_thinking/,
    ]));

  test('are refused a result of a call that nobody made', () => {
    const call = { id: 'call_1', type: 'function', function: { name: WEATHER.name, arguments: '{"city":"Paris"}' } };
    const history = [
      ...messages,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_2', content: JSON.stringify(WEATHER_RESULT) },
    ];
    return refused({ ...question, messages: history, tools: [weather] }, 'messages[2].tool_call_id');
  });

  for (const [fault, city] of Object.entries({
    'a type that there is none of': { type: 'strnig' },
    'a keyword that nothing here can keep': { type: 'object', unevaluatedProperties: false },
    'a reference to another host': { $ref: 'https://schemas.invalid/city.json' },
    'a reference to nothing': { $ref: '#/$defs/city' },
    'a pattern that looks behind': { type: 'string', pattern: '(?<=x)y' },
  })) {
    test(`are refused with ${fault} in their schema, which is named`, () => {
      const parameters = { type: 'object', properties: { city }, required: ['city'] };
      const faulty = { ...weather, function: { ...WEATHER, parameters } };
      return refused({ ...question, tools: [time, faulty] }, 'tools[1].function.parameters', [/city/]);
    });
  }

  for (const [name, value] of Object.entries(hostileSchemas())) {
    test(`are refused soon with ${name} in their schema`, async () => {
      const parameters = { type: 'object', properties: { value }, required: ['value'] };
      const startedAt = performance.now();
      await refused({ ...question, tools: [{ ...weather, function: { ...WEATHER, parameters } }] });
      assert.ok(performance.now() - startedAt < REFUSAL_MS_MAX);
      const { choices } = await openai.client.chat.completions.create({ ...question, max_tokens: 1 });
      assert.equal(choices.length, 1);
    });
  }

  async function refused(body: object, param?: string, facts: readonly RegExp[] = []): Promise<void> {
    const asked = body as OpenAI.ChatCompletionCreateParamsNonStreaming;
    for (const stream of [false, true]) {
      await assert.rejects(openai.client.chat.completions.create({ ...asked, stream }), (error) => {
        assert.ok(error instanceof BadRequestError, String(error));
        assert.equal(error.code, 'invalid_parameter_error');
        if (param !== undefined) assert.ok(error.param?.startsWith(param), `${error.param}: ${error.message}`);
        for (const fact of facts) assert.match(error.message, fact);
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
    'two thousand arrays in each other': deep,
    'twenty thousand properties': { type: 'object', properties: wide, required: Object.keys(wide) },
    'a billion items': { type: 'array', items: { type: 'string' }, minItems: 1e9 },
    'references in a circle': { anyOf: [{ $ref: '#/properties/value' }] },
    'repetitions of repetitions': { type: 'string', pattern: '^(((a{1,999}b){1,999}c){1,999}d){1,999}$' },
  };
}
