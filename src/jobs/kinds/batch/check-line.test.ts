import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLineCheck } from './check-line.ts';
import type { InputLine } from './read-lines.ts';

const ENDPOINT = '/v1/chat/completions';
const GOOD = { custom_id: 'a', method: 'POST', url: ENDPOINT, body: { model: 'm', messages: [] } };

const lineOf = (value: unknown, line = 1): InputLine => ({
  type: 'text',
  line,
  bytes: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
});

const check = () => createLineCheck({ endpoint: ENDPOINT, isModel: (name) => ['m', 'other'].includes(name) });

const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);

/** What a line says, with what it is refused: code, field, and the id that it is told by. */
const FAULTS: readonly (readonly [string, unknown, string, string | undefined, string | undefined])[] = [
  ['no JSON', '{"custom_id":"a"', 'invalid_json_line', undefined, undefined],
  ['a list', '[]', 'invalid_json_line', undefined, undefined],
  ['null', 'null', 'invalid_json_line', undefined, undefined],
  ['more values than any', `[${'0,'.repeat(200_001)}0]`, 'invalid_json_line', undefined, undefined],
  ['more levels than any', { ...GOOD, body: { model: 'm', x: deep(64) } }, 'invalid_json_line', undefined, undefined],
  ['no custom_id', { ...GOOD, custom_id: undefined }, 'missing_required_parameter', 'custom_id', undefined],
  ['null for a custom_id', { ...GOOD, custom_id: null }, 'missing_required_parameter', 'custom_id', undefined],
  ['a number for a custom_id', { ...GOOD, custom_id: 7 }, 'invalid_custom_id', 'custom_id', undefined],
  ['an empty custom_id', { ...GOOD, custom_id: '' }, 'invalid_custom_id', 'custom_id', undefined],
  ['too long a custom_id', { ...GOOD, custom_id: '🔑'.repeat(257) }, 'invalid_custom_id', 'custom_id', undefined],
  ['no method', { ...GOOD, method: undefined }, 'missing_required_parameter', 'method', 'a'],
  ['another method', { ...GOOD, method: 'GET' }, 'invalid_method', 'method', 'a'],
  ['no url', { ...GOOD, url: undefined }, 'missing_required_parameter', 'url', 'a'],
  ['an url that there is not', { ...GOOD, url: '/v1/chat/completion' }, 'url_not_found', 'url', 'a'],
  ["an url that is not the batch's", { ...GOOD, url: '/v1/embeddings' }, 'url_not_found', 'url', 'a'],
  ['no body', { ...GOOD, body: undefined }, 'missing_required_parameter', 'body', 'a'],
  ['a text for a body', { ...GOOD, body: '{}' }, 'invalid_parameter_error', 'body', 'a'],
  ['no model', { ...GOOD, body: {} }, 'missing_required_parameter', 'body.model', 'a'],
  ['a number for a model', { ...GOOD, body: { model: 1 } }, 'invalid_parameter_error', 'body.model', 'a'],
  ['an unknown model', { ...GOOD, body: { model: 'x' } }, 'model_not_found', 'body.model', 'a'],
  [
    'a wish for a stream',
    { ...GOOD, body: { model: 'm', stream: true } },
    'invalid_parameter_error',
    'body.stream',
    'a',
  ],
  [
    'a wish to wait for it',
    { ...GOOD, body: { model: 'm', background: true } },
    'invalid_parameter_error',
    'body.background',
    'a',
  ],
];

describe('a line of a batch', () => {
  it('is a task as it stands', () => {
    const read = check()(lineOf({ ...GOOD, body: { model: 'm', stream: false, background: null, x: deep(63) } }, 7));
    assert.ok(read.type === 'task');
    const { line, customId, model, body } = read.task;
    assert.deepEqual([line, customId, model, body['stream']], [7, 'a', 'm', false]);
  });

  it('may have the longest custom_id', () => {
    assert.equal(check()(lineOf({ ...GOOD, custom_id: '🔑'.repeat(256) })).type, 'task');
  });

  for (const [what, value, code, param, customId] of FAULTS) {
    it(`is refused with ${what}`, () => {
      const read = check()(lineOf(value));
      assert.ok(read.type === 'fault');
      assert.deepEqual([read.fault.code, read.fault.param, read.customId], [code, param, customId]);
    });
  }

  it('that cannot be read says why', () => {
    const read = check()({ type: 'unreadable', line: 1, why: 'It is too long.' });
    assert.deepEqual(read, {
      type: 'fault',
      customId: undefined,
      fault: { code: 'invalid_json_line', message: 'It is too long.', param: undefined },
    });
  });

  it('names the url that it cannot have, in the words that clients know', () => {
    const read = check()(lineOf({ ...GOOD, url: '/v1/chat/completion' }));
    assert.ok(read.type === 'fault');
    assert.match(read.fault.message, /^The provided url '\/v1\/chat\/completion' is not supported by the Batch API\./);
  });
});

describe('lines beside each other', () => {
  const codes = (values: readonly unknown[]): readonly string[] => {
    const checked = check();
    return values.map((value) => {
      const read = checked(lineOf(value));
      return read.type === 'task' ? read.task.customId : read.fault.code;
    });
  };

  it('have each a custom_id of its own, also where an earlier line was refused', () => {
    const b = { ...GOOD, custom_id: 'b' };
    assert.deepEqual(codes([GOOD, b, GOOD, { ...b, method: 'GET' }]), [
      'a',
      'b',
      'duplicate_custom_id',
      'duplicate_custom_id',
    ]);
    assert.deepEqual(codes([{ ...GOOD, method: 'GET' }, GOOD]), ['invalid_method', 'duplicate_custom_id']);
  });

  it('have all the model of the first that there is', () => {
    const of = (custom_id: string, model: string) => ({ ...GOOD, custom_id, body: { model } });
    assert.deepEqual(codes([of('a', 'x'), of('b', 'm'), of('c', 'other'), of('d', 'm')]), [
      'model_not_found',
      'b',
      'mismatched_model',
      'd',
    ]);
  });
});
