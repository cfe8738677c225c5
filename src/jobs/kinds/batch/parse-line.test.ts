import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLineValidator } from './parse-line.ts';
import type { InputLine } from './read-lines.ts';

const ENDPOINT = '/v1/chat/completions';
const VALID = { custom_id: 'a', method: 'POST', url: ENDPOINT, body: { model: 'm', messages: [] } };

const createLine = (value: unknown, line = 1): InputLine => ({
  type: 'text',
  line,
  bytes: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
});

const createTestValidator = () =>
  createLineValidator({ endpoint: ENDPOINT, isModel: (name) => ['m', 'other'].includes(name) });

const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);

/** Invalid lines with the expected error code, field and custom_id. */
const INVALID_LINES: readonly (readonly [string, unknown, string, string | undefined, string | undefined])[] = [
  ['invalid JSON', '{"custom_id":"a"', 'invalid_json_line', undefined, undefined],
  ['a list', '[]', 'invalid_json_line', undefined, undefined],
  ['null', 'null', 'invalid_json_line', undefined, undefined],
  ['too many values', `[${'0,'.repeat(200_001)}0]`, 'invalid_json_line', undefined, undefined],
  ['too many levels', { ...VALID, body: { model: 'm', x: deep(64) } }, 'invalid_json_line', undefined, undefined],
  ['no custom_id', { ...VALID, custom_id: undefined }, 'missing_required_parameter', 'custom_id', undefined],
  ['custom_id null', { ...VALID, custom_id: null }, 'missing_required_parameter', 'custom_id', undefined],
  ['a number as custom_id', { ...VALID, custom_id: 7 }, 'invalid_custom_id', 'custom_id', undefined],
  ['an empty custom_id', { ...VALID, custom_id: '' }, 'invalid_custom_id', 'custom_id', undefined],
  [
    'a custom_id that is too long',
    { ...VALID, custom_id: '🔑'.repeat(257) },
    'invalid_custom_id',
    'custom_id',
    undefined,
  ],
  ['no method', { ...VALID, method: undefined }, 'missing_required_parameter', 'method', 'a'],
  ['another method', { ...VALID, method: 'GET' }, 'invalid_method', 'method', 'a'],
  ['no url', { ...VALID, url: undefined }, 'missing_required_parameter', 'url', 'a'],
  ['an unknown url', { ...VALID, url: '/v1/chat/completion' }, 'url_not_found', 'url', 'a'],
  ["a url other than the batch's", { ...VALID, url: '/v1/embeddings' }, 'url_not_found', 'url', 'a'],
  ['no body', { ...VALID, body: undefined }, 'missing_required_parameter', 'body', 'a'],
  ['a string as body', { ...VALID, body: '{}' }, 'invalid_parameter_error', 'body', 'a'],
  ['no model', { ...VALID, body: {} }, 'missing_required_parameter', 'body.model', 'a'],
  ['a number as model', { ...VALID, body: { model: 1 } }, 'invalid_parameter_error', 'body.model', 'a'],
  ['an unknown model', { ...VALID, body: { model: 'x' } }, 'model_not_found', 'body.model', 'a'],
  [
    'stream set to true',
    { ...VALID, body: { model: 'm', stream: true } },
    'invalid_parameter_error',
    'body.stream',
    'a',
  ],
  [
    'background set to true',
    { ...VALID, body: { model: 'm', background: true } },
    'invalid_parameter_error',
    'body.background',
    'a',
  ],
];

describe('createLineValidator, one line', () => {
  it('accepts a valid line', () => {
    const parsed = createTestValidator()(
      createLine({ ...VALID, body: { model: 'm', stream: false, background: null, x: deep(63) } }, 7),
    );
    assert.ok(parsed.type === 'valid');
    const { line, customId, model, body } = parsed.batchLine;
    assert.deepEqual([line, customId, model, body['stream']], [7, 'a', 'm', false]);
  });

  it('accepts a custom_id of the maximum length', () => {
    assert.equal(createTestValidator()(createLine({ ...VALID, custom_id: '🔑'.repeat(256) })).type, 'valid');
  });

  for (const [what, value, code, param, customId] of INVALID_LINES) {
    it(`rejects ${what}`, () => {
      const parsed = createTestValidator()(createLine(value));
      assert.ok(parsed.type === 'invalid');
      assert.deepEqual([parsed.error.code, parsed.error.param, parsed.customId], [code, param, customId]);
    });
  }

  it('reports why a line is unreadable', () => {
    const parsed = createTestValidator()({ type: 'unreadable', line: 1, reason: 'It is too long.' });
    assert.deepEqual(parsed, {
      type: 'invalid',
      customId: undefined,
      error: { code: 'invalid_json_line', message: 'It is too long.', param: undefined },
    });
  });

  it('names an unsupported url in the message that clients know', () => {
    const parsed = createTestValidator()(createLine({ ...VALID, url: '/v1/chat/completion' }));
    assert.ok(parsed.type === 'invalid');
    assert.match(
      parsed.error.message,
      /^The provided url '\/v1\/chat\/completion' is not supported by the Batch API\./,
    );
  });
});

describe('createLineValidator, several lines', () => {
  const codes = (values: readonly unknown[]): readonly string[] => {
    const validate = createTestValidator();
    return values.map((value) => {
      const parsed = validate(createLine(value));
      return parsed.type === 'valid' ? parsed.batchLine.customId : parsed.error.code;
    });
  };

  it('rejects a repeated custom_id, even of an invalid line', () => {
    const b = { ...VALID, custom_id: 'b' };
    assert.deepEqual(codes([VALID, b, VALID, { ...b, method: 'GET' }]), [
      'a',
      'b',
      'duplicate_custom_id',
      'duplicate_custom_id',
    ]);
    assert.deepEqual(codes([{ ...VALID, method: 'GET' }, VALID]), ['invalid_method', 'duplicate_custom_id']);
  });

  it('requires the model of the first line that has a known model', () => {
    const of = (custom_id: string, model: string) => ({ ...VALID, custom_id, body: { model } });
    assert.deepEqual(codes([of('a', 'x'), of('b', 'm'), of('c', 'other'), of('d', 'm')]), [
      'model_not_found',
      'b',
      'mismatched_model',
      'd',
    ]);
  });
});
