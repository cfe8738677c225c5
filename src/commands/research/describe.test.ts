import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countWords, formatElapsed, hostOf, indexNameOf, oneLine, webAddress } from './describe.ts';
import { slugOf } from './report-files.ts';

describe('facts of a report', () => {
  it('counts words of any script, and no marks', () => {
    assert.equal(countWords('Whales sing, don’t they?[[12]]'), 4);
    assert.equal(countWords('鲸鱼会唱歌。'), 3);
  });

  it('tells times as people do', () => {
    assert.deepEqual([0, 59_400, 59_600, 192_000, 3_840_000].map(formatElapsed), [
      '0 s',
      '59 s',
      '1 min 0 s',
      '3 min 12 s',
      '1 h 4 min',
    ]);
  });

  it('knows addresses of the web from all others', () => {
    assert.equal(webAddress('HTTPS://www.A.test/ä'), 'https://www.a.test/%C3%A4');
    for (const url of ['javascript:alert(1)', 'parley-index:a/b.md', 'data:,x', 'file:///etc/passwd', '//a.test', ''])
      assert.equal(webAddress(url), undefined, url);
    assert.deepEqual(
      ['https://www.a.test:8080/x', 'parley-index:a/b.md', 'javascript:x'].map((url) => hostOf(url)),
      ['a.test:8080', 'local index', ''],
    );
  });

  it('names a document of the local index by the end of where it stands', () => {
    const urls = ['parley-index:a/b/%C3%A4%20c.md', 'parley-index:c.md', 'parley-index:%', 'https://a.test/b/c.md'];
    assert.deepEqual(urls.map(indexNameOf), ['b/ä c.md', 'c.md', '%', '']);
  });

  it('makes one harmless line of any text', () => {
    assert.equal(oneLine(' a\u001b[31m\n\tb\u202e '), 'a[31m b');
  });

  it('names files by the first words of a question, in its own script', () => {
    assert.equal(slugOf('What is ../../etc/passwd?'), 'what-is-etc-passwd');
    assert.equal(slugOf('鲸鱼为什么唱歌？'), '鲸鱼为什么唱歌');
    assert.equal(slugOf('?!'), 'report');
    assert.equal(slugOf('x'.repeat(500)), 'x'.repeat(30));
    assert.ok(slugOf('word '.repeat(50)).length <= 60);
  });
});
