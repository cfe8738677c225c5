import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { textOf } from '../core/message.ts';
import type { Message } from '../core/message.ts';
import { answeredCalls, withResultsTold } from './repeated-calls.ts';

const say = (role: Message['role'], text: string): Message => ({ role, content: [{ type: 'text', text }] });
const asks = (id: string, args: string): Message => ({
  role: 'assistant',
  content: [],
  toolCalls: [{ id, name: 'weather', arguments: args }],
});
const result = (id: string): Message => ({ ...say('tool', '21 °C'), toolCallId: id });

describe('calls that have their result', () => {
  const answered = answeredCalls([say('user', 'Paris?'), asks('1', '{"city": "Paris", "unit": "C"}'), result('1')]);

  it('are known however their arguments are spelled', () => {
    assert.ok(answered);
    assert.ok(answered.has('weather', '{"unit":"C","city":"Paris"}'));
    assert.ok(!answered.has('weather', '{"unit":"C","city":"Rome"}'));
    assert.ok(!answered.has('time', '{"unit":"C","city":"Paris"}'));
    assert.ok(!answered.has('weather', 'nonsense'));
  });

  it('are known by their beginning', () => {
    assert.ok(answered);
    assert.ok(answered.hasBeginning('weather', ''));
    assert.ok(answered.hasBeginning('weather', '{"city":"Pa'));
    assert.ok(!answered.hasBeginning('weather', '{"city": "R'));
    assert.ok(!answered.hasBeginning('time', ''));
  });

  it('count in their own turn only', () => {
    const later = [asks('1', '{}'), result('1'), say('user', 'And now?'), asks('2', '{"b":1}'), result('2')];
    const known = answeredCalls(later);
    assert.ok(!known?.has('weather', '{}'));
    assert.ok(known?.has('weather', '{"b":1}'));
  });

  it('are no question where the conversation does not end with a result', () => {
    assert.equal(answeredCalls([say('user', 'Paris?')]), undefined);
  });

  it('may have arguments that are no JSON, and keys with a meaning to us', () => {
    const known = answeredCalls([
      say('user', '?'),
      asks('1', ' Paris '),
      asks('2', '{"__proto__":1}'),
      result('1'),
      result('2'),
    ]);
    assert.ok(known);
    assert.ok(known.has('weather', 'Paris'));
    assert.ok(known.has('weather', '{"__proto__": 1}'));
    assert.ok(!known.has('weather', '{}'));
  });
});

test('results are told in the question, and no call is left to imitate', () => {
  const earlier = [say('user', 'Hi'), say('assistant', 'Hello')];
  const told = withResultsTold([...earlier, say('user', 'Paris?'), asks('1', '{"city":"Paris"}'), result('1')]);
  assert.deepEqual(told.slice(0, 2), earlier);
  assert.equal(told.length, 3);
  assert.ok(told[2]);
  assert.equal(textOf(told[2]), 'Paris?\n\nweather({"city":"Paris"}) gave: 21 °C\n\nAnswer with these results.');
});
