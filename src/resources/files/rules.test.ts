import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cleanDescription, cleanName, grantBytes, parseSortKey } from './rules.ts';

const names: readonly (readonly [string, string, string])[] = [
  ['a plain one', 'report.pdf', 'report.pdf'],
  ['an absolute path', '/etc/passwd', 'passwd'],
  ['a path that leads up', '../../a.txt', 'a.txt'],
  ['a path of another system', 'C:\\Users\\me\\a.txt', 'a.txt'],
  ['nothing but a path', 'a/', 'file'],
  ['nothing', '', 'file'],
  ['two points', '..', 'file'],
  ['control characters', 'a\0b\r\nc\t\u007f.txt', 'abc.txt'],
  ['another direction', 'invoice\u202Egpj.exe', 'invoicegpj.exe'],
  ['marks that cannot be seen', '\ufeffa\u200b\u2066b\u00ad.txt', 'ab.txt'],
  ['a letter and its accent', 'e\u0301.txt', '\u00e9.txt'],
  ['half of a character', 'a\ud800.txt', 'a\ufffd.txt'],
  ['a family', '👩‍👩‍👧.png', '👩‍👩‍👧.png'],
  ['spaces around it', '  a b.txt ', 'a b.txt'],
  ['markup', '<img src=x onerror=y>.svg', '<img src=x onerror=y>.svg'],
  ['a full-width slash', 'a\uff0fb.txt', 'a\uff0fb.txt'],
  ['a hidden one', '.profile', '.profile'],
  ['a thousand characters', `${'😀'.repeat(1000)}.jsonl`, `${'😀'.repeat(249)}.jsonl`],
  ['a thousand characters behind a point', `a.${'b'.repeat(1000)}`, `a.${'b'.repeat(253)}`],
];
for (const [what, given, cleaned] of names) {
  test(`cleans a file name: ${what}`, () => assert.equal(cleanName(given), cleaned));
}

test('a description keeps line breaks, loses invisible characters, and is refused when too long', () => {
  assert.equal(cleanDescription('a\n\tb\0\u202e'), 'a\n\tb');
  assert.equal(Array.from(cleanDescription('🔑'.repeat(1000))).length, 1000);
  assert.throws(() => cleanDescription('x'.repeat(1001)), {
    kind: 'invalid-request',
    param: 'descriptions',
    message: 'descriptions must have at most 1000 characters, got 1001.',
  });
});

test('reserves as many bytes again as the file has, within bounds and a share of the rest', () => {
  const limits = { fileBytesMax: 1e12, totalBytesMax: 1e9, countMax: 1 };
  const grant = (needed: number, sizeBytes: number, used = 0) =>
    grantBytes({ neededBytes: needed, sizeBytes }, { files: 0, bytes: used }, limits);
  assert.equal(grant(0, 0), 65_536);
  assert.equal(grant(10, 1e6), 1e6);
  assert.equal(grant(10, 1e8), 16 * 1024 * 1024);
  assert.equal(grant(3e7, 3e7), 3e7);
  assert.equal(grant(10, 1e6, 1e9 - 1600), 100);
  assert.equal(grant(10, 1e6, 1e9 - 10), 10);
  assert.equal(grant(0, 0, 2e9), 0);
  assert.equal(grant(11, 1e6, 1e9 - 10), undefined);
});

test('parses the sort key of an id of any purpose', () => {
  assert.equal(parseSortKey('file-fe-00ff'), '00ff');
  assert.equal(parseSortKey('file-batch_output-00ff'), '00ff');
  assert.equal(parseSortKey('file-00ff'), '00ff');
  for (const other of ['', 'file-', 'conv_00ff', 'file-fe-00fg', "file-' or 1=1"])
    assert.equal(parseSortKey(other), undefined);
});
