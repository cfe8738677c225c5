import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scaleInputSize } from '../../../test/property-runs.ts';
import { createTestTokenizerFile } from './__fixtures__/test-tokenizer-file.ts';
import { createBytePairTokenizer } from './byte-pair-tokenizer.ts';

// The tokenizer represents a space as Ġ.
const tokenizer = createBytePairTokenizer(createTestTokenizerFile(['h e', 'l l', 'he ll', 'Ġ w', 'hell o']));
const [he, ll, hell, blankW, hello] = [256, 257, 258, 259, 260] as const;

describe('BytePairTokenizer', () => {
  it('merges pairs by their rank', () => {
    assert.deepEqual(tokenizer.encode('hello'), [hello]);
    assert.deepEqual(createBytePairTokenizer(createTestTokenizerFile(['b c', 'a b'])).encode('abc'), [
      'a'.charCodeAt(0),
      256,
    ]);
    assert.deepEqual(
      tokenizer.encode('hell\nll\nhe').filter((id) => id > 255),
      [hell, ll, he],
    );
    assert.deepEqual(tokenizer.encode('hello world').slice(0, 2), [hello, blankW]);
  });

  it('decodes encoded texts unchanged', () => {
    for (const text of ['hello world', "Don't  stop\n", 'naïve 中关村 🎧', ' <|endoftext|>'])
      assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
  });

  it('encodes a long text without spaces quickly', () => {
    const long = createBytePairTokenizer(createTestTokenizerFile(['à ¸', 'à¸ ģ']));
    // CPU time of this thread only, so that other load on the machine does not matter.
    const before = process.threadCpuUsage();
    const length = scaleInputSize(3_000);
    assert.equal(long.encode('ก'.repeat(length)).length, length);
    assert.ok(process.threadCpuUsage(before).user < 3_000_000);
  });

  it('never encodes special tokens, and decodes them to nothing', () => {
    const end = tokenizer.specialTokens.get('<|endoftext|>') ?? -1;
    assert.equal(end, 261);
    assert.ok(!tokenizer.encode('<|endoftext|>').includes(end));
    assert.equal(tokenizer.decode([hello, end]), 'hello');
  });

  it('decodes an incomplete character to U+FFFD', () => {
    const tokens = tokenizer.encode('中');
    assert.equal(tokens.length, 3);
    assert.equal(tokenizer.decode(tokens.slice(0, 2)), '\ufffd');
  });
});
