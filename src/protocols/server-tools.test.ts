import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { SEARCH_HINT_CODE_POINTS_MAX } from '../core/limits.ts';
import { decode } from './compatible/chat-completions/decode.ts';
import { ignoredFields as ignoredOnChat } from './compatible/chat-completions/ignored-fields.ts';
import { checkRules } from './compatible/chat-completions/rules.ts';
import { ChatCompletionBody, chatTexts } from './compatible/chat-completions/schema.ts';
import { ENTRY } from './native/generation/__fixtures__/golden-cases.ts';
import { ignoredFields as ignoredNatively } from './native/generation/ignored-fields.ts';
import { readFields } from './native/generation/read-fields.ts';
import { GenerationBody, generationTexts } from './native/generation/schema.ts';
import { parseBody } from './parse.ts';
import { decodeServerTools } from './fields/decode-server-tools.ts';

const messages = [{ role: 'user', content: 'Hi' }];
const SEARCHING = { enable_search: true };
const THINKING = { enable_thinking: true };
const CODE = { enable_code_interpreter: true };

const chat = (fields: object, entry = ENTRY) => {
  const { wire } = parseBody(ChatCompletionBody, { model: 'm', messages, ...fields }, { texts: chatTexts(entry) });
  checkRules(wire, entry);
  return wire;
};

const native = (parameters: object, { isStreamed = false, entry = ENTRY } = {}) => {
  const body = { model: 'm', input: { messages }, parameters };
  const { wire } = parseBody(GenerationBody, body, { texts: generationTexts(entry) });
  return { wire, ...readFields(wire, entry, { isMultimodal: false, isStreamed }) };
};

const searchOf = (options: object, fields: object = {}) =>
  decode(chat({ ...SEARCHING, ...fields, search_options: options })).serverTools?.search;

const searchOfNative = (options: object) =>
  decodeServerTools(native({ ...SEARCHING, search_options: options }).fields, { tellsSources: true })?.search;

describe('a search that is asked for', () => {
  test('is one that the model decides on, in one query, where nothing else is said', () => {
    assert.deepEqual(decode(chat(SEARCHING)).serverTools, {
      search: { strategy: 'turbo', isForced: false, withDomains: false },
    });
    assert.equal(
      decode(chat({ enable_search: false, search_options: { forced_search: true } })).serverTools,
      undefined,
    );
    assert.equal(decode(chat({})).serverTools, undefined);
  });

  for (const [wire, strategy] of [
    ['turbo', 'turbo'],
    ['standard', 'turbo'],
    ['max', 'max'],
    ['pro', 'max'],
    ['agent', 'agent'],
    ['agent_max', 'agent-max'],
  ] as const) {
    test(`${wire} is ${strategy}`, () => {
      assert.equal(searchOf({ search_strategy: wire }, THINKING)?.strategy, strategy);
    });
  }

  test('pages are read with agent_max, and with no other', () => {
    const wished = (search_strategy: string) =>
      decode(chat({ ...SEARCHING, ...THINKING, search_options: { search_strategy } })).serverTools;
    assert.deepEqual(wished('agent_max')?.pages, {});
    assert.equal(wished('agent')?.pages, undefined);
  });

  test('all of its options arrive', () => {
    const options = {
      forced_search: true,
      enable_search_extension: true,
      freshness: 30,
      assigned_site_list: ['Example.COM', 'bücher.example'],
      intention_options: { prompt_intervene: 'Only physics.' },
    };
    assert.deepEqual(searchOf(options), {
      strategy: 'turbo',
      isForced: true,
      withDomains: true,
      freshnessDays: 30,
      sites: ['example.com', 'xn--bcher-kva.example'],
      hint: 'Only physics.',
    });
  });

  test('age and sites are for turbo', () => {
    const { freshnessDays, sites } =
      searchOf({ search_strategy: 'max', freshness: 7, assigned_site_list: ['a.b'] }) ?? {};
    assert.deepEqual([freshnessDays, sites], [undefined, undefined]);
  });

  test('marks are for the native interface, where sources are told', () => {
    const options = { enable_source: true, enable_citation: true };
    assert.equal(searchOfNative(options)?.citations, 'number');
    assert.equal(searchOfNative({ ...options, citation_format: '[ref_<number>]' })?.citations, 'ref-number');
    assert.equal(searchOfNative({ enable_citation: true })?.citations, undefined);
    assert.equal(searchOf(options)?.citations, undefined);
  });
});

