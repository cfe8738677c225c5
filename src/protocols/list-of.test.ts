import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { listOf } from './list-of.ts';
import { parse, parseBody } from './parse.ts';

const Part = z.discriminatedUnion('type', [z.object({ type: z.literal('text'), text: z.string() })]);
const Body = z.object({
  content: z.union([z.string(), listOf(Part, { min: 1, max: 1_000_000 })]),
  more: z.unknown().optional(),
});

test('a list gives its elements in the form of their schema', () => {
  assert.deepEqual(parse(Body, { content: [{ type: 'text', text: 'a', x: 1 }] }), {
    content: [{ type: 'text', text: 'a' }],
  });
});

test('the first bad element is named, with its place, and no other is looked at', () => {
  let looks = 0;
  const counted = listOf(
    z.string().refine((value) => {
      looks++;
      return value !== 'bad';
    }),
    { max: 1_000_000 },
  );
  const values = Array.from({ length: 100_000 }, (_, i) => (i === 2 ? 'bad' : 'good'));
  assert.throws(() => parse(z.object({ list: counted }), { list: values }), { param: 'list[2]' });
  assert.equal(looks, 3);
  assert.throws(() => parse(Body, { content: Array.from({ length: 300_000 }, () => ({})) }), {
    param: 'content[0].type',
  });
});

test('too long and too short a list is refused before its elements', () => {
  const two = z.object({ list: listOf(z.string(), { min: 1, max: 2 }) });
  assert.throws(() => parse(two, { list: [] }), { kind: 'invalid-request', param: 'list' });
  assert.throws(() => parse(two, { list: [1, 2, 3] }), { kind: 'invalid-request', param: 'list' });
});

test('unknown fields are named at any depth, once, but not where null, nor inside what is taken over whole', () => {
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
