import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createSseParser, escapeLineEnds, sseComment, sseData } from './sse.ts';

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

describe('the reader of server-sent events', () => {
  it('finds the same frames however the text is cut', () => {
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
        // One byte more: a CR at the very end waits for the LF that may follow.
        const text = `${lines.map((pair) => pair.join('')).join('')}x`;
        assert.deepEqual(parse(cut(text, sizes)), parse([text]));
      }),
    );
  });

  it('reads fields as browsers do', () => {
    assert.deepEqual(parse(['event: e\nid: 1\ndata: a\ndata:b\n\n: note\nretry: 5\n\nevent: lonely\n\ndata\n\n']), [
      { event: 'e', id: '1', data: 'a\nb' },
      { data: '' },
    ]);
    assert.deepEqual(parse(['data: half']), []);
  });

  it('refuses a frame that would fill the memory, as one line and as many', () => {
    assert.throws(() => parse(['data: ', 'x'.repeat(SIZE_MAX)]), RangeError);
    assert.throws(() => parse(Array.from({ length: SIZE_MAX }, () => 'data: x\n')), RangeError);
    assert.equal(parse(Array.from({ length: SIZE_MAX }, () => 'data: x\n\n')).length, SIZE_MAX);
  });
});

describe('the writer of server-sent events', () => {
  it('whatever the data, a reader gets it as one frame without other fields', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('\n', '\r', ':', ' ', 'd', 'data: x', 'event: e', 'id: 1') }),
        (data) => {
          const frames = parse([sseData(data), sseData('next')]);
          assert.deepEqual(frames, [{ data: data.replaceAll(/\r\n|\r/g, '\n') }, { data: 'next' }]);
        },
      ),
    );
  });

  it('leaves the blank out where the dialect has none', () => {
    assert.equal(sseData('{"a":1}', ''), 'data:{"a":1}\n\n');
    assert.equal(sseData('a\nb', ''), 'data:a\ndata:b\n\n');
  });

  it('JSON in a frame has no end of a line in it, whoever looks for one, and says the same', () => {
    /** Where Python ends a line. */
    const ends = '\n\r\v\f\u001c\u001d\u001e\u0085\u2028\u2029';
    const endsIn = (json: string): number => [...json].filter((character) => ends.includes(character)).length;
    const words = fc.string({
      unit: fc.oneof(fc.constantFrom('\u0085', '\u2028', '\u2029', '\n', '\\', '"'), fc.string()),
    });
    fc.assert(
      // Pairs and no maps: V8's own reader takes some keys with escapes for others that it has read before
      // (nodejs/node issue 63785), whatever stands in the text.
      fc.property(fc.array(fc.tuple(words, words)), (value) => {
        const json = escapeLineEnds(JSON.stringify(value));
        assert.equal(endsIn(json), 0);
        assert.deepEqual(JSON.parse(json), value);
        assert.equal(endsIn(sseData(json)), 2);
      }),
    );
    const text = 'a\u0085b\u2028c\u2029d\\u2028 \ud83c\udf0a';
    assert.equal(
      escapeLineEnds(JSON.stringify({ text })),
      '{"text":"a\\u0085b\\u2028c\\u2029d\\\\u2028 \ud83c\udf0a"}',
    );
  });

  it('JSON without such characters is left as it is', () => {
    const json = '{"text":"Hello, w\u00f6rld. \u4f60\u597d"}';
    assert.equal(escapeLineEnds(json), json);
  });

  it('a comment stays one line, and readers skip it', () => {
    assert.deepEqual(parse([sseComment('a\ndata: forged\r\n\r\n'), sseData('b')]), [{ data: 'b' }]);
  });
});
