import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAttachmentHeader, parseContentDisposition } from './content-disposition.ts';

const utf8 = (text: string) => Buffer.from(text).toString('latin1');
const nameIn = (rest: string) => parseContentDisposition(`form-data; name="f"; ${rest}`)?.parameters.get('filename');

const sent: readonly (readonly [string, string, string | undefined])[] = [
  ['curl', 'filename="a b.txt"', 'a b.txt'],
  ['a browser, for a quotation mark', 'filename="a%22b.txt"', 'a"b.txt'],
  ['older versions of curl, for a quotation mark', String.raw`filename="a\"b\\c.txt"`, String.raw`a"b\c.txt`],
  ['a browser on Windows', String.raw`filename="C:\dir\a.txt"`, String.raw`C:\dir\a.txt`],
  ['a client with UTF-8', utf8('filename="ü 日本.txt"'), 'ü 日本.txt'],
  ['a client with latin1', 'filename="\xfc.txt"', 'ü.txt'],
  ['a client with RFC 8187', "filename*=UTF-8''%C3%BC.txt", 'ü.txt'],
  ['a client that sends both forms, and prefers RFC 8187', `filename*=utf-8'de'%C3%BC.txt; filename="u.txt"`, 'ü.txt'],
  [
    'a client whose RFC 8187 value is invalid, and uses the plain one',
    `filename="u.txt"; filename*=UTF-8''%C3`,
    'u.txt',
  ],
  ['a client that sends an unescaped percent sign', 'filename="100%25.txt"', '100%25.txt'],
  ['a client that sends a semicolon and an equals sign', 'filename="a;b=c.txt"', 'a;b=c.txt'],
  ['a client that sends no quotation marks', 'filename=a.txt', 'a.txt'],
  ['a client that sends an empty name', 'filename=""', ''],
  ['a client that sends no file name', 'x=1', undefined],
];
for (const [who, rest, name] of sent) test(`parses the file name of ${who}`, () => assert.equal(nameIn(rest), name));

test('returns undefined for an invalid header', () => {
  for (const header of [
    '',
    '"x"',
    'form-data; name="f',
    'form-data; name="f" filename="x"',
    'form-data; =1',
    'form-data; a b',
  ]) {
    assert.equal(parseContentDisposition(header), undefined, header);
  }
});

test('parses long headers in linear time', () => {
  for (const header of [
    `form-data${' '.repeat(2e5)}x`,
    `form-data; a="${'\\'.repeat(2e5)}`,
    `form-data${'; '.repeat(1e5)}x`,
  ]) {
    // CPU time of this thread alone: other load on the machine does not count.
    const before = process.threadCpuUsage();
    parseContentDisposition(header);
    assert.ok(process.threadCpuUsage(before).user < 1_000_000);
  }
});

test('createAttachmentHeader escapes names so that they cannot add parameters or headers', () => {
  assert.equal(createAttachmentHeader('a b.txt'), `attachment; filename="a b.txt"; filename*=UTF-8''a%20b.txt`);
  assert.equal(
    createAttachmentHeader('"; filename=x\r\nset-cookie: a=b\u0000€\\%41(\ud800).html'),
    `attachment; filename="_; filename=x__set-cookie: a=b____41(_).html"; filename*=UTF-8''%22%3B%20filename%3Dx%0D%0Aset-cookie%3A%20a%3Db%00%E2%82%AC%5C%2541%28%EF%BF%BD%29.html`,
  );
});
