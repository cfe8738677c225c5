import { isRecord } from '../../../../lib/is-record.ts';

/**
 * Response bodies with the keys and types recorded from the vendor's service; values have no meaning. A list stands for
 * any number of elements like its first one (docs/wire/dashscope-native.md#generation-response).
 */
const usage = { input_tokens: 0, output_tokens: 0, prompt_tokens_details: { cached_tokens: 0 }, total_tokens: 0 };
const thoughtUsage = { ...usage, output_tokens_details: { reasoning_tokens: 0 } };
const explicitCache = { cache_creation: { ephemeral_5m_input_tokens: 0 }, cache_creation_input_tokens: 0, cache_type: '' };
const call = { index: 0, id: '', type: '', function: { name: '', arguments: '' } };
const furtherCall = { index: 0, id: '', type: '', function: { arguments: '' } };
const token = { token: '', bytes: [0], logprob: 0 };
const message = { role: '', content: '' };

const body = (output: object, bodyUsage: object = usage): object => ({ output, usage: bodyUsage, request_id: '' });
const choice = (messageFields: object, choiceFields: object = {}): object => ({
  choices: [{ finish_reason: '', message: { ...message, ...messageFields }, ...choiceFields }],
});

const source = { icon: '', site_name: '', index: 0, title: '', url: '' };
const searchInfo = { search_results: [source], extra_tool_info: [{ result: '', tool: '' }] };
const plugins = { search: { count: 0, strategy: '' } };
const programInfo = [{ code_interpreter: { code: '' }, type: '' }];

export const RECORDED_BODIES = {
  searched: body({ ...choice({}), search_info: searchInfo }),
  searchedAtEnd: body({ ...choice({}), search_info: searchInfo }, { ...usage, plugins }),
  searchedText: body({ finish_reason: '', text: '', search_info: searchInfo }),
  searchedTextAtEnd: body({ finish_reason: '', text: '', search_info: searchInfo }, { ...usage, plugins }),
  searchedParts: body(
    { ...choice({ content: [{ text: '' }] }), search_info: searchInfo },
    { ...usage, input_tokens_details: { text_tokens: 0 }, output_tokens_details: { text_tokens: 0 } },
  ),
  searchedPartsAtEnd: body(
    { ...choice({ content: [{ text: '' }] }), search_info: searchInfo },
    { ...usage, input_tokens_details: { text_tokens: 0 }, output_tokens_details: { text_tokens: 0 }, plugins },
  ),
  counted: body(choice({}), { ...usage, plugins }),
  prepended: body({ ...choice({}), search_info: { search_results: [source] } }, {}),
  prependedWithDomains: body({ ...choice({ reasoning_content: '' }), search_info: searchInfo }, {}),
  thoughtSearched: body({ ...choice({ reasoning_content: '' }), search_info: searchInfo }, thoughtUsage),
  thoughtSearchedAtEnd: body({ ...choice({ reasoning_content: '' }), search_info: searchInfo }, { ...thoughtUsage, plugins }),
  program: body({ ...choice({ reasoning_content: '' }), tool_info: programInfo }, thoughtUsage),
  programs: body(
    { ...choice({ reasoning_content: '' }), tool_info: programInfo },
    { ...thoughtUsage, plugins: { code_interpreter: { count: 0 } } },
  ),
  programsAtEnd: body(choice({ reasoning_content: '' }), {
    ...thoughtUsage,
    plugins: { code_interpreter: { count: 0 } },
  }),
  text: body({ finish_reason: '', text: '' }),
  message: body(choice({})),
  cached: body(choice({}), { ...usage, prompt_tokens_details: { cached_tokens: 0, ...explicitCache } }),
  thought: body(choice({ reasoning_content: '' }), thoughtUsage),
  call: body(choice({ tool_calls: [call] })),
  furtherCall: body(choice({ tool_calls: [furtherCall] })),
  thoughtAndCall: body(choice({ reasoning_content: '', tool_calls: [call] }), thoughtUsage),
  furtherThoughtAndCall: body(choice({ reasoning_content: '', tool_calls: [furtherCall] }), thoughtUsage),
  choices: body(choice({}, { index: 0 })),
  logprobs: body(choice({}, { logprobs: { content: [{ ...token, top_logprobs: [token] }] } })),
  parts: body(choice({ content: [{ text: '' }] }), {
    ...usage,
    input_tokens_details: { text_tokens: 0 },
    output_tokens_details: { text_tokens: 0 },
  }),
  partsAndThought: body(choice({ content: [{ text: '' }], reasoning_content: '' }), {
    ...usage,
    input_tokens_details: { text_tokens: 0 },
    output_tokens_details: { text_tokens: 0, reasoning_tokens: 0 },
  }),
  partsAndCall: body(choice({ content: [{ text: '' }], tool_calls: [call] }), {
    ...usage,
    input_tokens_details: { text_tokens: 0 },
    output_tokens_details: { text_tokens: 0 },
  }),
  partsAndFurtherCall: body(choice({ content: [{ text: '' }], tool_calls: [furtherCall] }), {
    ...usage,
    input_tokens_details: { text_tokens: 0 },
    output_tokens_details: { text_tokens: 0 },
  }),
  // From the specification: recorded traffic lacks text, status_code, code and message.
  translation: {
    status_code: 0,
    code: '',
    message: '',
    ...body(
      { text: null, finish_reason: '', ...choice({}), model_name: '' },
      { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    ),
  },
} as const satisfies Record<string, object>;

/** Lists keys that are missing or unexpected and values of another type than recorded. */
export function listDifferences(actual: unknown, recorded: unknown, path = ''): string[] {
  if (Array.isArray(recorded) && Array.isArray(actual)) {
    return actual.flatMap((item, index) => listDifferences(item, recorded[0], `${path}[${index}]`));
  }
  if (isRecord(recorded) && isRecord(actual)) {
    const missing = Object.keys(recorded).filter((key) => !Object.hasOwn(actual, key));
    const extra = Object.keys(actual).filter((key) => !Object.hasOwn(recorded, key));
    const both = Object.keys(recorded).filter((key) => Object.hasOwn(actual, key));
    return [
      ...missing.map((key) => `${path}.${key} is missing`),
      ...extra.map((key) => `${path}.${key} is unexpected`),
      ...both.flatMap((key) => listDifferences(actual[key], recorded[key], `${path}.${key}`)),
    ];
  }
  const isNull = actual === null && path.endsWith('.logprob');
  return getTypeName(actual) === getTypeName(recorded) || isNull ? [] : [`${path} is ${getTypeName(actual)}, not ${getTypeName(recorded)}`];
}

const getTypeName = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value);
