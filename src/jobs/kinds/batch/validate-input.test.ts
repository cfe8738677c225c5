import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLine, validateText } from './__fixtures__/validate-text.ts';

describe('validateInput', () => {
  it('accepts an input with a valid line and stores errors for the others', async () => {
    const { validation, errors } = await validateText(`\n{\n${createLine('a')}${createLine('a')}\n${createLine('b')}`);
    assert.deepEqual(validation, { type: 'valid', model: 'm', total: 4 });
    assert.deepEqual(
      errors.map(({ line, kind }) => [line, kind]),
      [
        [2, 'error'],
        [4, 'error'],
      ],
    );
  });

  it('rejects an input without a valid line, with a problem per line', async () => {
    const { validation } = await validateText(`{\n${createLine('a', '/v1/chat/completion')}`);
    assert.ok(validation.type === 'invalid');
    assert.deepEqual(
      validation.problems.map(({ code, param, line }) => [code, param, line]),
      [
        ['invalid_json_line', undefined, 1],
        ['url_not_found', 'url', 2],
      ],
    );
  });

  it('lists at most 100 problems', async () => {
    const { validation, errors } = await validateText('{\n'.repeat(150));
    assert.ok(validation.type === 'invalid');
    assert.deepEqual([validation.problems.length, errors.length], [100, 150]);
  });

  for (const text of ['', '\n \r\n', '\ufeff'])
    it(`rejects ${JSON.stringify(text)} as empty`, async () => {
      const { validation } = await validateText(text);
      assert.deepEqual(validation, {
        type: 'invalid',
        problems: [{ code: 'empty_file', message: 'The input file has no lines.' }],
      });
    });

  it('requires the test model and at most 100 lines in a dry run', async () => {
    const line = (at: number): string => createLine(String(at), '/v1/chat/ds-test', 'batch-test-model');
    const lines = Array.from({ length: 100 }, (_, at) => line(at));
    const dry = (text: string) => validateText(text, '/v1/chat/ds-test').then(({ validation }) => validation);
    assert.deepEqual(await dry(lines.join('')), { type: 'valid', model: 'batch-test-model', total: 100 });
    const many = await dry([...lines, line(100)].join(''));
    assert.ok(many.type === 'invalid' && many.problems[0]?.code === 'too_many_lines');
    const other = await dry(createLine('a', '/v1/chat/ds-test', 'm'));
    assert.ok(other.type === 'invalid' && other.problems[0]?.code === 'model_not_found');
    assert.equal(
      (await validateText(createLine('a', '/v1/completions', 'batch-test-model'))).validation.type,
      'invalid',
    );
  });
});
