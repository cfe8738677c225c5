import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createSseParser, escapeLineSeparators, encodeSseComment, encodeSseData } from './sse.ts';

const SIZE_MAX = 1000;

const cut = (text: string, sizes: readonly number[]): string[] => {
  const pieces: string[] = [];
  let from = 0;
  for (const size of sizes) {
    pieces.push(text.slice(from, from + size));
    from += size;
  }
  return [...pieces, text.slice(from)];
};

const parse = (pieces: readonly string[]) => {
  const parser = createSseParser({ sizeMax: SIZE_MAX });
  return pieces.flatMap((piece) => parser.push(piece));
};

describe('createSseParser', () => {
  it('finds the same frames for any division of the text into chunks', () => {
    const line = fc.constantFrom(
      'data: a',
      'data:b',
      'data',
      'event: e',
      'id: 7',
      ': note',
      'other: x',
      'data:  two',
      '',
      '',
    );
    const end = fc.constantFrom('\n', '\r', '\r\n');
    fc.assert(
      fc.property(fc.array(fc.tuple(line, end)), fc.array(fc.nat({ max: 6 })), (lines, sizes) => {
        // One more byte: a final CR waits for an LF that may follow.
        const text = `${lines.map((pair) => pair.join('')).join('')}x`;
        assert.deepEqual(parse(cut(text, sizes)), parse([text]));
      }),
    );
  });

  it('finds an empty line whose CR ends a chunk', () => {
    assert.deepEqual(parse(['data', '\n\r', 'x']), [{ data: '' }]);
    assert.deepEqual(parse(['data: a\r', '\n\r', '\ndata: b\r\r', 'x']), [{ data: 'a' }, { data: 'b' }]);
  });

  it('parses fields as browsers do', () => {
    assert.deepEqual(parse(['event: e\nid: 1\ndata: a\ndata:b\n\n: note\nretry: 5\n\nevent: lonely\n\ndata\n\n']), [
      { event: 'e', id: '1', data: 'a\nb' },
      { data: '' },
    ]);
    assert.deepEqual(parse(['data: half']), []);
  });

  it('rejects a frame above sizeMax, as one line and as many lines', () => {
    assert.throws(() => parse(['data: ', 'x'.repeat(SIZE_MAX)]), RangeError);
    assert.throws(() => parse(Array.from({ length: SIZE_MAX }, () => 'data: x\n')), RangeError);
    for (const name of ['data', 'event', 'id'])
      assert.throws(() => parse([`${name}: ${'x'.repeat(SIZE_MAX + 1)}\ndata: x\n\n`]), RangeError, name);
    assert.equal(parse(Array.from({ length: SIZE_MAX }, () => 'data: x\n\n')).length, SIZE_MAX);
  });
});

describe('encoding of server-sent events', () => {
  it('encodes any data as one frame without other fields', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('\n', '\r', ':', ' ', 'd', 'data: x', 'event: e', 'id: 1') }),
        (data) => {
          const frames = parse([encodeSseData(data), encodeSseData('next')]);
          assert.deepEqual(frames, [{ data: data.replaceAll(/\r\n|\r/g, '\n') }, { data: 'next' }]);
        },
      ),
    );
  });

  it('omits the space for the dialect without one', () => {
    assert.equal(encodeSseData('{"a":1}', ''), 'data:{"a":1}\n\n');
    assert.equal(encodeSseData('a\nb', ''), 'data:a\ndata:b\n\n');
  });

  it('removes all line separators from JSON without changing its value', () => {
    /** Characters that end a line in Python's `splitlines`. */
    const ends = '\n\r\v\f\u001c\u001d\u001e\u0085\u2028\u2029';
    const endsIn = (json: string): number => [...json].filter((character) => ends.includes(character)).length;
    const words = fc.string({
      unit: fc.oneof(fc.constantFrom('\u0085', '\u2028', '\u2029', '\n', '\\', '"'), fc.string()),
    });
    fc.assert(
      // Pairs instead of objects: V8's JSON.parse confuses some keys with escapes with keys it has parsed before
      // (nodejs/node issue 63785).
      fc.property(fc.array(fc.tuple(words, words)), (value) => {
        const json = escapeLineSeparators(JSON.stringify(value));
        assert.equal(endsIn(json), 0);
        assert.deepEqual(JSON.parse(json), value);
        assert.equal(endsIn(encodeSseData(json)), 2);
      }),
    );
    const text = 'a\u0085b\u2028c\u2029d\\u2028 \ud83c\udf0a';
    assert.equal(
      escapeLineSeparators(JSON.stringify({ text })),
      '{"text":"a\\u0085b\\u2028c\\u2029d\\\\u2028 \ud83c\udf0a"}',
    );
  });

  it('returns JSON without such characters unchanged', () => {
    const json = '{"text":"Hello, w\u00f6rld. \u4f60\u597d"}';
    assert.equal(escapeLineSeparators(json), json);
  });

  it('encodes a comment as one line, which readers skip', () => {
    assert.deepEqual(parse([encodeSseComment('a\ndata: forged\r\n\r\n'), encodeSseData('b')]), [{ data: 'b' }]);
  });
});
