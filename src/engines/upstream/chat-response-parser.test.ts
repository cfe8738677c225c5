import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { EngineEvent } from '../../core/event.ts';
import { NO_STOP, type ToolUseOptions } from '../../core/request.ts';
import type { EngineRequest } from '../engine.ts';
import { createChatResponseParser } from './chat-response-parser.ts';
import { createUpstreamErrorFactory } from '../remote/upstream-error-factory.ts';

const errors = createUpstreamErrorFactory({ upstream: 'upstream.test', apiKey: undefined });

/** Parses a response that arrives in these chunks. */
function parseChunks(chunks: readonly object[], change: Partial<EngineRequest> = {}): EngineEvent[] {
  let ids = 0;
  const answer = createChatResponseParser(
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
    { newCallId: () => `call_${ids++}`, errors },
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

test('emits content and refusals as text, and reasoning under either field name', () => {
  assert.deepEqual(
    parseChunks([
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

test('starts a tool call with its first delta, and creates a missing id', () => {
  assert.deepEqual(
    parseChunks([
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
      end(5),
    ],
  );
});

test('separates calls without an index or with equal indexes, and reports stop after a call as tool-calls', () => {
  const called = [
    { type: 'tool-call', choice: 0, index: 0, id: 'a', name: 'f' },
    { type: 'tool-arguments', choice: 0, index: 0, text: '1' },
    { type: 'tool-call', choice: 0, index: 1, id: 'b', name: 'f' },
    { type: 'tool-arguments', choice: 0, index: 1, text: '2' },
    choiceEnd('tool-calls'),
    end(4),
  ];
  for (const index of [{}, { index: 0 }]) {
    const pieces = [
      { ...index, id: 'a', function: { name: 'f', arguments: '1' } },
      { ...index, id: 'b', function: { name: 'f', arguments: '2' } },
    ];
    assert.deepEqual(parseChunks([delta({ tool_calls: pieces }), finish('stop')]), called);
  }
});

test('parses the older function_call format as a call', () => {
  assert.deepEqual(
    parseChunks([
      delta({ function_call: { name: 'f', arguments: '' } }),
      delta({ function_call: { arguments: '{}' } }),
      finish('function_call'),
    ]),
    [
      { type: 'tool-call', choice: 0, index: 0, id: 'call_0', name: 'f' },
      { type: 'tool-arguments', choice: 0, index: 0, text: '{}' },
      choiceEnd('tool-calls'),
      end(2),
    ],
  );
});

test('fails for a delta of a call that was never started', () => {
  const f = { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } };
  const nameless = { index: 0, id: 'a', function: { arguments: '1' } };
  const broken = [
    [call(nameless)],
    [call(f), call({ ...nameless, index: 1 })],
    [call(f), delta({ content: 'and' }), call(nameless)],
    [call(f), call({ index: 1, id: 'b', function: { name: 'g', arguments: '{' } }), call(nameless)],
  ];
  for (const chunks of broken) {
    assert.throws(() => parseChunks([...chunks, finish('tool_calls')]), { kind: 'upstream-failed' });
  }
});

test('emits interleaved calls one after another, the first one as it arrives', () => {
  const chunks = [
    call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x' } }),
    call({ index: 1, id: 'b', function: { name: 'g', arguments: '{"y' } }),
    call({ index: 0, function: { arguments: '":1' } }),
    call({ index: 1, function: { arguments: '":2}' } }),
    call({ index: 2, id: 'c', function: { name: 'h', arguments: '' } }),
    call({ index: 0, function: { arguments: '}' } }),
    call({ index: 2, function: { arguments: '[]' } }),
  ];
  const expectedEvents = [
    { type: 'tool-call', choice: 0, index: 0, id: 'a', name: 'f' },
    { type: 'tool-arguments', choice: 0, index: 0, text: '{"x' },
    { type: 'tool-arguments', choice: 0, index: 0, text: '":1' },
    { type: 'tool-arguments', choice: 0, index: 0, text: '}' },
    { type: 'tool-call', choice: 0, index: 1, id: 'b', name: 'g' },
    { type: 'tool-arguments', choice: 0, index: 1, text: '{"y":2}' },
    { type: 'tool-call', choice: 0, index: 2, id: 'c', name: 'h' },
    { type: 'tool-arguments', choice: 0, index: 2, text: '[]' },
  ];
  assert.deepEqual(parseChunks([...chunks, finish('tool_calls')]), [
    ...expectedEvents,
    choiceEnd('tool-calls'),
    end(8),
  ]);
  assert.deepEqual(parseChunks([...chunks.slice(0, 3), finish('length')]), [
    ...expectedEvents.slice(0, 3),
    { type: 'tool-call', choice: 0, index: 1, id: 'b', name: 'g' },
    { type: 'tool-arguments', choice: 0, index: 1, text: '{"y' },
    choiceEnd('length'),
    end(5),
  ]);
});

test('emits the same calls however servers cut them and whatever they omit', () => {
  const expectedCalls = [
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
      const events = parseChunks([...chunks, finish('stop')]);
      const joined: string[][] = [];
      for (const event of events) {
        if (event.type === 'tool-call') joined.push([event.type, event.name]);
        if (event.type !== 'tool-arguments') continue;
        const before = joined.at(-1);
        if (before?.[0] === event.type) before[1] += event.text;
        else joined.push([event.type, event.text]);
      }
      assert.deepEqual(joined, expectedCalls, name);
      assert.deepEqual(events.at(-2), choiceEnd('tool-calls'), name);
    }
  }
});

test('fails for incomplete arguments, unless a limit or a stop sequence may have cut them', () => {
  const stop = { strings: ['END'], tokens: [] };
  for (const text of ['{"x":', '{"x":"}', '["a"', '"a']) {
    const open = call({ index: 0, id: 'a', function: { name: 'f', arguments: text } });
    for (const after of [[finish('tool_calls')], [finish('stop')], [delta({ content: 'So' }), finish('stop')]]) {
      assert.throws(() => parseChunks([open, ...after]), { kind: 'upstream-failed' }, text);
    }
    assert.throws(() => parseChunks([open, finish('tool_calls')], { stop }), { kind: 'upstream-failed' });
    const expectedArguments = { type: 'tool-arguments', choice: 0, index: 0, text };
    assert.deepEqual(parseChunks([open, finish('length')])[1], expectedArguments);
    assert.deepEqual(parseChunks([open, finish('stop')], { stop })[1], expectedArguments);
    assert.deepEqual(parseChunks([open, finish('tool_calls', { stop_reason: 'END' })], { stop })[1], expectedArguments);
  }
});

test('joins characters that are cut between events', () => {
  const kinds: Readonly<Record<string, readonly [(piece: string) => object, more: readonly object[]]>> = {
    text: [(content) => delta({ content }), []],
    reasoning: [(reasoning) => delta({ reasoning }), []],
    'tool-arguments': [
      (piece) => call({ index: 0, function: { arguments: piece } }),
      [call({ index: 0, id: 'a', function: { name: 'f' } })],
    ],
  };
  const astral = fc.array(fc.constantFrom('🙂', '𝄞', 'a', '\ud83d', '\ude42'), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(astral, fc.array(fc.nat(16)), fc.constantFrom(...Object.keys(kinds)), (parts, cuts, kind) => {
      const [piece, before] = kinds[kind] ?? assert.fail();
      const whole = parts.join('');
      const places = [0, ...cuts.filter((cut) => cut < whole.length).toSorted((a, b) => a - b), whole.length];
      const pieces = places.slice(1).map((end, at) => whole.slice(places[at], end));
      const events = parseChunks([...before, ...pieces.map((each) => piece(each)), finish('stop')]);
      const emittedTexts = events.flatMap((event) => (event.type === kind && 'text' in event ? [event.text] : []));
      for (const each of emittedTexts) assert.ok(each !== '' && each.isWellFormed(), JSON.stringify(each));
      assert.equal(emittedTexts.join(''), whole.toWellFormed());
    }),
  );
});

test('emits a half character as a replacement before other output', () => {
  const half = '\ud83d';
  const f = { index: 0, id: `a${half}`, function: { name: `f${half}`, arguments: '{}' } };
  const chunks = [delta({ reasoning: half }), delta({ content: `a${half}` }), delta({ reasoning: 'b' })];
  const events = parseChunks([...chunks, delta({ content: half }), call(f), finish('tool_calls')]);
  assert.deepEqual(
    events.map((event) => [event.type, 'text' in event ? event.text : undefined]),
    [
      ['reasoning', '\ufffd'],
      ['text', 'a'],
      ['text', '\ufffd'],
      ['reasoning', 'b'],
      ['text', '\ufffd'],
      ['tool-call', undefined],
      ['tool-arguments', '{}'],
      ['choice-end', undefined],
      ['end', undefined],
    ],
  );
  assert.ok(JSON.stringify(events).includes('f\ufffd') && !JSON.stringify(events).includes('\\ud83d'));
});

test('emits log probabilities of half a character with those of its text', () => {
  const half = (token: string): object =>
    delta({ content: token }, { logprobs: { content: [{ token, logprob: -1 }] } });
  const events = parseChunks([half('\ud83d'), half('\ude42'), finish('stop')], { logprobs: { top: 0 } });
  assert.deepEqual(
    events.flatMap((event) => (event.type === 'text' ? [[event.text, event.logprobs?.map(({ token }) => token)]] : [])),
    [
      ['', ['\ufffd']],
      ['🙂', ['\ufffd']],
    ],
  );
});

test('emits only the first call if a single one is allowed', () => {
  const toolUse: ToolUseOptions = {
    tools: [{ name: 'f', description: '', parameters: undefined, field: 'tools[0].function.parameters' }],
    choice: 'auto',
    isParallel: false,
    streamsComplexArguments: false,
  };
  const pieces = [
    { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } },
    { index: 1, id: 'b', function: { name: 'f', arguments: '{"x":' } },
    { index: 1, function: { arguments: '1}' } },
  ];
  const chunks = [...pieces.map((piece) => call(piece)), finish('tool_calls')];
  const names = (use: ToolUseOptions): string[] =>
    parseChunks(chunks, { input: { type: 'messages', messages: [], toolUse: use } }).map(({ type }) => type);
  assert.deepEqual(names(toolUse), ['tool-call', 'tool-arguments', 'choice-end', 'end']);
  assert.equal(names({ ...toolUse, isParallel: true }).filter((type) => type === 'tool-call').length, 2);
});

test('fails for an endless sequence of calls', () => {
  const endless = Array.from({ length: 129 }, (_, index) => call({ index, id: `c${index}`, function: { name: 'f' } }));
  assert.throws(() => parseChunks(endless), { kind: 'upstream-failed' });
});

test('fails for unknown finish reasons', () => {
  const getReason = (word: string) => parseChunks([finish(word)])[0];
  assert.deepEqual(getReason('stop'), choiceEnd('stop'));
  assert.deepEqual(getReason('content_filter'), choiceEnd('stop'));
  assert.deepEqual(getReason('length'), choiceEnd('length'));
  assert.deepEqual(getReason('tool_calls'), choiceEnd('stop'));
  for (const word of ['abort', 'error', 'banana', 'toString']) {
    assert.throws(() => getReason(word), { kind: 'upstream-failed' });
  }
});

test('reports the stop string that the upstream names', () => {
  const stop = { strings: ['END', 'X'], tokens: [] };
  for (const more of [{ stop_reason: 'X' }, { matched_stop: 'X' }]) {
    assert.deepEqual(parseChunks([finish('stop', more)], { stop })[0], { ...choiceEnd('stop'), stop: 'X' });
  }
  assert.deepEqual(parseChunks([finish('stop', { stop_reason: 151645 })], { stop })[0], choiceEnd('stop'));
});

test('reports a stop token id as an empty text', () => {
  const stop = { strings: [], tokens: [[7], [9]] };
  for (const more of [{ stop_reason: 9 }, { matched_stop: 7 }]) {
    assert.deepEqual(parseChunks([finish('stop', more)], { stop })[0], { ...choiceEnd('stop'), stop: '' });
  }
  assert.deepEqual(parseChunks([finish('stop', { matched_stop: 2 })], { stop })[0], choiceEnd('stop'));
});

test('reads reasoning tokens in the fields of each server', () => {
  const whole = { prompt_tokens: 1, completion_tokens: 9 };
  for (const usage of [{ completion_tokens_details: { reasoning_tokens: 4 } }, { reasoning_tokens: 4 }]) {
    const last = parseChunks([{ ...finish('stop'), usage: { ...whole, ...usage } }]).at(-1);
    assert.equal(last?.type === 'end' && last.usage.reasoningTokens, 4);
  }
});

test('separates choices by index, and requires all of them to end', () => {
  const say = (index: number, of: object, reason: string | null = null): object => ({
    choices: [{ index, delta: of, finish_reason: reason }],
  });
  const chunks = [say(1, { content: 'b' }), say(0, { content: 'a' }), say(0, {}, 'stop')];
  assert.deepEqual(
    parseChunks([...chunks, say(1, {}, 'length')], { choices: 2 }).map((event) => [event.type, Object(event).choice]),
    [
      ['text', 1],
      ['text', 0],
      ['choice-end', 0],
      ['choice-end', 1],
      ['end', undefined],
    ],
  );
  assert.throws(() => parseChunks(chunks, { choices: 2 }), { kind: 'upstream-failed' });
  assert.throws(() => parseChunks([say(1, { content: 'b' })]), { kind: 'upstream-failed' });
});

test('creates missing bytes of log probabilities, omits extremely low ones, and cuts alternatives', () => {
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
  assert.deepEqual(parseChunks(chunks, { logprobs: { top: 2 } })[0], {
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
  assert.deepEqual(parseChunks(chunks)[0], { type: 'text', choice: 0, text: 'é', tokens: 1, phase: 0 });
});

test('emits no log probabilities for tokens without text after the start of a call', () => {
  const logprobs = { content: [{ token: '</x>', logprob: -1 }] };
  const called = call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } });
  const chunks = [delta({ content: '' }, { logprobs }), called, delta({ content: '' }, { logprobs })];
  const types = parseChunks([...chunks, finish('tool_calls')], { logprobs: { top: 0 } }).map(({ type }) => type);
  assert.deepEqual(types, ['text', 'tool-call', 'tool-arguments', 'choice-end', 'end']);
});

test('uses the last usage, wherever it stands', () => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 7,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 2 },
  };
  const early = { ...delta({ content: 'a' }), usage: { prompt_tokens: 10, completion_tokens: 1 } };
  assert.deepEqual(parseChunks([early, finish('stop'), { choices: [], usage }]).at(-1), {
    type: 'end',
    usage: { promptTokens: 10, cachedTokens: 4, completionTokens: 7, reasoningTokens: 2 },
  });
});

test('rejects with the status of an error in a chunk', () => {
  const getKind = (chunk: object): object => {
    try {
      parseChunks([chunk]);
    } catch (error) {
      return { kind: Object(error).kind, message: Object(error).message };
    }
    return {};
  };
  const failed = { kind: 'upstream-failed', message: 'The upstream failed on this request.' };
  assert.deepEqual(getKind({ error: 'out of memory' }), failed);
  assert.deepEqual(getKind({ error: { message: 'boom', code: 'server_error' }, choices: [] }), failed);
  assert.deepEqual(getKind({ object: 'error', message: 'too long', code: 400 }), {
    kind: 'invalid-request',
    message: 'too long',
  });
  assert.deepEqual(getKind({ error: { message: 'slow down', code: '429' } }), {
    kind: 'overloaded',
    message: 'The upstream is busy, please try again later.',
  });
  assert.equal(parseChunks([{ error: null, ...finish('stop') }]).length, 2);
});

test('fails for an invalid format, with a cause that contains no text of the answer', () => {
  const broken = [
    delta({ content: 5 }),
    { choices: 'secret' },
    [],
    delta({ tool_calls: [{ function: { name: {} } }] }),
  ];
  for (const chunk of broken) {
    assert.throws(
      () => parseChunks([chunk]),
      (error) => {
        assert.equal(Object(error).kind, 'upstream-failed');
        assert.doesNotMatch(Object(error).cause.message, /secret/);
        return true;
      },
    );
  }
});

test('ignores output after the end of a choice', () => {
  const whole = [choiceEnd('stop'), end(0)];
  assert.deepEqual(parseChunks([finish('stop'), delta({ content: 'more' })]), whole);
  assert.deepEqual(parseChunks([finish('stop'), delta({ content: '' }), finish('length')]), whole);
  // The other choice is not finished: its output counts.
  const other = { choices: [{ index: 1, delta: { content: 'b' }, finish_reason: 'stop' }] };
  const events = parseChunks([finish('stop'), delta({ content: 'more' }), other], { choices: 2 });
  assert.deepEqual(
    events.map(({ type }) => type),
    ['choice-end', 'text', 'choice-end', 'end'],
  );
});
