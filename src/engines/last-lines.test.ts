import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { collectLastLines } from './last-lines.ts';

describe('collectLastLines', () => {
  const lastLines = (chunks: readonly (string | Buffer)[], hidden?: readonly string[]): readonly string[] => {
    const output = new PassThrough();
    const lines = collectLastLines(output, hidden);
    // A stream notifies its listeners synchronously.
    for (const chunk of chunks) output.emit('data', Buffer.from(chunk));
    return lines.getLines();
  };

  it('joins chunks, also inside a character, and includes the unfinished line', () => {
    const bytes = Buffer.from('grüße\nloading');
    assert.deepEqual(lastLines([bytes.subarray(0, 3), bytes.subarray(3)]), ['grüße', 'loading']);
  });

  it('keeps twenty lines of bounded length', () => {
    const lines = lastLines([
      Array.from({ length: 50 }, (_, index) => `line ${index}\n`).join(''),
      'x'.repeat(100_000),
      '\n',
    ]);
    assert.equal(lines.length, 20);
    assert.equal(lines[0], 'line 31');
    assert.equal(lines.at(-1)?.length, 500);
  });

  it('counts the updates of a progress bar as lines', () => {
    assert.deepEqual(lastLines(['10 %\r20 %\r', '30 %']), ['10 %', '20 %', '30 %']);
  });

  it('replaces secrets, also those split across two chunks', () => {
    assert.deepEqual(lastLines(['api_key=se', 'cret other\n'], ['secret', '']), ['api_key=[hidden] other']);
  });
});
