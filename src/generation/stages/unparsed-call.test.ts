import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ChoiceEvent } from '../../core/event.ts';
import { cutText } from '../tools/__fixtures__/read-calls.ts';
import { createUnparsedCallStage } from './unparsed-call.ts';

const MARKS = ['<tool_call>', '[CALL]'];

function run(pieces: readonly string[]): { text: string; isReported: boolean } {
  const stage = createUnparsedCallStage(MARKS);
  let text = '';
  let isReported = false;
  const take = (event: ChoiceEvent): void => {
    if (event.type === 'text') text += event.text;
    if (event.type === 'choice-end') isReported = event.hasUnparsedCall === true;
  };
  for (const piece of pieces) stage.push({ type: 'text', choice: 0, text: piece, tokens: 1, phase: 0 }, take);
  stage.push({ type: 'choice-end', choice: 0, reason: 'stop' }, take);
  stage.end(take);
  return { text, isReported };
}

describe('createUnparsedCallStage', () => {
  it('reports text with the mark of a call however the text is split, and changes nothing', () => {
    const part = fc.constantFrom('<tool_call>', '<tool', '_call>', '[CALL', ']', '[CALL]', ' a ', '<', '👍');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.array(fc.nat()), (parts, cuts) => {
        const text = parts.join('');
        const isReported = MARKS.some((mark) => text.includes(mark));
        assert.deepEqual(run(cutText(text, cuts)), { text, isReported });
      }),
    );
  });

  it('does not join text before a call and after it', () => {
    const stage = createUnparsedCallStage(MARKS);
    const events: ChoiceEvent[] = [];
    const take = (event: ChoiceEvent): void => void events.push(event);
    stage.push({ type: 'text', choice: 0, text: '[CA', tokens: 1, phase: 0 }, take);
    stage.push({ type: 'tool-call', choice: 0, index: 0, id: 'x', name: 'f' }, take);
    stage.push({ type: 'text', choice: 0, text: 'LL]', tokens: 1, phase: 0 }, take);
    stage.push({ type: 'choice-end', choice: 0, reason: 'tool-calls' }, take);
    assert.deepEqual(events.at(-1), { type: 'choice-end', choice: 0, reason: 'tool-calls' });
  });
});
