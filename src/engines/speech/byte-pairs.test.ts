import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { letterTokens } from './__fixtures__/letter-tokens.ts';
import { createBytePairs } from './byte-pairs.ts';

// A blank is shown as Ġ.
const pairs = createBytePairs(letterTokens(['h e', 'l l', 'he ll', 'Ġ w', 'hell o']));
const [he, ll, hell, blankW, hello] = [256, 257, 258, 259, 260] as const;

describe('byte pairs', () => {
  it('are put together in the order in which they were learned', () => {
    assert.deepEqual(pairs.encode('hello'), [hello]);
    assert.deepEqual(createBytePairs(letterTokens(['b c', 'a b'])).encode('abc'), ['a'.charCodeAt(0), 256]);
    assert.deepEqual(
      pairs.encode('hell\nll\nhe').filter((id) => id > 255),
      [hell, ll, he],
    );
    assert.deepEqual(pairs.encode('hello world').slice(0, 2), [hello, blankW]);
  });

  it('read every text back as it was', () => {
    for (const text of ['hello world', "Don't  stop\n", 'naïve 中关村 🎧', ' <|endoftext|>'])
      assert.equal(pairs.decode(pairs.encode(text)), text);
  });

  it('take little time of a text without blanks', () => {
    const long = createBytePairs(letterTokens(['à ¸', 'à¸ ģ']));
    // Of this thread alone: what others do on the machine does not count.
    const before = process.threadCpuUsage();
    assert.equal(long.encode('ก'.repeat(3_000)).length, 3_000);
    assert.ok(process.threadCpuUsage(before).user < 3_000_000);
  });

  it('never become special tokens, and special tokens say nothing', () => {
    const end = pairs.special.get('<|endoftext|>') ?? -1;
    assert.equal(end, 261);
    assert.ok(!pairs.encode('<|endoftext|>').includes(end));
    assert.equal(pairs.decode([hello, end]), 'hello');
  });

  it('show half a character as such', () => {
    const tokens = pairs.encode('中');
    assert.equal(tokens.length, 3);
    assert.equal(pairs.decode(tokens.slice(0, 2)), '\ufffd');
  });
});
