import assert from 'node:assert/strict';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CODE_INPUTS_BYTES_MAX, CODE_INPUTS_MAX } from '../../core/limits.ts';
import { fileName, mediaTypeOf } from './code-files.ts';
import { findInputs } from './input-files.ts';
import { readReport } from './read-report.ts';

describe('names of files that programs make', () => {
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
    test(`${JSON.stringify(wished)} becomes ${name}`, () => assert.equal(fileName(wished, new Set()), name));
  }

  test('long ones are cut before their ending, and no two are the same', () => {
    const long = fileName(`${'x'.repeat(500)}.png`, new Set());
    assert.deepEqual([long.length, long.endsWith('.png')], [120, true]);
    assert.equal(fileName('a.txt', new Set(['a.txt', 'a-2.txt'])), 'a-3.txt');
    assert.doesNotMatch(fileName(`${'x'.repeat(115)}\u{1f600}\u{1f600}.png`, new Set()), /\p{C}/u);
  });

  test('what is not known is bytes', () => {
    assert.deepEqual([mediaTypeOf('a.PNG'), mediaTypeOf('a')], ['image/png', 'application/octet-stream']);
  });
});

describe('lines of a process', () => {
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
    test(`${line || 'nothing'} is no report`, () => assert.equal(readReport(line), undefined));
  }

  test('what is no text in a report is left out', () => {
    const line = JSON.stringify({
      nonce: 'a',
      type: 'done',
      outcome: { value: { toString: 1 }, error: 7, isCut: 'yes' },
    });
    assert.deepEqual(readReport(line), { nonce: 'a', type: 'done', outcome: { isCut: false } });
  });
});

describe('files of the caller', () => {
  const forever = new AbortController().signal;

  test('more of them or larger ones than there may be are refused before they are read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-inputs-'));
    try {
      const path = join(folder, 'a');
      await writeFile(path, 'abc');
      const many = Array.from({ length: CODE_INPUTS_MAX + 1 }, () => ({ name: 'a', path }));
      await assert.rejects(findInputs(many, forever), { kind: 'too-large' });
      await truncate(path, CODE_INPUTS_BYTES_MAX + 1);
      await assert.rejects(findInputs([{ name: 'a', path }], forever), { kind: 'too-large' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
