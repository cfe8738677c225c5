import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCallBodyParser } from './call-body-parser.ts';
import {
  getCutArguments,
  hasArgumentsLeft,
  takeCertainArguments,
  takeRemainingArguments,
  type OpenCall,
} from './open-call.ts';

/** Parses text that follows the name of a call and returns the call with its text. */
function parseCall(text: string): {
  readonly call: OpenCall;
  readonly take: (taker: typeof getCutArguments) => string;
} {
  const body = createCallBodyParser('members', true);
  for (let at = 0; at < text.length; at++) body.take(text.charCodeAt(at), at);
  const call: OpenCall = { body, tail: 0, emittedEnd: undefined };
  return { call, take: (taker) => taker(call, text, text.length) };
}

describe('the arguments of an open call', () => {
  it('are empty objects for a call without any, and for null or an empty text in their place', () => {
    for (const text of ['}', ',"arguments":null}', ',"arguments":""}'])
      assert.equal(parseCall(text).take(takeRemainingArguments), '{}', text);
  });

  it('are taken once', () => {
    const { call, take } = parseCall(',"arguments":{"a":1},"id":7}');
    assert.equal(hasArgumentsLeft(call), true);
    assert.equal(take(takeRemainingArguments), '{"a":1}');
    assert.equal(hasArgumentsLeft(call), false);
  });

  it('are certain as they arrive, except for a value that may turn out to be empty', () => {
    const text = ',"arguments":{"a":';
    const { call } = parseCall(text);
    assert.equal(takeCertainArguments(call, text, text.length), '{"a":');
    assert.equal(takeCertainArguments(call, `${text}1`, text.length + 1), '1');
    const scalar = ',"arguments":nul';
    assert.equal(takeCertainArguments(parseCall(scalar).call, scalar, scalar.length), undefined);
  });

  it('are cut where the answer is cut, without being completed', () => {
    assert.equal(parseCall(',"arguments":{"a":"b').take(getCutArguments), '{"a":"b');
    assert.equal(parseCall(',"id":').take(getCutArguments), '');
  });
});
