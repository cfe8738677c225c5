import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineEvent } from '../../core/event.ts';
import { NO_STOP } from '../../core/request.ts';
import type { ToolUse } from '../../core/request.ts';
import type { EngineRequest } from '../engine.ts';
import { createAnswer } from './answer.ts';
import { createFaults } from '../remote/faults.ts';

const faults = createFaults({ upstream: 'upstream.test', apiKey: undefined });

/** The events of an answer that comes in these chunks. */
function eventsOf(chunks: readonly object[], change: Partial<EngineRequest> = {}): EngineEvent[] {
  let ids = 0;
  const answer = createAnswer(
    {
      id: 'r1',
      owner: { workspace: 'primary', key: 'key_1' },
      input: { type: 'messages', messages: [] },
      sampling: {},
      stop: NO_STOP,
      choices: 1,
      phases: [],
      ...change,
    },
    { newCallId: () => `call_${ids++}`, faults },
  );
  const events: EngineEvent[] = [];
  for (const chunk of chunks) answer.push(JSON.stringify(chunk), (event) => events.push(event));
  answer.end((event) => events.push(event));
  return events;
}

const delta = (of: object, more: object = {}): object => ({ choices: [{ index: 0, delta: of, ...more }] });
const call = (of: object): object => delta({ tool_calls: [of] });
const finish = (reason: string, more: object = {}): object => delta({}, { finish_reason: reason, ...more });
const choiceEnd = (reason: string) => ({ type: 'choice-end', choice: 0, reason });
const end = (completionTokens: number) => ({
  type: 'end',
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens },
});

test('content is text, reasoning under either name is reasoning, a refusal is the text it is', () => {
  assert.deepEqual(
    eventsOf([
      delta({ role: 'assistant', content: '' }),
      delta({ reasoning_content: 'so' }),
      delta({ reasoning: ' then', content: null }),
      delta({ content: 'Yes' }),
      delta({ refusal: ' no' }),
      finish('stop'),
    ]),
    [
      { type: 'reasoning', choice: 0, text: 'so', tokens: 1 },
      { type: 'reasoning', choice: 0, text: ' then', tokens: 1 },
      { type: 'text', choice: 0, text: 'Yes', tokens: 1, phase: 0 },
      { type: 'text', choice: 0, text: ' no', tokens: 1, phase: 0 },
      choiceEnd('stop'),
      end(4),
    ],
  );
});

test('the first piece of a tool call opens it; an absent id is made', () => {
  assert.deepEqual(
    eventsOf([
      call({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }),
      call({ index: 0, function: { arguments: '{"x":' } }),
      call({ index: 0, id: 'a', function: { name: 'f', arguments: '1}' } }),
      call({ index: 1, function: { name: 'g', arguments: '{}' } }),
      finish('tool_calls'),
    ]),
    [
      { type: 'tool-call', choice: 0, index: 0, id: 'a', name: 'f' },
      { type: 'tool-arguments', choice: 0, index: 0, text: '{"x":' },
      { type: 'tool-arguments', choice: 0, index: 0, text: '1}' },
      { type: 'tool-call', choice: 0, index: 1, id: 'call_0', name: 'g' },
      { type: 'tool-arguments', choice: 0, index: 1, text: '{}' },
      choiceEnd('tool-calls'),
      end(0),
    ],
  );
});

test('calls without an index, or all with the same, are told apart; stop after a call means the call', () => {
  const called = [
    { type: 'tool-call', choice: 0, index: 0, id: 'a', name: 'f' },
    { type: 'tool-arguments', choice: 0, index: 0, text: '1' },
    { type: 'tool-call', choice: 0, index: 1, id: 'b', name: 'f' },
    { type: 'tool-arguments', choice: 0, index: 1, text: '2' },
    choiceEnd('tool-calls'),
    end(0),
  ];
  for (const index of [{}, { index: 0 }]) {
    const pieces = [
      { ...index, id: 'a', function: { name: 'f', arguments: '1' } },
      { ...index, id: 'b', function: { name: 'f', arguments: '2' } },
    ];
    assert.deepEqual(eventsOf([delta({ tool_calls: pieces }), finish('stop')]), called);
  }
});

test('the form before tool calls is a call as well', () => {
  assert.deepEqual(
    eventsOf([
      delta({ function_call: { name: 'f', arguments: '' } }),
      delta({ function_call: { arguments: '{}' } }),
      finish('function_call'),
    ]),
    [
      { type: 'tool-call', choice: 0, index: 0, id: 'call_0', name: 'f' },
      { type: 'tool-arguments', choice: 0, index: 0, text: '{}' },
      choiceEnd('tool-calls'),
      end(0),
    ],
  );
});

