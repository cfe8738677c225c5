/**
 * Bodies in the form that was recorded from the platform (wire.md 1.3, 1.4, 1.8), values of no meaning. A
 * list stands for any number of its first element.
 */
const usage = { input_tokens: 0, output_tokens: 0, prompt_tokens_details: { cached_tokens: 0 }, total_tokens: 0 };
const thoughtUsage = { ...usage, output_tokens_details: { reasoning_tokens: 0 } };
const explicitCache = { cache_creation: { ephemeral_5m_input_tokens: 0 }, cache_creation_input_tokens: 0, cache_type: '' };
const call = { index: 0, id: '', type: '', function: { name: '', arguments: '' } };
const furtherCall = { index: 0, id: '', type: '', function: { arguments: '' } };
const token = { token: '', bytes: [0], logprob: 0 };
const message = { role: '', content: '' };

const body = (output: object, counted: object = usage): object => ({ output, usage: counted, request_id: '' });
const choice = (said: object, more: object = {}): object => ({
  choices: [{ finish_reason: '', message: { ...message, ...said }, ...more }],
});

const found = { icon: '', site_name: '', index: 0, title: '', url: '' };
const searchInfo = { search_results: [found], extra_tool_info: [{ result: '', tool: '' }] };
const plugins = { search: { count: 0, strategy: '' } };
const programInfo = [{ code_interpreter: { code: '' }, type: '' }];

export const RECORDED = {
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
  prepended: body({ ...choice({}), search_info: { search_results: [found] } }, {}),
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
  // As the specification has it: recorded traffic has neither text nor status_code, code and message.
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

/** Where a value has another form than the recorded one: keys that are missing or too many, other types. */
export function differences(actual: unknown, recorded: unknown, at = ''): string[] {
  if (Array.isArray(recorded) && Array.isArray(actual)) {
    return actual.flatMap((item, index) => differences(item, recorded[0], `${at}[${index}]`));
  }
  if (isObject(recorded) && isObject(actual)) {
    const missing = Object.keys(recorded).filter((key) => !Object.hasOwn(actual, key));
    const extra = Object.keys(actual).filter((key) => !Object.hasOwn(recorded, key));
    const both = Object.keys(recorded).filter((key) => Object.hasOwn(actual, key));
    return [
      ...missing.map((key) => `${at}.${key} is missing`),
      ...extra.map((key) => `${at}.${key} is too many`),
      ...both.flatMap((key) => differences(actual[key], recorded[key], `${at}.${key}`)),
    ];
  }
  const isNull = actual === null && at.endsWith('.logprob');
  return typeOf(actual) === typeOf(recorded) || isNull ? [] : [`${at} is ${typeOf(actual)}, not ${typeOf(recorded)}`];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value);
