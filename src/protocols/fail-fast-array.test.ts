import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { failFastArray } from './fail-fast-array.ts';
import { parseValue, parseBody } from './parse.ts';

const Part = z.discriminatedUnion('type', [z.object({ type: z.literal('text'), text: z.string() })]);
const Body = z.object({
  content: z.union([z.string(), failFastArray(Part, { min: 1, max: 1_000_000 })]),
  more: z.unknown().optional(),
});

test('parses each element with the element schema', () => {
  assert.deepEqual(parseValue(Body, { content: [{ type: 'text', text: 'a', x: 1 }] }), {
    content: [{ type: 'text', text: 'a' }],
  });
});

test('reports the path of the first invalid element and validates none after it', () => {
  let looks = 0;
  const counted = failFastArray(
    z.string().refine((value) => {
      looks++;
      return value !== 'bad';
    }),
    { max: 1_000_000 },
  );
  const values = Array.from({ length: 100_000 }, (_, i) => (i === 2 ? 'bad' : 'good'));
  assert.throws(() => parseValue(z.object({ list: counted }), { list: values }), { param: 'list[2]' });
  assert.equal(looks, 3);
  assert.throws(() => parseValue(Body, { content: Array.from({ length: 300_000 }, () => ({})) }), {
    param: 'content[0].type',
  });
});

test('rejects a list of the wrong length before its elements', () => {
  const two = z.object({ list: failFastArray(z.string(), { min: 1, max: 2 }) });
  assert.throws(() => parseValue(two, { list: [] }), { kind: 'invalid-request', param: 'list' });
  assert.throws(() => parseValue(two, { list: [1, 2, 3] }), { kind: 'invalid-request', param: 'list' });
});

test('lists unknown fields at any depth once, except null ones and those inside values without a schema', () => {
  const body = {
    content: [
      { type: 'text', text: 'a', x: 1 },
      { type: 'text', text: 'b', x: 2, y: null },
    ],
    more: { free: { y: 1 } },
    top: 1,
  };
  assert.deepEqual(parseBody(Body, body).unknown, ['content[].x', 'top']);
  assert.throws(() => parseBody(Body, { content: 'a', ['__proto__x']: 1 }, { strict: true }), {
    kind: 'invalid-request',
  });
});