test('a piece of a call that was never opened is a failure, not another call', () => {
  const f = { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } };
  const nameless = { index: 0, id: 'a', function: { arguments: '1' } };
  const broken = [
    [call(nameless)],
    [call(f), call({ ...nameless, index: 1 })],
    [call(f), delta({ content: 'and' }), call(nameless)],
    [call(f), call({ index: 1, id: 'b', function: { name: 'g', arguments: '{' } }), call(nameless)],
  ];
  for (const chunks of broken) {
    assert.throws(() => eventsOf([...chunks, finish('tool_calls')]), { kind: 'upstream-failed' });
  }
});

test('calls that come mixed up are told one after another, the first as it comes', () => {
  const chunks = [
    call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x' } }),
    call({ index: 1, id: 'b', function: { name: 'g', arguments: '{"y' } }),
    call({ index: 0, function: { arguments: '":1' } }),
    call({ index: 1, function: { arguments: '":2}' } }),
    call({ index: 2, id: 'c', function: { name: 'h', arguments: '' } }),
    call({ index: 0, function: { arguments: '}' } }),
    call({ index: 2, function: { arguments: '[]' } }),
  ];
  const told = [
    { type: 'tool-call', choice: 0, index: 0, id: 'a', name: 'f' },
    { type: 'tool-arguments', choice: 0, index: 0, text: '{"x' },
    { type: 'tool-arguments', choice: 0, index: 0, text: '":1' },
    { type: 'tool-arguments', choice: 0, index: 0, text: '}' },
    { type: 'tool-call', choice: 0, index: 1, id: 'b', name: 'g' },
    { type: 'tool-arguments', choice: 0, index: 1, text: '{"y":2}' },
    { type: 'tool-call', choice: 0, index: 2, id: 'c', name: 'h' },
    { type: 'tool-arguments', choice: 0, index: 2, text: '[]' },
  ];
  assert.deepEqual(eventsOf([...chunks, finish('tool_calls')]), [...told, choiceEnd('tool-calls'), end(0)]);
  assert.deepEqual(eventsOf([...chunks.slice(0, 3), finish('length')]), [
    ...told.slice(0, 3),
    { type: 'tool-call', choice: 0, index: 1, id: 'b', name: 'g' },
    { type: 'tool-arguments', choice: 0, index: 1, text: '{"y' },
    choiceEnd('length'),
    end(0),
  ]);
});

test('however servers cut calls and what they leave out, the calls are the same', () => {
  const told = [
    ['tool-call', 'f_g'],
    ['tool-arguments', '{"x":1}'],
    ['tool-call', 'h'],
    ['tool-arguments', '{}'],
  ];
  const cuts: Readonly<Record<string, readonly object[]>> = {
    'whole, without index': [
      { id: 'a', function: { name: 'f_g', arguments: '{"x":1}' } },
      { id: 'b', function: { name: 'h', arguments: '{}' } },
    ],
    'whole, with neither index nor id': [
      { function: { name: 'f_g', arguments: '{"x":1}' } },
      { function: { name: 'h', arguments: '{}' } },
    ],
    'whole, all with the same index and no id': [
      { index: 0, function: { name: 'f_g', arguments: '{"x":1}' } },
      { index: 0, function: { name: 'h', arguments: '{}' } },
    ],
    'arguments as objects': [
      { index: 0, id: 'a', function: { name: 'f_g', arguments: { x: 1 } } },
      { index: 1, id: 'b', function: { name: 'h', arguments: {} } },
    ],
    'an empty id and a null name in what follows': [
      { index: 0, id: 'a', function: { name: 'f_g', arguments: '' } },
      { index: 0, id: '', function: { name: null, arguments: '{"x"' } },
      { index: 0, id: null, function: { name: '', arguments: ':1}' } },
      { index: 1, id: 'b', function: { name: 'h', arguments: '{}' } },
    ],
    'the name again in every piece': [
      { index: 0, id: 'a', function: { name: 'f_g', arguments: '' } },
      { index: 0, function: { name: 'f_g', arguments: '{"x":' } },
      { index: 0, function: { name: 'f_g', arguments: '1}' } },
      { index: 0, function: { name: 'f_g', arguments: '' } },
      { index: 1, id: 'b', function: { name: 'h', arguments: '{}' } },
    ],
    'the name in pieces': [
      { index: 0, id: 'a', function: { name: 'f_' } },
      { index: 0, function: { name: 'g', arguments: '{"x":1}' } },
      { index: 1, id: 'b', function: { name: 'h', arguments: '{}' } },
    ],
    'a new id in every piece': [
      { index: 0, id: 'a', function: { name: 'f_g', arguments: '{"x"' } },
      { index: 0, id: 'b', function: { arguments: ':1}' } },
      { index: 1, id: 'c', function: { name: 'h', arguments: '{}' } },
    ],
    'no arguments where there are none': [
      { index: 0, id: 'a', function: { name: 'f_g', arguments: '{"x":1}' } },
      { index: 1, id: 'b', function: { name: 'h', arguments: '' } },
    ],
  };
  for (const [name, pieces] of Object.entries(cuts)) {
    for (const chunks of [pieces.map((piece) => call(piece)), [delta({ tool_calls: pieces })]]) {
      const events = eventsOf([...chunks, finish('stop')]);
      const joined: string[][] = [];
      for (const event of events) {
        if (event.type === 'tool-call') joined.push([event.type, event.name]);
        if (event.type !== 'tool-arguments') continue;
        const before = joined.at(-1);
        if (before?.[0] === event.type) before[1] += event.text;
        else joined.push([event.type, event.text]);
      }
      assert.deepEqual(joined, told, name);
      assert.deepEqual(events.at(-2), choiceEnd('tool-calls'), name);
    }
  }
});

