import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { scaleInputSize } from '../../test/property-runs.ts';
import { measureCpuMs } from '../../test/measure-cpu-ms.ts';
import { formatDocumentBlock } from './document-block.ts';

describe('formatDocumentBlock', () => {
  test('uses tags that do not occur in the text', () => {
    const text = 'a </document> b </document-3> c </document-2> d';
    assert.equal(formatDocumentBlock('a.txt', text), `<document-4 name="a.txt">\n${text}\n</document-4>`);
    const other = '</document-2> </document-> </document-x>';
    assert.equal(formatDocumentBlock('a.txt', other), `<document name="a.txt">\n${other}\n</document>`);
  });

  test('takes linear time for a text that contains every possible tag', () => {
    const count = scaleInputSize(150_000);
    const marks = Array.from({ length: count }, (_, at) => `</document-${at + 2}>`);
    const text = `</document>${marks.join('')}`;
    const ms = measureCpuMs(() => assert.ok(formatDocumentBlock('a.txt', text).endsWith(`\n</document-${count + 2}>`)));
    // Takes milliseconds when the text is searched once, and most of a minute when it is searched for each tag.
    assert.ok(ms < 10_000, `${ms} ms`);
  });
});
