import assert from 'node:assert/strict';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CODE_INPUTS_BYTES_MAX, CODE_INPUTS_MAX } from '../../core/limits.ts';
import { createUniqueFileName, getMediaType } from './code-files.ts';
import { prepareInputFiles } from './input-files.ts';
import { parseReport } from './parse-report.ts';

describe('createUniqueFileName', () => {
  for (const [wished, name] of [
    ['plot.png', 'plot.png'],
    ['../../etc/passwd', 'passwd'],
    ['..\\..\\boot.ini', 'boot.ini'],
    ['.hidden', 'hidden'],
    ['', 'file'],
    ['a\u0000b\n.txt', 'a_b_.txt'],
    ['\u202etxt.exe', '_txt.exe'],
    ['C:evil.txt', 'C_evil.txt'],
  ] as const) {
    test(`${JSON.stringify(wished)} becomes ${name}`, () =>
      assert.equal(createUniqueFileName(wished, new Set()), name));
  }

  test('truncates long names before the extension, and makes names unique', () => {
    const long = createUniqueFileName(`${'x'.repeat(500)}.png`, new Set());
    assert.deepEqual([long.length, long.endsWith('.png')], [120, true]);
    assert.equal(createUniqueFileName('a.txt', new Set(['a.txt', 'a-2.txt'])), 'a-3.txt');
    assert.doesNotMatch(createUniqueFileName(`${'x'.repeat(115)}\u{1f600}\u{1f600}.png`, new Set()), /\p{C}/u);
  });

  test('guesses the media type by the extension, or returns the type for any bytes', () => {
    assert.deepEqual([getMediaType('a.PNG'), getMediaType('a')], ['image/png', 'application/octet-stream']);
  });
});

describe('parseReport', () => {
  for (const line of [
    '',
    'x',
    'null',
    '[]',
    '{}',
    '{"nonce":1,"type":"ready"}',
    '{"nonce":"a","type":"other"}',
    '{"nonce":"a","type":"done"}',
  ]) {
    test(`returns undefined for ${line || 'an empty line'}`, () => assert.equal(parseReport(line), undefined));
  }

  test('drops fields of the wrong type', () => {
    const line = JSON.stringify({
      nonce: 'a',
      type: 'done',
      outcome: { value: { toString: 1 }, error: 7, isTruncated: 'yes' },
    });
    assert.deepEqual(parseReport(line), { nonce: 'a', type: 'done', outcome: { isTruncated: false } });
  });
});

describe('prepareInputFiles', () => {
  const NEVER_ABORTED = new AbortController().signal;

  test('refuses too many or too large files before reading them', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-inputs-'));
    try {
      const path = join(folder, 'a');
      await writeFile(path, 'abc');
      const many = Array.from({ length: CODE_INPUTS_MAX + 1 }, () => ({ name: 'a', path }));
      await assert.rejects(prepareInputFiles(many, NEVER_ABORTED), { kind: 'too-large' });
      await truncate(path, CODE_INPUTS_BYTES_MAX + 1);
      await assert.rejects(prepareInputFiles([{ name: 'a', path }], NEVER_ABORTED), { kind: 'too-large' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