test('where one call is allowed, the first is told', () => {
  const toolUse: ToolUse = {
    tools: [{ name: 'f', description: '', parameters: undefined, field: 'tools[0].function.parameters' }],
    choice: 'auto',
    isParallel: false,
    streamsComplex: false,
  };
  const pieces = [
    { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } },
    { index: 1, id: 'b', function: { name: 'f', arguments: '{"x":' } },
    { index: 1, function: { arguments: '1}' } },
  ];
  const chunks = [...pieces.map((piece) => call(piece)), finish('tool_calls')];
  const names = (use: ToolUse): string[] =>
    eventsOf(chunks, { input: { type: 'messages', messages: [], toolUse: use } }).map(({ type }) => type);
  assert.deepEqual(names(toolUse), ['tool-call', 'tool-arguments', 'choice-end', 'end']);
  assert.equal(names({ ...toolUse, isParallel: true }).filter((type) => type === 'tool-call').length, 2);
});

test('an upstream that sends no end of calls breaks off', () => {
  const endless = Array.from({ length: 129 }, (_, index) => call({ index, id: `c${index}`, function: { name: 'f' } }));
  assert.throws(() => eventsOf(endless), { kind: 'upstream-failed' });
});

test('reasons for the end are known ones or the answer is broken', () => {
  const reasonOf = (word: string) => eventsOf([finish(word)])[0];
  assert.deepEqual(reasonOf('stop'), choiceEnd('stop'));
  assert.deepEqual(reasonOf('content_filter'), choiceEnd('stop'));
  assert.deepEqual(reasonOf('length'), choiceEnd('length'));
  assert.deepEqual(reasonOf('tool_calls'), choiceEnd('stop'));
  for (const word of ['abort', 'error', 'banana', 'toString']) {
    assert.throws(() => reasonOf(word), { kind: 'upstream-failed' });
  }
});

test('a stop string is named where the upstream names it', () => {
  const stop = { strings: ['END', 'X'], tokens: [] };
  for (const more of [{ stop_reason: 'X' }, { matched_stop: 'X' }]) {
    assert.deepEqual(eventsOf([finish('stop', more)], { stop })[0], { ...choiceEnd('stop'), stop: 'X' });
  }
  assert.deepEqual(eventsOf([finish('stop', { stop_reason: 151645 })], { stop })[0], choiceEnd('stop'));
});

test('a token id that was to end the answer is named as an empty text', () => {
  const stop = { strings: [], tokens: [[7], [9]] };
  for (const more of [{ stop_reason: 9 }, { matched_stop: 7 }]) {
    assert.deepEqual(eventsOf([finish('stop', more)], { stop })[0], { ...choiceEnd('stop'), stop: '' });
  }
  assert.deepEqual(eventsOf([finish('stop', { matched_stop: 2 })], { stop })[0], choiceEnd('stop'));
});

test('the tokens of thoughts are read where each server has them', () => {
  const whole = { prompt_tokens: 1, completion_tokens: 9 };
  for (const usage of [{ completion_tokens_details: { reasoning_tokens: 4 } }, { reasoning_tokens: 4 }]) {
    const last = eventsOf([{ ...finish('stop'), usage: { ...whole, ...usage } }]).at(-1);
    assert.equal(last?.type === 'end' && last.usage.reasoningTokens, 4);
  }
});

