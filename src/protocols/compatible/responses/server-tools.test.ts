import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { parseBody } from '../../parse.ts';
import { decode } from './decode.ts';
import { askedFields } from './head.ts';
import { ignoredFields } from './ignored-fields.ts';
import { checkRules, checkShared } from './rules.ts';
import { ResponseBody, responseTexts } from './schema.ts';

const ENTRY: ModelEntry = {
  name: 'm',
  description: '',
  runs: { type: 'none', reason: 'a test' },
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
const SPOKEN = { type: 'message', role: 'user', content: 'Hi' } as const;
const WISH = { strategy: 'agent', isForced: false, withDomains: false, citations: 'attached' };

const read = (body: object) => {
  const asked = { model: 'm', input: 'Hi', ...body };
  const { wire, unknown } = parseBody(ResponseBody, asked, { texts: responseTexts(ENTRY) });
  checkRules(wire);
  checkShared(wire, ENTRY, () => []);
  return { wire, unknown };
};

const decoded = (body: object) => decode(read(body).wire, { history: [], input: [SPOKEN] }).without(0);
const named = (body: object, ...unheard: readonly string[]) => ignoredFields(read(body).wire, [], unheard);

describe('tools that run here', () => {
  test('are wishes for searches until there is enough, pages and programs', () => {
    const { serverTools, toolUse } = decoded({ tools: [SEARCH, EXTRACTOR, CODE] });
    assert.deepEqual(serverTools, { search: WISH, pages: {}, code: { fileIds: [] } });
    assert.equal(toolUse, undefined);
    assert.equal(decoded({ tools: [WEATHER] }).serverTools, undefined);
  });

  for (const type of ['web_search_2025_08_26', 'web_search_preview', 'web_search_preview_2025_03_11']) {
    test(`${type} is a web_search`, () =>
      assert.deepEqual(decoded({ tools: [{ type }] }).serverTools, { search: WISH }));
  }

  test('say where to search, and where the user is', () => {
    const tool = {
      ...SEARCH,
      filters: { allowed_domains: ['Example.com'] },
      user_location: { type: 'approximate', city: 'Kyoto', country: 'JP', region: null, timezone: 'Asia/Tokyo' },
    };
    assert.deepEqual(decoded({ tools: [tool] }).serverTools?.search, {
      ...WISH,
      sites: ['example.com'],
      hint: 'The user is near: Kyoto, JP, time zone Asia/Tokyo.',
    });
  });

  test('have a container, or files for one', () => {
    const codeOf = (container: unknown) => decoded({ tools: [{ ...CODE, container }] }).serverTools?.code;
    assert.deepEqual(codeOf('cntr_1'), { fileIds: [], containerId: 'cntr_1' });
    assert.deepEqual(codeOf({ type: 'auto', file_ids: ['file-1'] }), { fileIds: ['file-1'] });
    assert.deepEqual(codeOf(null), { fileIds: [] });
  });

  test('are told back as they were sent', () => {
    const tools = [
      { ...SEARCH, search_context_size: 'low', x: 1 },
      { ...CODE, container: { type: 'auto' } },
    ];
    assert.partialDeepStrictEqual(askedFields(read({ tools }).wire, { sampling: {} }), { tools });
    assert.deepEqual(read({ tools }).unknown, []);
  });

  test('may be used so often, where it is known which', () => {
    assert.deepEqual(decoded({ tools: [SEARCH], max_tool_calls: 3 }).serverTools?.search?.usesMax, 3);
    assert.deepEqual(named({ tools: [SEARCH], max_tool_calls: 3 }), []);
    assert.deepEqual(decoded({ tools: [SEARCH, CODE], max_tool_calls: 3 }).serverTools, {
      search: WISH,
      code: { fileIds: [] },
    });
    assert.deepEqual(named({ tools: [SEARCH, CODE], max_tool_calls: 3 }), ['max_tool_calls']);
  });
});

describe('tool_choice', () => {
  const offered = (tools: readonly object[], tool_choice: unknown) => {
    const { serverTools, toolUse } = decoded({ tools, tool_choice });
    return [Object.keys(serverTools ?? {}).join(' '), serverTools?.search?.isForced, toolUse?.choice];
  };
  const allowed = (mode: string, ...tools: readonly object[]) => ({ type: 'allowed_tools', mode, tools });

  for (const [name, tools, choice, expected] of [
    ['auto leaves it to the model', [SEARCH, WEATHER], 'auto', ['search', false, 'auto']],
    ['none offers nothing', [SEARCH, WEATHER], 'none', ['', undefined, undefined]],
    ['required without functions is a search', [SEARCH, CODE], 'required', ['search code', true, undefined]],
    ['required with functions is a call of one', [SEARCH, WEATHER], 'required', ['search', false, 'required']],
    ['a search by its name', [SEARCH, WEATHER], { type: 'web_search' }, ['search', true, 'auto']],
    ['a search by its older name', [SEARCH], { type: 'web_search_preview' }, ['search', true, undefined]],
    [
      'a function by its name',
      [SEARCH, WEATHER],
      { type: 'function', name: 'weather' },
      ['search', false, { name: 'weather' }],
    ],
    [
      'allowed tools are offered and no others',
      [SEARCH, CODE, WEATHER],
      allowed('auto', CODE),
      ['code', undefined, undefined],
    ],
    ['one of the allowed is required', [SEARCH, WEATHER], allowed('required', SEARCH), ['search', true, undefined]],
  ] as const) {
    test(name, () => assert.deepEqual(offered(tools, choice), expected));
  }

  test('is named where it asks for what nobody can force', () => {
    assert.deepEqual(named({ tools: [CODE], tool_choice: { type: 'code_interpreter' } }), ['tool_choice']);
    assert.deepEqual(named({ tools: [CODE], tool_choice: 'required' }), ['tool_choice']);
    assert.deepEqual(named({ tools: [SEARCH], tool_choice: { type: 'web_search' } }), []);
    assert.deepEqual(named({ tools: [SEARCH], tool_choice: { type: 'mcp' } }), ['tool_choice']);
  });
});

describe('refused is', () => {
  for (const [name, body, message] of [
    [
      'an extractor alone',
      { tools: [WEATHER, EXTRACTOR] },
      'web_extractor needs web_search among tools (tools[1].type)',
    ],
    [
      'a choice of what is not offered',
      { tools: [CODE], tool_choice: { type: 'web_search' } },
      'tool_choice names a tool that is not among tools (tool_choice)',
    ],
    [
      'to allow what is not offered',
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
      'an unknown size of context',
      { tools: [{ ...SEARCH, search_context_size: 'huge' }] },
      'tools[0].search_context_size must be one of "low", "medium", "high", got a string of 4 characters.',
    ],
    [
      'a container that is none',
      { tools: [{ ...CODE, container: { type: 'auto', file_ids: [1] } }] },
      'tools[0].container.file_ids[0] must be a string, got 1.',
    ],
  ] as const) {
    test(name, () => {
      assert.throws(() => read(body), { kind: 'invalid-request', message });
    });
  }
});

describe('named as not honoured is', () => {
  test('how much of what is found goes into the prompt, and what such a tool has besides', () => {
    const tools = [
      { ...SEARCH, search_context_size: 'low', search_content_types: ['text'] },
      { ...SEARCH, search_context_size: 'medium' },
      { ...CODE, container: { type: 'auto', memory_limit: '4g', file_ids: [] } },
    ];
    assert.deepEqual(named({ tools }), [
      'tools[0].search_context_size',
      'tools[0].search_content_types',
      'tools[1]',
      'tools[2].container.memory_limit',
    ]);
  });

  test('a tool that generation does not hear of', () => {
    const tools = [WEATHER, CODE, SEARCH, EXTRACTOR];
    assert.deepEqual(named({ tools }), []);
    assert.deepEqual(named({ tools }, 'enable_search'), ['tools[2]']);
    assert.deepEqual(named({ tools }, 'enable_code_interpreter', 'web_extractor'), ['tools[1]', 'tools[3]']);
  });

  test('an include that no item has', () => {
    const include = ['web_search_call.action.sources', 'code_interpreter_call.outputs', 'web_search_call.results'];
    assert.deepEqual(named({ include }), ['include(web_search_call.results)']);
  });
});
