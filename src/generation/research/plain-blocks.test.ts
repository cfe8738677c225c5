import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { plainBlocks, plainLine } from './plain-blocks.ts';

describe('the paragraphs of a page', () => {
  it('leave out headings, code, tables, menus and addresses of links', () => {
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
    assert.deepEqual(plainBlocks(text), [
      'The pump moves water through two pipes.',
      'It was built in 1850.',
      'It stands in Leeds.',
    ]);
  });

  it('do not begin with a short line that is a heading', () => {
    assert.deepEqual(plainBlocks('Overview\nThe pump moves water.'), ['Overview', 'The pump moves water.']);
  });

  it('come out of a text that begins within code', () => {
    const blocks = plainBlocks('const a = 1;\n```\n\nThe pump moves water.');
    assert.equal(blocks.at(-1), 'The pump moves water.');
  });

  it('keep names with underscores and stars as they are', () => {
    assert.equal(plainLine('`max_open_files` is 2 \\* 3 _at least_'), 'max_open_files is 2 * 3 at least');
  });

  it('have no marks of reports either', () => {
    assert.equal(plainLine('The mill has ground flour [[3]] since 1727 [1].'), 'The mill has ground flour since 1727.');
  });
});