test('choices are told apart by index, and all of them must end', () => {
  const say = (index: number, of: object, reason: string | null = null): object => ({
    choices: [{ index, delta: of, finish_reason: reason }],
  });
  const chunks = [say(1, { content: 'b' }), say(0, { content: 'a' }), say(0, {}, 'stop')];
  assert.deepEqual(
    eventsOf([...chunks, say(1, {}, 'length')], { choices: 2 }).map((event) => [event.type, Object(event).choice]),
    [
      ['text', 1],
      ['text', 0],
      ['choice-end', 0],
      ['choice-end', 1],
      ['end', undefined],
    ],
  );
  assert.throws(() => eventsOf(chunks, { choices: 2 }), { kind: 'upstream-failed' });
  assert.throws(() => eventsOf([say(1, { content: 'b' })]), { kind: 'upstream-failed' });
});

test('log probabilities: bytes are made where missing, the extremely low have none, the rest is cut', () => {
  const content = [
    {
      token: 'é',
      logprob: -0.5,
      bytes: null,
      top_logprobs: [
        { token: 'é', logprob: -0.5, bytes: [195, 169] },
        { token: 'x', logprob: -9999 },
        { token: 'y', logprob: -3 },
      ],
    },
  ];
  const chunks = [delta({ content: 'é' }, { logprobs: { content } }), finish('stop', { logprobs: null })];
  assert.deepEqual(eventsOf(chunks, { logprobs: { top: 2 } })[0], {
    type: 'text',
    choice: 0,
    text: 'é',
    tokens: 1,
    phase: 0,
    logprobs: [
      {
        token: 'é',
        bytes: [195, 169],
        logprob: -0.5,
        top: [
          { token: 'é', bytes: [195, 169], logprob: -0.5 },
          { token: 'x', bytes: [120], logprob: undefined },
        ],
      },
    ],
  });
  assert.deepEqual(eventsOf(chunks)[0], { type: 'text', choice: 0, text: 'é', tokens: 1, phase: 0 });
});

test('tokens without text after a call began are its markup, and have no log probabilities', () => {
  const logprobs = { content: [{ token: '</x>', logprob: -1 }] };
  const called = call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } });
  const chunks = [delta({ content: '' }, { logprobs }), called, delta({ content: '' }, { logprobs })];
  const types = eventsOf([...chunks, finish('tool_calls')], { logprobs: { top: 0 } }).map(({ type }) => type);
  assert.deepEqual(types, ['text', 'tool-call', 'tool-arguments', 'choice-end', 'end']);
});

test('the last usage counts, wherever it stands', () => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 7,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 2 },
  };
  const early = { ...delta({ content: 'a' }), usage: { prompt_tokens: 10, completion_tokens: 1 } };
  assert.deepEqual(eventsOf([early, finish('stop'), { choices: [], usage }]).at(-1), {
    type: 'end',
    usage: { promptTokens: 10, cachedTokens: 4, completionTokens: 7, reasoningTokens: 2 },
  });
});

test('an error in a chunk is a rejection, with the status it names', () => {
  const kindOf = (chunk: object): object => {
    try {
      eventsOf([chunk]);
    } catch (error) {
      return { kind: Object(error).kind, message: Object(error).message };
    }
    return {};
  };
  const failed = { kind: 'upstream-failed', message: 'The upstream failed on this request.' };
  assert.deepEqual(kindOf({ error: 'out of memory' }), failed);
  assert.deepEqual(kindOf({ error: { message: 'boom', code: 'server_error' }, choices: [] }), failed);
  assert.deepEqual(kindOf({ object: 'error', message: 'too long', code: 400 }), {
    kind: 'invalid-request',
    message: 'too long',
  });
  assert.deepEqual(kindOf({ error: { message: 'slow down', code: '429' } }), {
    kind: 'overloaded',
    message: 'The upstream is busy, please try again later.',
  });
  assert.equal(eventsOf([{ error: null, ...finish('stop') }]).length, 2);
});

test('what is not of the format is a failure whose cause holds no text of the answer', () => {
  const broken = [
    delta({ content: 5 }),
    { choices: 'secret' },
    [],
    delta({ tool_calls: [{ function: { name: {} } }] }),
  ];
  for (const chunk of broken) {
    assert.throws(
      () => eventsOf([chunk]),
      (error) => {
        assert.equal(Object(error).kind, 'upstream-failed');
        assert.doesNotMatch(Object(error).cause.message, /secret/);
        return true;
      },
    );
  }
});

test('words after the end of a choice are a failure', () => {
  assert.throws(() => eventsOf([finish('stop'), delta({ content: 'more' })]), { kind: 'upstream-failed' });
  assert.equal(eventsOf([finish('stop'), delta({ content: '' }), finish('stop')]).length, 2);
});
