import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { markdownToBlocks, markdownToLine } from './markdown-to-blocks.ts';

describe('markdownToBlocks', () => {
  it('leaves out headings, code, tables, menus and link URLs', () => {
    const text = [
      '---',
      '# Pump',
      '[![build](https://ci.example/b.svg)](https://ci.example)',
      'The pump moves water',
      'through **two** pipes.',
      '',
      '| a | b |',
      '|---|---|',
      '```sh',
      'run the pump.',
      '```',
      '    indented code here',
      'History',
      '-------',
      '* It was [built](https://example.com/a_(b)) in `1850`.',
      '1. It stands in Leeds.[3]',
      '[3]: https://example.com/notes',
    ].join('\n');
    assert.deepEqual(markdownToBlocks(text), [
      'The pump moves water through two pipes.',
      'It was built in 1850.',
      'It stands in Leeds.',
    ]);
  });

  it('separates a short heading line from the paragraph', () => {
    assert.deepEqual(markdownToBlocks('Overview\nThe pump moves water.'), ['Overview', 'The pump moves water.']);
  });

  it('finds paragraphs of a text that starts inside code', () => {
    const blocks = markdownToBlocks('const a = 1;\n```\n\nThe pump moves water.');
    assert.equal(blocks.at(-1), 'The pump moves water.');
  });

  it('keeps underscores and stars of names', () => {
    assert.equal(markdownToLine('`max_open_files` is 2 \\* 3 _at least_'), 'max_open_files is 2 * 3 at least');
  });

  it('removes citation marks', () => {
    assert.equal(
      markdownToLine('The mill has ground flour [[3]] since 1727 [1].'),
      'The mill has ground flour since 1727.',
    );
  });
});
