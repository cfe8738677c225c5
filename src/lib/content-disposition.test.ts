import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachmentOf, readDisposition } from './content-disposition.ts';

const utf8 = (text: string) => Buffer.from(text).toString('latin1');
const nameIn = (rest: string) => readDisposition(`form-data; name="f"; ${rest}`)?.parameters.get('filename');

const sent: readonly (readonly [string, string, string | undefined])[] = [
  ['curl', 'filename="a b.txt"', 'a b.txt'],
  ['a browser, with a quotation mark', 'filename="a%22b.txt"', 'a"b.txt'],
  ['curl of before, with a quotation mark', String.raw`filename="a\"b\\c.txt"`, String.raw`a"b\c.txt`],
  ['a browser of Windows', String.raw`filename="C:\dir\a.txt"`, String.raw`C:\dir\a.txt`],
  ['a client with UTF-8', utf8('filename="ü 日本.txt"'), 'ü 日本.txt'],
  ['a client with latin1', 'filename="\xfc.txt"', 'ü.txt'],
  ['a client with RFC 8187', "filename*=UTF-8''%C3%BC.txt", 'ü.txt'],
  ['both, of which the better one counts', `filename*=utf-8'de'%C3%BC.txt; filename="u.txt"`, 'ü.txt'],
  ['a broken RFC 8187 beside a plain one', `filename="u.txt"; filename*=UTF-8''%C3`, 'u.txt'],
  ['a percent sign that escapes nothing', 'filename="100%25.txt"', '100%25.txt'],
  ['a semicolon and an equals sign', 'filename="a;b=c.txt"', 'a;b=c.txt'],
  ['no quotation marks', 'filename=a.txt', 'a.txt'],
  ['an empty name', 'filename=""', ''],
  ['no file', 'x=1', undefined],
];
for (const [who, rest, name] of sent)
  test(`a name is read as it was meant by ${who}`, () => assert.equal(nameIn(rest), name));

test('what cannot be read is not guessed', () => {
  for (const header of [
    '',
    '"x"',
    'form-data; name="f',
    'form-data; name="f" filename="x"',
    'form-data; =1',
    'form-data; a b',
  ]) {
    assert.equal(readDisposition(header), undefined, header);
  }
});

test('long headers are read in no more than their length', () => {
  for (const header of [
    `form-data${' '.repeat(2e5)}x`,
    `form-data; a="${'\\'.repeat(2e5)}`,
    `form-data${'; '.repeat(1e5)}x`,
  ]) {
    // Of this thread alone: what others do on the machine does not count.
    const before = process.threadCpuUsage();
    readDisposition(header);
    assert.ok(process.threadCpuUsage(before).user < 1_000_000);
  }
});

test('a name in a header is no more than a name there', () => {
  assert.equal(attachmentOf('a b.txt'), `attachment; filename="a b.txt"; filename*=UTF-8''a%20b.txt`);
  assert.equal(
    attachmentOf('"; filename=x\r\nset-cookie: a=b\u0000€\\%41(\ud800).html'),
    `attachment; filename="_; filename=x__set-cookie: a=b____41(_).html"; filename*=UTF-8''%22%3B%20filename%3Dx%0D%0Aset-cookie%3A%20a%3Db%00%E2%82%AC%5C%2541%28%EF%BF%BD%29.html`,
  );
});
