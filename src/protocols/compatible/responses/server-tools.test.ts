import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { parseBody } from '../../parse.ts';
import { decodeResponseTurn } from './decode.ts';
import { encodeRequestFields } from './head.ts';
import { listIgnoredResponseFields } from './ignored-fields.ts';
import { checkResponseRules, checkSharedRules } from './rules.ts';
import { ResponseBody, createResponseTexts } from './schema.ts';

const ENTRY: ModelEntry = {
  name: 'm',
  description: '',
  runner: { type: 'none', reason: 'a test' },
  contextTokens: 4096,
  abilities: { thinking: 'prompted', tools: true, vision: false },
  interfaces: ['responses'],
  sampling: {},
  created: 0,
};

const SEARCH = { type: 'web_search' };
const EXTRACTOR = { type: 'web_extractor' };
const CODE = { type: 'code_interpreter' };
const WEATHER = { type: 'function', name: 'weather', parameters: {} };
const USER_MESSAGE = { type: 'message', role: 'user', content: 'Hi' } as const;
const SEARCH_OPTIONS = { strategy: 'agent', isForced: false, usesDomainProviders: false, citations: 'attached' };

const parseAndCheck = (body: object) => {
  const fields = { model: 'm', input: 'Hi', ...body };
  const { wire, unknown } = parseBody(ResponseBody, fields, { texts: createResponseTexts(ENTRY) });
  checkResponseRules(wire);
  checkSharedRules(wire, ENTRY, () => []);
  return { wire, unknown };
};

const decoded = (body: object) =>
  decodeResponseTurn(parseAndCheck(body).wire, { history: [], input: [USER_MESSAGE] }).withoutOldestTurns(0);
const listIgnored = (body: object, ...ignoredByModel: readonly string[]) =>
  listIgnoredResponseFields(parseAndCheck(body).wire, [], ignoredByModel);

describe('server tools', () => {
  test('are decoded as an agent search, pages and code', () => {
    const { serverTools, toolUse } = decoded({ tools: [SEARCH, EXTRACTOR, CODE] });
    assert.deepEqual(serverTools, { search: SEARCH_OPTIONS, pages: {}, code: { fileIds: [] } });
    assert.equal(toolUse, undefined);
    assert.equal(decoded({ tools: [WEATHER] }).serverTools, undefined);
  });

  for (const type of ['web_search_2025_08_26', 'web_search_preview', 'web_search_preview_2025_03_11']) {
    test(`${type} is decoded as web_search`, () =>
      assert.deepEqual(decoded({ tools: [{ type }] }).serverTools, { search: SEARCH_OPTIONS }));
  }

  test('are decoded with allowed domains and user location', () => {
    const tool = {
      ...SEARCH,
      filters: { allowed_domains: ['Example.com'] },
      user_location: { type: 'approximate', city: 'Kyoto', country: 'JP', region: null, timezone: 'Asia/Tokyo' },
    };
    assert.deepEqual(decoded({ tools: [tool] }).serverTools?.search, {
      ...SEARCH_OPTIONS,
      sites: ['example.com'],
      hint: 'The user is near: Kyoto, JP, time zone Asia/Tokyo.',
    });
  });

  test('are decoded with a container id or files', () => {
    const getCode = (container: unknown) => decoded({ tools: [{ ...CODE, container }] }).serverTools?.code;
    assert.deepEqual(getCode('cntr_1'), { fileIds: [], containerId: 'cntr_1' });
    assert.deepEqual(getCode({ type: 'auto', file_ids: ['file-1'] }), { fileIds: ['file-1'] });
    assert.deepEqual(getCode(null), { fileIds: [] });
  });

  test('are returned as sent', () => {
    const tools = [
      { ...SEARCH, search_context_size: 'low', x: 1 },
      { ...CODE, container: { type: 'auto' } },
    ];
    assert.partialDeepStrictEqual(encodeRequestFields(parseAndCheck({ tools }).wire, { sampling: {} }), { tools });
    assert.deepEqual(parseAndCheck({ tools }).unknown, []);
  });

  test('are limited by max_tool_calls if only one tool is offered', () => {
    assert.deepEqual(decoded({ tools: [SEARCH], max_tool_calls: 3 }).serverTools?.search?.usesMax, 3);
    assert.deepEqual(listIgnored({ tools: [SEARCH], max_tool_calls: 3 }), []);
    assert.deepEqual(decoded({ tools: [SEARCH, CODE], max_tool_calls: 3 }).serverTools, {
      search: SEARCH_OPTIONS,
      code: { fileIds: [] },
    });
    assert.deepEqual(listIgnored({ tools: [SEARCH, CODE], max_tool_calls: 3 }), ['max_tool_calls']);
  });
});

