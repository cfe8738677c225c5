import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { SEARCH_HINT_CODE_POINTS_MAX } from './limits.ts';
import { decodeChatCompletion } from './compatible/chat-completions/decode.ts';
import { listIgnoredChatFields as ignoredOnChat } from './compatible/chat-completions/ignored-fields.ts';
import { checkChatRules } from './compatible/chat-completions/rules.ts';
import { ChatCompletionBody, createChatTexts } from './compatible/chat-completions/schema.ts';
import { TEST_ENTRY } from './native/generation/__fixtures__/golden-cases.ts';
import { listIgnoredGenerationFields as ignoredNatively } from './native/generation/ignored-fields.ts';
import { parseGenerationFields } from './native/generation/parse-generation-fields.ts';
import { GenerationBody, createGenerationTexts } from './native/generation/schema.ts';
import { parseBody } from './parse.ts';
import { decodeServerTools } from './fields/decode-server-tools.ts';

const messages = [{ role: 'user', content: 'Hi' }];
const SEARCHING = { enable_search: true };
const THINKING = { enable_thinking: true };
const CODE = { enable_code_interpreter: true };

const chat = (fields: object, entry = TEST_ENTRY) => {
  const { wire } = parseBody(
    ChatCompletionBody,
    { model: 'm', messages, ...fields },
    { texts: createChatTexts(entry) },
  );
  checkChatRules(wire, entry);
  return wire;
};

const native = (parameters: object, { isStreamed = false, entry = TEST_ENTRY } = {}) => {
  const body = { model: 'm', input: { messages }, parameters };
  const { wire } = parseBody(GenerationBody, body, { texts: createGenerationTexts(entry) });
  return { wire, ...parseGenerationFields(wire, entry, { isMultimodal: false, isStreamed }) };
};

const getSearch = (options: object, fields: object = {}) =>
  decodeChatCompletion(chat({ ...SEARCHING, ...fields, search_options: options })).serverTools?.search;

const searchOfNative = (options: object) =>
  decodeServerTools(native({ ...SEARCHING, search_options: options }).fields, { reportsSources: true })?.search;

describe('decoding enable_search', () => {
  test('defaults to a turbo search that the model decides on', () => {
    assert.deepEqual(decodeChatCompletion(chat(SEARCHING)).serverTools, {
      search: { strategy: 'turbo', isForced: false, usesDomainProviders: false },
    });
    assert.equal(
      decodeChatCompletion(chat({ enable_search: false, search_options: { forced_search: true } })).serverTools,
      undefined,
    );
    assert.equal(decodeChatCompletion(chat({})).serverTools, undefined);
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
      assert.equal(getSearch({ search_strategy: wire }, THINKING)?.strategy, strategy);
    });
  }

  test('only agent_max enables reading pages', () => {
    const wished = (search_strategy: string) =>
      decodeChatCompletion(chat({ ...SEARCHING, ...THINKING, search_options: { search_strategy } })).serverTools;
    assert.deepEqual(wished('agent_max')?.pages, {});
    assert.equal(wished('agent')?.pages, undefined);
  });

  test('decodes every option', () => {
    const options = {
      forced_search: true,
      enable_search_extension: true,
      freshness: 30,
      assigned_site_list: ['Example.COM', 'bücher.example'],
      intention_options: { prompt_intervene: 'Only physics.' },
    };
    assert.deepEqual(getSearch(options), {
      strategy: 'turbo',
      isForced: true,
      usesDomainProviders: true,
      freshnessDays: 30,
      sites: ['example.com', 'xn--bcher-kva.example'],
      hint: 'Only physics.',
    });
  });

  test('uses freshness and sites only with turbo', () => {
    const { freshnessDays, sites } =
      getSearch({ search_strategy: 'max', freshness: 7, assigned_site_list: ['a.b'] }) ?? {};
    assert.deepEqual([freshnessDays, sites], [undefined, undefined]);
  });

  test('uses citations only on the native interface, which reports sources', () => {
    const options = { enable_source: true, enable_citation: true };
    assert.equal(searchOfNative(options)?.citations, 'number');
    assert.equal(searchOfNative({ ...options, citation_format: '[ref_<number>]' })?.citations, 'ref-number');
    assert.equal(searchOfNative({ enable_citation: true })?.citations, undefined);
    assert.equal(getSearch(options)?.citations, undefined);
  });
});

