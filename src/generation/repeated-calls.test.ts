import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { getMessageText, type Message } from '../core/message.ts';
import { findAnsweredCalls, inlineToolResults } from './repeated-calls.ts';

const createMessage = (role: Message['role'], text: string): Message => ({ role, content: [{ type: 'text', text }] });
const createCallMessage = (id: string, args: string): Message => ({
  role: 'assistant',
  content: [],
  toolCalls: [{ id, name: 'weather', arguments: args }],
});
const createResultMessage = (id: string): Message => ({ ...createMessage('tool', '21 °C'), toolCallId: id });

describe('findAnsweredCalls', () => {
  const answered = findAnsweredCalls([
    createMessage('user', 'Paris?'),
    createCallMessage('1', '{"city": "Paris", "unit": "C"}'),
    createResultMessage('1'),
  ]);

  it('recognizes calls however their arguments are spelled', () => {
    assert.ok(answered);
    assert.ok(answered.has('weather', '{"unit":"C","city":"Paris"}'));
    assert.ok(!answered.has('weather', '{"unit":"C","city":"Rome"}'));
    assert.ok(!answered.has('time', '{"unit":"C","city":"Paris"}'));
    assert.ok(!answered.has('weather', 'nonsense'));
  });

  it('recognizes the beginning of calls', () => {
    assert.ok(answered);
    assert.ok(answered.hasPrefix('weather', ''));
    assert.ok(answered.hasPrefix('weather', '{"city":"Pa'));
    assert.ok(!answered.hasPrefix('weather', '{"city": "R'));
    assert.ok(!answered.hasPrefix('time', ''));
  });

  it('considers only calls of the current turn', () => {
    const later = [
      createCallMessage('1', '{}'),
      createResultMessage('1'),
      createMessage('user', 'And now?'),
      createCallMessage('2', '{"b":1}'),
      createResultMessage('2'),
    ];
    const known = findAnsweredCalls(later);
    assert.ok(!known?.has('weather', '{}'));
    assert.ok(known?.has('weather', '{"b":1}'));
  });

  it('returns undefined when the conversation does not end with a result', () => {
    assert.equal(findAnsweredCalls([createMessage('user', 'Paris?')]), undefined);
  });

  it('accepts arguments that are not JSON and keys such as __proto__', () => {
    const known = findAnsweredCalls([
      createMessage('user', '?'),
      createCallMessage('1', ' Paris '),
      createCallMessage('2', '{"__proto__":1}'),
      createResultMessage('1'),
      createResultMessage('2'),
    ]);
    assert.ok(known);
    assert.ok(known.has('weather', 'Paris'));
    assert.ok(known.has('weather', '{"__proto__": 1}'));
    assert.ok(!known.has('weather', '{}'));
  });
});

test('inlineToolResults moves results into the question and removes the calls', () => {
  const earlier = [createMessage('user', 'Hi'), createMessage('assistant', 'Hello')];
  const messages = inlineToolResults([
    ...earlier,
    createMessage('user', 'Paris?'),
    createCallMessage('1', '{"city":"Paris"}'),
    createResultMessage('1'),
  ]);
  assert.deepEqual(messages.slice(0, 2), earlier);
  assert.equal(messages.length, 3);
  assert.ok(messages[2]);
  assert.equal(
    getMessageText(messages[2]),
    'Paris?\n\nweather({"city":"Paris"}) gave: 21 °C\n\nAnswer with these results.',
  );
});
