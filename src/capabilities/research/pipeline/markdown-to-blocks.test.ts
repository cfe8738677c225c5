import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { markdownToBlocks, markdownToLine } from './markdown-to-blocks.ts';

const listTexts = (text: string): readonly string[] => markdownToBlocks(text).map((block) => block.text);

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
    assert.deepEqual(listTexts(text), [
      'The pump moves water through two pipes.',
      'It was built in 1850.',
      'It stands in Leeds.',
    ]);
  });

  it('takes the signature of a function as a heading, and no line of code with a placeholder', () => {
    const text = '# Pumps\n\npump.start(speed=2)¶\n\nThe pump starts to move water.\n\n# pump <N>\n\nThe pump stops.';
    assert.deepEqual(markdownToBlocks(text), [
      { text: 'The pump starts to move water.', headings: ['Pumps', 'pump.start(speed=2)'] },
      { text: 'The pump stops.', headings: ['Pumps', 'pump.start(speed=2)'] },
    ]);
  });

  it('returns the headings above a block, also short lines without a mark', () => {
    const text = '# Pumps\n\n## Water\n\nOverview\nThe pump moves water.\n\nHistory\n-------\nIt is old.';
    assert.deepEqual(markdownToBlocks(text), [
      { text: 'The pump moves water.', headings: ['Pumps', 'Water', 'Overview'] },
      { text: 'It is old.', headings: ['Pumps', 'History'] },
    ]);
  });

  it('does not join the lines of a text that is not wrapped', () => {
    const label = 'A description list has terms of some length before each of its descriptions';
    const line = `The pump moves water ${'and more water '.repeat(10)}every day.`;
    assert.deepEqual(listTexts(`${label}\n${line}\nThe tower stores it.`), [line, 'The tower stores it.']);
  });

  it('finds paragraphs of a text that starts inside code', () => {
    const blocks = listTexts('const a = 1;\n```\n\nThe pump moves water.');
    assert.equal(blocks.at(-1), 'The pump moves water.');
  });

  it('keeps underscores and stars of names', () => {
    assert.equal(markdownToLine('`max_open_files` is 2 \\* 3 _at least_'), 'max_open_files is 2 * 3 at least');
  });

  it('removes tags and keeps placeholders', () => {
    assert.equal(markdownToLine('It is <b class="x">reset</b> to <upstream>.<br/>'), 'It is reset to <upstream>.');
  });

  it('removes citation marks', () => {
    assert.equal(
      markdownToLine('The mill has ground flour [[3]] since 1727 [1].'),
      'The mill has ground flour since 1727.',
    );
  });

  it('takes linear time for headings with blanks and for unclosed comments', () => {
    const before = process.cpuUsage();
    for (const text of [
      `# a${' '.repeat(59_000)}b`,
      `#${' '.repeat(1_500)}a${' '.repeat(1_500)}\rb`,
      '<!--'.repeat(15_000),
    ])
      for (let run = 0; run < 10; run++) markdownToBlocks(text);
    assert.ok(process.cpuUsage(before).user < 10_000_000);
  });

  it('reads headings with closing marks', () => {
    const text = ['# Pump ##', '', 'It moves.', '', '## C++ ', '', 'It runs.', '', '### #', '', 'It ends.'].join('\n');
    assert.deepEqual(
      markdownToBlocks(text).map(({ headings }) => headings),
      [['Pump'], ['Pump', 'C++'], ['Pump', 'C++', '']],
    );
  });
});
