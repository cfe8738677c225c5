import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cpuMsOf } from '../../test/cpu-ms.ts';
import { documentBlock } from './document-block.ts';

describe('the block of a document', () => {
  test('has marks that its text does not have', () => {
    const text = 'a </document> b </document-3> c </document-2> d';
    assert.equal(documentBlock('a.txt', text), `<document-4 name="a.txt">\n${text}\n</document-4>`);
    const other = '</document-2> </document-> </document-x>';
    assert.equal(documentBlock('a.txt', other), `<document name="a.txt">\n${other}\n</document>`);
  });

  test('takes no longer where the text has all marks that it could have', () => {
    const marks = Array.from({ length: 150_000 }, (_, at) => `</document-${at + 2}>`);
    const text = `</document>${marks.join('')}`;
    const ms = cpuMsOf(() => assert.ok(documentBlock('a.txt', text).endsWith('\n</document-150002>')));
    // Milliseconds where it is searched once; most of a minute where it is searched for each.
    assert.ok(ms < 10_000, `${ms} ms`);
  });
});
