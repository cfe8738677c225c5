import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LineResult } from '../../../core/batch.ts';
import { validate } from './validate.ts';

const lineOf = (custom_id: string, url = '/v1/completions', model = 'm'): string =>
  `${JSON.stringify({ custom_id, method: 'POST', url, body: { model } })}\n`;

async function look(text: string, endpoint = '/v1/completions') {
  async function* input(): AsyncGenerator<Uint8Array> {
    yield Uint8Array.from(Buffer.from(text));
  }
  const results: LineResult[] = [];
  const faults = { add: async (result: LineResult) => void results.push(result), flush: async () => undefined };
  const { signal } = new AbortController();
  const needs = { endpoint, isModel: (name: string) => name === 'm', ids: { request: () => 'RID' }, faults, signal };
  return { validated: await validate(input(), needs), faults: results };
}

describe('an input', () => {
  it('with a good line is good: its model, how many lines it has, and what became of the others', async () => {
    const { validated, faults } = await look(`\n{\n${lineOf('a')}${lineOf('a')}\n${lineOf('b')}`);
    assert.deepEqual(validated, { type: 'good', model: 'm', total: 4 });
    assert.deepEqual(
      faults.map(({ line, kind }) => [line, kind]),
      [
        [2, 'error'],
        [4, 'error'],
      ],
    );
  });

  it('without a good line is bad, and says why line by line', async () => {
    const { validated } = await look(`{\n${lineOf('a', '/v1/chat/completion')}`);
    assert.ok(validated.type === 'bad');
    assert.deepEqual(
      validated.problems.map(({ code, param, line }) => [code, param, line]),
      [
        ['invalid_json_line', undefined, 1],
        ['url_not_found', 'url', 2],
      ],
    );
  });

  it('names a hundred of its faults', async () => {
    const { validated, faults } = await look('{\n'.repeat(150));
    assert.ok(validated.type === 'bad');
    assert.deepEqual([validated.problems.length, faults.length], [100, 150]);
  });

  for (const text of ['', '\n \r\n', '\ufeff'])
    it(`that is ${JSON.stringify(text)} is empty`, async () => {
      const { validated } = await look(text);
      assert.deepEqual(validated, {
        type: 'bad',
        problems: [{ code: 'empty_file', message: 'The input file has no lines.' }],
      });
    });

  it('may have 50,000 lines and no more', async () => {
    const text = Array.from({ length: 50_000 }, (_, at) => lineOf(String(at))).join('');
    assert.deepEqual((await look(text)).validated, { type: 'good', model: 'm', total: 50_000 });
    assert.deepEqual((await look(`${text}{`)).validated, {
      type: 'bad',
      problems: [{ code: 'too_many_lines', message: 'The input file has more than 50000 lines.' }],
    });
  });

  it('of a dry run has a model of its own, and 100 lines at most', async () => {
    const line = (at: number): string => lineOf(String(at), '/v1/chat/ds-test', 'batch-test-model');
    const lines = Array.from({ length: 100 }, (_, at) => line(at));
    const dry = (text: string) => look(text, '/v1/chat/ds-test').then(({ validated }) => validated);
    assert.deepEqual(await dry(lines.join('')), { type: 'good', model: 'batch-test-model', total: 100 });
    const many = await dry([...lines, line(100)].join(''));
    assert.ok(many.type === 'bad' && many.problems[0]?.code === 'too_many_lines');
    const other = await dry(lineOf('a', '/v1/chat/ds-test', 'm'));
    assert.ok(other.type === 'bad' && other.problems[0]?.code === 'model_not_found');
    assert.equal((await look(lineOf('a', '/v1/completions', 'batch-test-model'))).validated.type, 'bad');
  });
});
