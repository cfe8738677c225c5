import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { keepLastLines } from './last-lines.ts';

describe('the last lines of a program', () => {
  const said = (chunks: readonly (string | Buffer)[], hidden?: readonly string[]): readonly string[] => {
    const output = new PassThrough();
    const lines = keepLastLines(output, hidden);
    // A listener of a readable hears what it is told at once.
    for (const chunk of chunks) output.emit('data', Buffer.from(chunk));
    return lines.all();
  };

  it('are put together from pieces, characters in two included, and hold the unfinished one', () => {
    const bytes = Buffer.from('grüße\nloading');
    assert.deepEqual(said([bytes.subarray(0, 3), bytes.subarray(3)]), ['grüße', 'loading']);
  });

  it('are twenty, each of a bounded length', () => {
    const lines = said([
      Array.from({ length: 50 }, (_, index) => `line ${index}\n`).join(''),
      'x'.repeat(100_000),
      '\n',
    ]);
    assert.equal(lines.length, 20);
    assert.equal(lines[0], 'line 31');
    assert.equal(lines.at(-1)?.length, 500);
  });

  it('count what a progress bar writes over as lines', () => {
    assert.deepEqual(said(['10 %\r20 %\r', '30 %']), ['10 %', '20 %', '30 %']);
  });

  it('do not hold what is hidden, also where it came in two pieces', () => {
    assert.deepEqual(said(['api_key=se', 'cret other\n'], ['secret', '']), ['api_key=[hidden] other']);
  });
});
