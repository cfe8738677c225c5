import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scaleInputSize } from '../../../test/property-runs.ts';
import { getDocumentMetadata } from './document-metadata.ts';

const NOW = Date.UTC(2026, 6, 1);
const CHANGED = Date.UTC(2026, 5, 1);

const getMetadata = (
  kind: string,
  text: string,
  { reference = 'guides/first-steps.md', changedAt = CHANGED, head = text } = {},
) => getDocumentMetadata({ kind, text, head: Buffer.from(head), reference, changedAt }, NOW);

describe('document metadata', () => {
  const titles: readonly [string, string, string][] = [
    ['markdown', '# The *blue* `whale` #\n\ntext', 'The blue whale'],
    ['markdown', 'text before\n\n## [Frogs](https://a.test/x) ![badge](y.svg)\n', 'Frogs'],
    ['markdown', 'Toads\n=====\ntext', 'Toads'],
    ['markdown', '<h1 align="center">Newts</h1>', 'Newts'],
    ['markdown', '---\ntitle: "Eels: a life"\ndate: 2024-03-01\n---\n# Other', 'Eels: a life'],
    ['markdown', 'no heading at all', 'guides/first-steps'],
    ['text', '# no heading in a plain text', 'guides/first-steps'],
    ['docx', '# Report 3\n', 'Report 3'],
  ];
  for (const [kind, text, title] of titles) {
    it(`finds the title ${title} in ${kind}`, () => assert.equal(getMetadata(kind, text).title, title));
  }

  it('uses the title of an HTML page', () => {
    const head = '<html><head><TITLE>Frogs</TITLE></head>';
    assert.equal(getMetadata('html', 'Frogs\n\n# Heading', { head }).title, 'Frogs');
    assert.equal(getMetadata('html', 'Intro\n\n# Heading', { head: '<html><body>' }).title, 'Heading');
  });

  it('uses the stated publication date, else the modification time', () => {
    assert.equal(getMetadata('markdown', '---\ndate: 2024-03-01\n---\n').publishedAt, Date.UTC(2024, 2, 1));
    assert.equal(
      getMetadata('markdown', '---\ndate: 2024-03-01 10:00:00 +02:00\n---\n').publishedAt,
      Date.UTC(2024, 2, 1, 8),
    );
    assert.equal(getMetadata('markdown', '---\ndate: next week\n---\n').publishedAt, CHANGED);
    assert.equal(getMetadata('text', 'x').publishedAt, CHANGED);
    const head = '<meta content="2023-01-02T03:04:05Z" property="article:published_time">';
    assert.equal(getMetadata('html', 'x', { head }).publishedAt, Date.UTC(2023, 0, 2, 3, 4, 5));
  });

  it('ignores an implausible modification time', () => {
    assert.equal(getMetadata('text', 'x', { changedAt: Date.UTC(1985, 9, 26) }).publishedAt, undefined);
    assert.equal(getMetadata('text', 'x', { changedAt: 0 }).publishedAt, undefined);
    assert.equal(getMetadata('text', 'x', { changedAt: NOW + 1 }).publishedAt, undefined);
  });

  it('takes bounded time and returns a bounded title for any start of a document', () => {
    const before = process.cpuUsage();
    for (const hostile of ['[', '![', '<', '#', '# ', '---\n', 'a: b\n', '\n', '<meta ', '=\n', 'x\n'])
      for (const kind of ['markdown', 'html'])
        assert.ok(getMetadata(kind, hostile.repeat(scaleInputSize(100_000))).title.length <= 200);
    const { user } = process.cpuUsage(before);
    assert.ok(user < 5_000_000, `it took ${user / 1000} ms`);
  });
});