describe('tool_choice', () => {
  const summarizeOffer = (tools: readonly object[], tool_choice: unknown) => {
    const { serverTools, toolUse } = decoded({ tools, tool_choice });
    return [Object.keys(serverTools ?? {}).join(' '), serverTools?.search?.isForced, toolUse?.choice];
  };
  const allowed = (mode: string, ...tools: readonly object[]) => ({ type: 'allowed_tools', mode, tools });

  for (const [name, tools, choice, expected] of [
    ['auto lets the model decide', [SEARCH, WEATHER], 'auto', ['search', false, 'auto']],
    ['none offers nothing', [SEARCH, WEATHER], 'none', ['', undefined, undefined]],
    ['required without functions forces a search', [SEARCH, CODE], 'required', ['search code', true, undefined]],
    ['required with functions forces a function call', [SEARCH, WEATHER], 'required', ['search', false, 'required']],
    ['a search by its type', [SEARCH, WEATHER], { type: 'web_search' }, ['search', true, 'auto']],
    ['a search by an older type', [SEARCH], { type: 'web_search_preview' }, ['search', true, undefined]],
    [
      'a function by its name',
      [SEARCH, WEATHER],
      { type: 'function', name: 'weather' },
      ['search', false, { name: 'weather' }],
    ],
    [
      'allowed_tools limits the offered tools',
      [SEARCH, CODE, WEATHER],
      allowed('auto', CODE),
      ['code', undefined, undefined],
    ],
    ['allowed_tools with mode required', [SEARCH, WEATHER], allowed('required', SEARCH), ['search', true, undefined]],
  ] as const) {
    test(name, () => assert.deepEqual(summarizeOffer(tools, choice), expected));
  }

  test('is listed as ignored for tools that cannot be forced', () => {
    assert.deepEqual(listIgnored({ tools: [CODE], tool_choice: { type: 'code_interpreter' } }), ['tool_choice']);
    assert.deepEqual(listIgnored({ tools: [CODE], tool_choice: 'required' }), ['tool_choice']);
    assert.deepEqual(listIgnored({ tools: [SEARCH], tool_choice: { type: 'web_search' } }), []);
    assert.deepEqual(listIgnored({ tools: [SEARCH], tool_choice: { type: 'mcp' } }), ['tool_choice']);
  });
});

describe('checking tools refuses', () => {
  for (const [name, body, message] of [
    [
      'web_extractor without web_search',
      { tools: [WEATHER, EXTRACTOR] },
      'web_extractor needs web_search among tools (tools[1].type)',
    ],
    [
      'a choice of a tool that is not given',
      { tools: [CODE], tool_choice: { type: 'web_search' } },
      'tool_choice names a tool that is not among tools (tool_choice)',
    ],
    [
      'allowing a tool that is not given',
      { tools: [CODE], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [SEARCH] } },
      'tool_choice allows a tool that is not among tools (tool_choice.tools)',
    ],
    ['required without any tool', { tool_choice: 'required' }, 'tool_choice needs tools (tool_choice)'],
    [
      'a site with a path',
      { tools: [{ ...SEARCH, filters: { allowed_domains: ['a.b/c'] } }] },
      'tools[0].filters.allowed_domains[0] must be a host such as example.com, without scheme, port or path, got a string of 5 characters.',
    ],
    [
      'an unknown context size',
      { tools: [{ ...SEARCH, search_context_size: 'huge' }] },
      'tools[0].search_context_size must be one of "low", "medium", "high", got a string of 4 characters.',
    ],
    [
      'an invalid container',
      { tools: [{ ...CODE, container: { type: 'auto', file_ids: [1] } }] },
      'tools[0].container.file_ids[0] must be a string, got 1.',
    ],
  ] as const) {
    test(name, () => {
      assert.throws(() => parseAndCheck(body), { kind: 'invalid-request', message });
    });
  }
});

describe('listing ignored tool fields', () => {
  test('lists context size, unknown fields and repeated tools', () => {
    const tools = [
      { ...SEARCH, search_context_size: 'low', search_content_types: ['text'] },
      { ...SEARCH, search_context_size: 'medium' },
      { ...CODE, container: { type: 'auto', memory_limit: '4g', file_ids: [] } },
    ];
    assert.deepEqual(listIgnored({ tools }), [
      'tools[0].search_context_size',
      'tools[0].search_content_types',
      'tools[1]',
      'tools[2].container.memory_limit',
    ]);
  });

  test('lists a tool that generation ignored', () => {
    const tools = [WEATHER, CODE, SEARCH, EXTRACTOR];
    assert.deepEqual(listIgnored({ tools }), []);
    assert.deepEqual(listIgnored({ tools }, 'enable_search'), ['tools[2]']);
    assert.deepEqual(listIgnored({ tools }, 'enable_code_interpreter', 'web_extractor'), ['tools[1]', 'tools[3]']);
  });

  test('lists an unsupported include', () => {
    const include = ['web_search_call.action.sources', 'code_interpreter_call.outputs', 'web_search_call.results'];
    assert.deepEqual(listIgnored({ include }), ['include(web_search_call.results)']);
  });
});
