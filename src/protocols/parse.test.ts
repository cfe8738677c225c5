import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { ServiceError } from '../core/error.ts';
import { parseValue, parseBody } from './parse.ts';

const schema = z.object({
  model: z.string(),
  top_p: z.number().gt(0).lte(1).nullish(),
  n: z.int().min(1).max(4).nullish(),
  effort: z.enum(['low', 'high']).nullish(),
  flag: z.boolean().nullish(),
  messages: z
    .array(
      z.discriminatedUnion('role', [
        z.object({
          role: z.literal('user'),
          content: z.union([z.string(), z.array(z.object({ type: z.literal('text'), text: z.string() })).min(1)]),
        }),
        z.object({ role: z.literal('tool'), content: z.string() }),
      ]),
    )
    .nullish(),
});
const texts = {
  top_p: 'Range of top_p should be (0.0, 1.0]',
  'messages[].content': 'input content must be a string.',
};

function catchRefusal(body: unknown): { message: string; param: string | undefined } {
  try {
    parseBody(schema, body, { texts });
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'invalid-request') return error;
    throw error;
  }
  return assert.fail('was accepted');
}

const rows: readonly (readonly [unknown, string, string | undefined])[] = [
  [{}, 'Required parameter(model) missing or invalid, please check the request parameters.', 'model'],
  [{ model: null }, 'Required parameter(model) missing or invalid, please check the request parameters.', 'model'],
  [{ model: 7 }, 'model must be a string, got 7.', 'model'],
  [{ model: 'm', top_p: 1.5 }, 'Range of top_p should be (0.0, 1.0] (top_p: 1.5)', 'top_p'],
  [{ model: 'm', top_p: '0.5' }, 'Range of top_p should be (0.0, 1.0] (top_p: "0.5")', 'top_p'],
  [{ model: 'm', n: 9 }, 'n must be at most 4, got 9.', 'n'],
  [{ model: 'm', n: 1.5 }, 'n must be an integer, got 1.5.', 'n'],
  [{ model: 'm', effort: 'x'.repeat(99) }, `effort must be one of "low", "high", got "${'x'.repeat(40)}…".`, 'effort'],
  [{ model: 'm', flag: 'true' }, 'flag must be true or false, got "true".', 'flag'],
  [
    { model: 'm', messages: [{ role: 'bot', content: 'x' }] },
    'messages[0].role must be one of "user", "tool", got "bot".',
    'messages[0].role',
  ],
  [
    { model: 'm', messages: [{ role: 'user', content: { my: 'secret' } }] },
    'input content must be a string. (messages[0].content: an object)',
    'messages[0].content',
  ],
  [
    { model: 'm', messages: [{ role: 'user', content: [{ type: 'text', text: ['secret'] }] }] },
    'messages[0].content[0].text must be a string, got an array of 1.',
    'messages[0].content[0].text',
  ],
  [
    { model: 'm', messages: 'a secret prompt' },
    'messages must be an array, got a string of 15 characters.',
    'messages',
  ],
  [[], 'Required body invalid, please check the request body format.', undefined],
  [null, 'Required body invalid, please check the request body format.', undefined],
  ['x', 'Required body invalid, please check the request body format.', undefined],
];

for (const [body, message, param] of rows) {
  test(`refuses ${JSON.stringify(body)?.slice(0, 60)} by name`, () => {
    const refusal = catchRefusal(body);
    assert.equal(refusal.message, message);
    assert.equal(refusal.param, param);
  });
}

test('lists unknown top-level fields including __proto__, and changes no prototype', () => {
  const body: unknown = JSON.parse('{"model":"m","__proto__":{"polluted":1},"constructor":2,"user":"u"}');
  const { wire, unknown } = parseBody(schema, body);
  assert.deepEqual(unknown, ['__proto__', 'constructor', 'user']);
  assert.equal(Object.getPrototypeOf(wire), Object.prototype);
  assert.equal(Reflect.get({}, 'polluted'), undefined);
});

test('strict mode rejects an unknown field by name', () => {
  assert.throws(() => parseBody(schema, { model: 'm', modle: 1 }, { strict: true }), {
    message: 'modle is not a field of this request.',
    param: 'modle',
  });
});

test('a rule text may depend on the value', () => {
  const temperature = (value: unknown): string => (typeof value === 'number' ? 'range' : "'t' must be Float");
  const only = z.object({ t: z.number().max(2) });
  assert.throws(() => parseValue(only, { t: 'x' }, { texts: { t: temperature } }), {
    message: '\'t\' must be Float (t: "x")',
  });
  assert.throws(() => parseValue(only, { t: 3 }, { texts: { t: temperature } }), { message: 'range (t: 3)' });
});
