import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createSseParser } from '../../../lib/sse.ts';
import { readGoldenCases } from './__fixtures__/golden-cases.ts';
import { RECORDED_BODIES, listDifferences } from './__fixtures__/recorded-bodies.ts';

type Shape = keyof typeof RECORDED_BODIES;

/** Shapes that the bodies of each case may have. */
const SHAPES: Readonly<Record<string, { readonly whole: Shape; readonly streamed: readonly Shape[] }>> = {
  text: { whole: 'text', streamed: ['text'] },
  'text-incremental': { whole: 'text', streamed: ['text'] },
  message: { whole: 'message', streamed: ['message'] },
  'message-incremental': { whole: 'message', streamed: ['message'] },
  'explicit-cache': { whole: 'cached', streamed: ['message', 'cached'] },
  'empty-length': { whole: 'message', streamed: ['message'] },
  thinking: { whole: 'thought', streamed: ['thought'] },
  'thinking-cut': { whole: 'thought', streamed: ['thought'] },
  'thinking-unasked': { whole: 'thought', streamed: ['thought'] },
  'tool-calls': { whole: 'call', streamed: ['message', 'call', 'furtherCall'] },
  'tool-calls-cumulative': { whole: 'call', streamed: ['message', 'call'] },
  'thinking-tool-call': { whole: 'thoughtAndCall', streamed: ['thought', 'thoughtAndCall', 'furtherThoughtAndCall'] },
  logprobs: { whole: 'logprobs', streamed: ['logprobs'] },
  'logprobs-cumulative': { whole: 'logprobs', streamed: ['logprobs'] },
  choices: { whole: 'choices', streamed: ['choices'] },
  'choices-cumulative': { whole: 'choices', streamed: ['choices'] },
  multimodal: { whole: 'parts', streamed: ['parts'] },
  'multimodal-incremental': { whole: 'parts', streamed: ['parts'] },
  'multimodal-thinking': { whole: 'partsAndThought', streamed: ['partsAndThought'] },
  translation: { whole: 'translation', streamed: ['translation'] },
  'translation-incremental': { whole: 'translation', streamed: ['translation'] },
  'translation-length': { whole: 'translation', streamed: ['translation'] },
  search: { whole: 'searchedAtEnd', streamed: ['searched', 'message', 'searchedAtEnd'] },
  'search-text': { whole: 'searchedTextAtEnd', streamed: ['searchedText', 'text', 'searchedTextAtEnd'] },
  'search-cumulative': { whole: 'searchedAtEnd', streamed: ['searched', 'message', 'searchedAtEnd'] },
  'search-unsaid': { whole: 'counted', streamed: ['message', 'counted'] },
  'search-none': { whole: 'searched', streamed: ['message', 'searched'] },
  'search-prepended': { whole: 'searchedAtEnd', streamed: ['prepended', 'searched', 'searchedAtEnd'] },
  'search-rounds': { whole: 'thoughtSearchedAtEnd', streamed: ['thought', 'thoughtSearched', 'thoughtSearchedAtEnd'] },
  'search-rounds-prepended': {
    whole: 'thoughtSearchedAtEnd',
    streamed: ['prependedWithDomains', 'thoughtSearched', 'thoughtSearchedAtEnd'],
  },
  'code-interpreter': { whole: 'programs', streamed: ['thought', 'program', 'programsAtEnd'] },
  'multimodal-search': { whole: 'searchedPartsAtEnd', streamed: ['searchedParts', 'parts', 'searchedPartsAtEnd'] },
  'multimodal-tool-calls': { whole: 'partsAndCall', streamed: ['partsAndCall', 'partsAndFurtherCall'] },
};

for (const { name, getPath } of readGoldenCases()) {
  test(`${name} has exactly the recorded keys`, () => {
    const shapes = SHAPES[name];
    assert.ok(shapes, 'every case has an entry in SHAPES');
    assert.deepEqual(
      listDifferences(JSON.parse(readFileSync(getPath('response.json'), 'utf8')), RECORDED_BODIES[shapes.whole]),
      [],
    );
    const frames = createSseParser({ sizeMax: 1_000_000 }).push(readFileSync(getPath('stream.sse'), 'utf8'));
    for (const [position, { id, event, data }] of frames.entries()) {
      assert.deepEqual([id, event], [String(position + 1), 'result']);
      const body: unknown = JSON.parse(data);
      const found = shapes.streamed.map((shape) => listDifferences(body, RECORDED_BODIES[shape]));
      assert.ok(
        found.some((each) => each.length === 0),
        `${data}\n${found.join('\n')}`,
      );
    }
  });
}

test('listDifferences finds missing keys, unexpected keys and other types at any depth', () => {
  assert.deepEqual(listDifferences(RECORDED_BODIES.choices, RECORDED_BODIES.choices), []);
  assert.deepEqual(listDifferences(RECORDED_BODIES.message, RECORDED_BODIES.choices), [
    '.output.choices[0].index is missing',
  ]);
  assert.deepEqual(listDifferences(RECORDED_BODIES.choices, RECORDED_BODIES.message), [
    '.output.choices[0].index is unexpected',
  ]);
  assert.deepEqual(listDifferences({ ...RECORDED_BODIES.text, usage: null }, RECORDED_BODIES.text), [
    '.usage is null, not object',
  ]);
});
