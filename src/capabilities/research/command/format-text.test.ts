import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  countWords,
  formatElapsed,
  getSourceHost,
  getIndexDocumentName,
  toSingleLine,
  parseWebUrl,
} from './format-text.ts';
import { createSlug } from './report-files.ts';

describe('text formatting', () => {
  it('counts words of any script without citation marks', () => {
    assert.equal(countWords('Whales sing, don’t they?[[12]]'), 4);
    assert.equal(countWords('鲸鱼会唱歌。'), 3);
  });

  it('formats durations', () => {
    assert.deepEqual([0, 59_400, 59_600, 192_000, 3_840_000].map(formatElapsed), [
      '0 s',
      '59 s',
      '1 min 0 s',
      '3 min 12 s',
      '1 h 4 min',
    ]);
  });

  it('accepts only http and https URLs', () => {
    assert.equal(parseWebUrl('HTTPS://www.A.test/ä'), 'https://www.a.test/%C3%A4');
    for (const url of ['javascript:alert(1)', 'parley-index:a/b.md', 'data:,x', 'file:///etc/passwd', '//a.test', ''])
      assert.equal(parseWebUrl(url), undefined, url);
    assert.deepEqual(
      ['https://www.a.test:8080/x', 'parley-index:a/b.md', 'javascript:x'].map((url) => getSourceHost(url)),
      ['a.test:8080', 'local index', ''],
    );
  });

  it('names a document of the local index by folder and file', () => {
    const urls = ['parley-index:a/b/%C3%A4%20c.md', 'parley-index:c.md', 'parley-index:%', 'https://a.test/b/c.md'];
    assert.deepEqual(urls.map(getIndexDocumentName), ['b/ä c.md', 'c.md', '%', '']);
  });

  it('joins lines and removes control characters', () => {
    assert.equal(toSingleLine(' a\u001b[31m\n\tb\u202e '), 'a[31m b');
  });

  it('creates file names from the first words of a question in its script', () => {
    assert.equal(createSlug('What is ../../etc/passwd?'), 'what-is-etc-passwd');
    assert.equal(createSlug('鲸鱼为什么唱歌？'), '鲸鱼为什么唱歌');
    assert.equal(createSlug('?!'), 'report');
    assert.equal(createSlug('x'.repeat(500)), 'x'.repeat(30));
    assert.ok(createSlug('word '.repeat(50)).length <= 60);
  });
});