describe('what is refused', () => {
  const translating = { ...ENTRY, interfaces: ['chat', 'translation'] as const };
  const refused: readonly (readonly [string, () => unknown, string])[] = [
    [
      'a strategy that is none',
      () => searchOf({ search_strategy: 'best' }),
      'search_options.search_strategy must be one of "turbo", "max", "agent", "agent_max", "standard", "pro", got "best".',
    ],
    [
      'an age that is none of the four',
      () => searchOf({ freshness: 8 }),
      'search_options.freshness must be one of 7, 30, 180, 365, got 8.',
    ],
    [
      'marks of another form',
      () => searchOf({ citation_format: '<1>' }),
      'search_options.citation_format must be one of "[<number>]", "[ref_<number>]", got "<1>".',
    ],
    [
      'a site with a path',
      () => searchOf({ assigned_site_list: ['a.b', 'https://a.b/c'] }),
      'search_options.assigned_site_list[1] must be a host such as example.com, without scheme, port or path, got "https://a.b/c".',
    ],
    [
      'more than 25 sites',
      () => searchOf({ assigned_site_list: Array.from({ length: 26 }, (_, index) => `a${index}.b`) }),
      'search_options.assigned_site_list must have at most 25 items, got an array of 26.',
    ],
    [
      'a long hint',
      () => searchOf({ intention_options: { prompt_intervene: 'a'.repeat(SEARCH_HINT_CODE_POINTS_MAX + 1) } }),
      `search_options.intention_options.prompt_intervene must have at most ${SEARCH_HINT_CODE_POINTS_MAX} characters`,
    ],
    [
      'agent_max without thinking',
      () => searchOf({ search_strategy: 'agent_max' }),
      'The value of the enable_thinking parameter is restricted to True. The strategy agent_max searches only while thinking (search_options.search_strategy: "agent_max")',
    ],
    [
      'the same natively',
      () => native({ ...SEARCHING, search_options: { search_strategy: 'agent_max' } }),
      'The value of the enable_thinking parameter is restricted to True. The strategy agent_max searches only while thinking (parameters.search_options.search_strategy: "agent_max")',
    ],
    [
      'a search of a model that translates',
      () => chat(SEARCHING, { ...ENTRY, interfaces: [...translating.interfaces] }),
      'This model does not support enable_search. (enable_search: true)',
    ],
    [
      'a program of a model that translates',
      () => chat(CODE, { ...ENTRY, interfaces: [...translating.interfaces] }),
      'This model does not support enable_code_interpreter. (enable_code_interpreter: true)',
    ],
    [
      'a program without thinking',
      () => chat({ ...CODE, stream: true }),
      'The value of the enable_thinking parameter is restricted to True. Programs run only while thinking (enable_code_interpreter: true)',
    ],
    [
      'a program without a stream',
      () => chat({ ...CODE, ...THINKING }),
      'This model only support stream mode, please enable the stream parameter to access the model. (enable_code_interpreter: true)',
    ],
    [
      'the same natively',
      () => native({ ...CODE, ...THINKING }),
      'This model only support stream mode, please enable the stream parameter to access the model. (parameters.enable_code_interpreter: true)',
    ],
    [
      'programs for several answers',
      () => chat({ ...CODE, ...THINKING, stream: true, n: 2 }),
      'n must be 1 when enable_code_interpreter is true (n: 2)',
    ],
  ];
  for (const [name, ask, message] of refused) {
    test(name, () => {
      assert.throws(ask, (error) => {
        assert.ok(error instanceof ServiceError);
        assert.equal(error.kind, 'invalid-request');
        assert.ok(error.message.startsWith(message), error.message);
        return true;
      });
    });
  }

  test('and what is not: agent_max that is not searched with, and a program while thinking, streamed', () => {
    assert.doesNotThrow(() => chat({ search_options: { search_strategy: 'agent_max' } }));
    const { serverTools } = decode(chat({ ...CODE, ...THINKING, stream: true }));
    assert.deepEqual(serverTools, { code: { fileIds: [] } });
  });
});

describe('what is named as not honoured', () => {
  const ALL = {
    forced_search: true,
    search_strategy: 'max',
    enable_search_extension: true,
    enable_source: true,
    enable_citation: true,
    citation_format: '[<number>]',
    prepend_search_result: true,
    freshness: 7,
    assigned_site_list: ['a.b'],
    intention_options: { prompt_intervene: 'x' },
  };
  const names = (...options: readonly string[]) => options.map((name) => `search_options.${name}`);

  test('every option without a search, but none that spells out what happens anyway', () => {
    const { intention_options: _, ...rest } = ALL;
    const all = names(...Object.keys(rest), 'intention_options.prompt_intervene');
    assert.deepEqual(ignoredOnChat(chat({ search_options: ALL })), all);
    const off = { forced_search: false, search_strategy: 'turbo', enable_source: false, assigned_site_list: [] };
    assert.deepEqual(ignoredOnChat(chat({ search_options: off })), []);
  });

  test('on chat completions what would tell sources, and with other strategies than turbo age and sites', () => {
    const silent = ['enable_source', 'enable_citation', 'citation_format', 'prepend_search_result'];
    assert.deepEqual(
      ignoredOnChat(chat({ ...SEARCHING, stream: true, search_options: ALL })),
      names(...silent, 'freshness', 'assigned_site_list'),
    );
    assert.deepEqual(
      ignoredOnChat(chat({ ...SEARCHING, search_options: { ...ALL, search_strategy: 'turbo' } })),
      names(...silent),
    );
  });

  test('natively what has no place without the sources, or without a stream', () => {
    const named = (options: object, isStreamed = false) => {
      const { wire, fields, form } = native({ ...SEARCHING, search_options: options }, { isStreamed });
      return ignoredNatively(wire, fields, form, []);
    };
    const at = (...options: readonly string[]) => options.map((name) => `parameters.search_options.${name}`);
    const turbo = { ...ALL, search_strategy: 'turbo' };
    assert.deepEqual(named(turbo, true), []);
    assert.deepEqual(named(turbo), at('prepend_search_result'));
    assert.deepEqual(
      named({ ...turbo, enable_source: false }, true),
      at('enable_citation', 'citation_format', 'prepend_search_result'),
    );
    assert.deepEqual(named({ enable_source: true, citation_format: '[<number>]' }), at('citation_format'));
  });

  test('a search or a program that generation does not hear of, once', () => {
    const { wire, fields, form } = native({ ...SEARCHING, ...CODE, ...THINKING }, { isStreamed: true });
    assert.deepEqual(ignoredNatively(wire, fields, form, ['enable_search', 'enable_code_interpreter']), [
      'parameters.enable_search',
      'parameters.enable_code_interpreter',
    ]);
    assert.deepEqual(ignoredNatively(wire, fields, form, []), []);
  });
});
