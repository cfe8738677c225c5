import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ChoiceEvent } from '../../core/event.ts';
import { cutText } from '../tools/__fixtures__/read-calls.ts';
import { createMarkRemovalStage } from './mark-removal.ts';

const MARKS = ['<think>', '</think>'];
const end: ChoiceEvent = { type: 'choice-end', choice: 0, reason: 'stop' };

const run = (pieces: readonly string[]): { text: string; tokens: number } => {
  const stage = createMarkRemovalStage({ choice: 0, marks: MARKS, endMarks: ['<|end|>'] });
  let text = '';
  let tokens = 0;
  const take = (event: ChoiceEvent): void => {
    if (event.type !== 'text') return;
    text += event.text;
    tokens += event.tokens;
  };
  for (const piece of pieces) stage.push({ type: 'text', choice: 0, text: piece, tokens: 1, phase: 1 }, take);
  stage.push(end, take);
  stage.end(take);
  return { text, tokens };
};

describe('createMarkRemovalStage', () => {
  it('removes thought marks however the text is split and counts every token', () => {
    const part = fc.constantFrom('<think>', '</think>', '<', '</', 'think>', '</thin', 'a', ' b\n', '👍', '<think');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), fc.array(fc.nat()), (parts, cuts) => {
        const whole = parts.join('');
        const cutPositions = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].toSorted((a, b) => a - b);
        const pieces = [0, ...cutPositions].map((from, i) => whole.slice(from, cutPositions[i] ?? whole.length));
        const result = run(pieces);
        assert.equal(result.text, whole.replaceAll(/<\/?think>/g, ''));
        assert.equal(result.tokens, pieces.length);
      }),
    );
  });

  it('removes a token that ends the turn only at the end of the text, however it is split', () => {
    for (const [whole, expected] of [
      ['Hello.<|end|>', 'Hello.'],
      ['Hello.<|end|> \n', 'Hello.'],
      ['Write <|end|> here', 'Write <|end|> here'],
      ['a<|end|>b<|end|>', 'a<|end|>b'],
      ['a<|en', 'a<|en'],
    ] as const)
      for (const pieces of [[whole], [...whole]]) assert.equal(run(pieces).text, expected);
  });

  it('holds back only text that may become a mark', () => {
    const stage = createMarkRemovalStage({ choice: 0, marks: MARKS });
    const out: ChoiceEvent[] = [];
    stage.push({ type: 'text', choice: 0, text: 'a<b</t', tokens: 1, phase: 1 }, (event) => out.push(event));
    assert.deepEqual(
      out.map((event) => event.type === 'text' && event.text),
      ['a<b'],
    );
  });

  it('says where a thought ends of which only the end is marked, however the text is split', () => {
    const readEnd = (text: string, cuts: readonly number[], hasThought = false): readonly unknown[] => {
      const out: string[] = [];
      const stage = createMarkRemovalStage({
        choice: 0,
        marks: [],
        thoughtEnd: '</think>',
        hasThought: () => hasThought,
        keepsThoughts: true,
      });
      const take = (event: ChoiceEvent): void => {
        if (event.type === 'text') out.push(event.text);
        if (event.type === 'reasoning') out.push(`[${event.takesText ?? ''}]`);
      };
      for (const piece of cutText(text, cuts))
        stage.push({ type: 'text', choice: 0, text: piece, tokens: 1, phase: 0 }, take);
      stage.push(end, take);
      return [out.join('')];
    };
    fc.assert(
      fc.property(fc.array(fc.nat()), (cuts) => {
        assert.deepEqual(readEnd('so</think>Four </think>', cuts), ['so[kept]Four </think>']);
        assert.deepEqual(readEnd('Four </think> five', cuts, true), ['Four </think> five']);
      }),
    );
  });
});