describe('checking server tool parameters', () => {
  const translating = { ...TEST_ENTRY, interfaces: ['chat', 'translation'] as const };
  const refused: readonly (readonly [string, () => unknown, string])[] = [
    [
      'rejects an unknown strategy',
      () => getSearch({ search_strategy: 'best' }),
      'search_options.search_strategy must be one of "turbo", "max", "agent", "agent_max", "standard", "pro", got "best".',
    ],
    [
      'rejects an undocumented freshness',
      () => getSearch({ freshness: 8 }),
      'search_options.freshness must be one of 7, 30, 180, 365, got 8.',
    ],
    [
      'rejects another citation format',
      () => getSearch({ citation_format: '<1>' }),
      'search_options.citation_format must be one of "[<number>]", "[ref_<number>]", got "<1>".',
    ],
    [
      'rejects a site with a path',
      () => getSearch({ assigned_site_list: ['a.b', 'https://a.b/c'] }),
      'search_options.assigned_site_list[1] must be a host such as example.com, without scheme, port or path, got "https://a.b/c".',
    ],
    [
      'rejects more than 25 sites',
      () => getSearch({ assigned_site_list: Array.from({ length: 26 }, (_, index) => `a${index}.b`) }),
      'search_options.assigned_site_list must have at most 25 items, got an array of 26.',
    ],
    [
      'rejects a long hint',
      () => getSearch({ intention_options: { prompt_intervene: 'a'.repeat(SEARCH_HINT_CODE_POINTS_MAX + 1) } }),
      `search_options.intention_options.prompt_intervene must have at most ${SEARCH_HINT_CODE_POINTS_MAX} characters`,
    ],
    [
      'rejects agent_max without thinking',
      () => getSearch({ search_strategy: 'agent_max' }),
      'The value of the enable_thinking parameter is restricted to True. The strategy agent_max searches only while thinking (search_options.search_strategy: "agent_max")',
    ],
    [
      'rejects agent_max without thinking on the native interface',
      () => native({ ...SEARCHING, search_options: { search_strategy: 'agent_max' } }),
      'The value of the enable_thinking parameter is restricted to True. The strategy agent_max searches only while thinking (parameters.search_options.search_strategy: "agent_max")',
    ],
    [
      'rejects a search of a translation model',
      () => chat(SEARCHING, { ...TEST_ENTRY, interfaces: [...translating.interfaces] }),
      'This model does not support enable_search. (enable_search: true)',
    ],
    [
      'rejects the code interpreter of a translation model',
      () => chat(CODE, { ...TEST_ENTRY, interfaces: [...translating.interfaces] }),
      'This model does not support enable_code_interpreter. (enable_code_interpreter: true)',
    ],
    [
      'rejects the code interpreter without thinking',
      () => chat({ ...CODE, stream: true }),
      'The value of the enable_thinking parameter is restricted to True. Programs run only while thinking (enable_code_interpreter: true)',
    ],
    [
      'rejects the code interpreter without a stream',
      () => chat({ ...CODE, ...THINKING }),
      'This model only support stream mode, please enable the stream parameter to access the model. (enable_code_interpreter: true)',
    ],
    [
      'rejects the code interpreter without a stream on the native interface',
      () => native({ ...CODE, ...THINKING }),
      'This model only support stream mode, please enable the stream parameter to access the model. (parameters.enable_code_interpreter: true)',
    ],
    [
      'rejects the code interpreter with n above 1',
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

  test('accepts agent_max without a search, and the code interpreter with thinking and a stream', () => {
    assert.doesNotThrow(() => chat({ search_options: { search_strategy: 'agent_max' } }));
    const { serverTools } = decodeChatCompletion(chat({ ...CODE, ...THINKING, stream: true }));
    assert.deepEqual(serverTools, { code: { fileIds: [] } });
  });
});

describe('listing ignored search fields', () => {
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

  test('lists every option without a search, except options set to their defaults', () => {
    const { intention_options: _, ...rest } = ALL;
    const all = names(...Object.keys(rest), 'intention_options.prompt_intervene');
    assert.deepEqual(ignoredOnChat(chat({ search_options: ALL })), all);
    const off = { forced_search: false, search_strategy: 'turbo', enable_source: false, assigned_site_list: [] };
    assert.deepEqual(ignoredOnChat(chat({ search_options: off })), []);
  });

  test('lists source options on chat completions, and freshness and sites with a strategy other than turbo', () => {
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

  test('lists options on the native interface that need sources or a stream', () => {
    const named = (options: object, isStreamed = false) => {
      const { wire, fields, format } = native({ ...SEARCHING, search_options: options }, { isStreamed });
      return ignoredNatively(wire, fields, format, []);
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

  test('lists a server tool that generation ignored once', () => {
    const { wire, fields, format } = native({ ...SEARCHING, ...CODE, ...THINKING }, { isStreamed: true });
    assert.deepEqual(ignoredNatively(wire, fields, format, ['enable_search', 'enable_code_interpreter']), [
      'parameters.enable_search',
      'parameters.enable_code_interpreter',
    ]);
    assert.deepEqual(ignoredNatively(wire, fields, format, []), []);
  });
});
