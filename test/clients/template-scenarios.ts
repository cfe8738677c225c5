/** Conversations for which a chat template is rendered, as transformers passes them to it. */

const getParameters = (described: boolean) => ({
  type: 'object',
  properties: {
    city: { type: 'string', ...(described ? { description: 'The city é' } : {}) },
    days: { type: 'integer', default: 3 },
    units: { type: 'string', enum: ['c', 'f'] },
    options: {
      type: 'object',
      properties: { x: { type: ['number', 'null'] }, list: { type: 'array', items: { type: 'string' } } },
      required: ['x'],
    },
  },
  required: ['city'],
});

const toTool = (name: string, parameters: object, description?: string) => ({
  type: 'function',
  function: { name, ...(description === undefined ? {} : { description }), parameters },
});

const TOOLS = [
  toTool('get_weather', getParameters(true), 'Returns the weather <now> & "later" in a city\'s area.'),
  toTool('get_time', { type: 'object', properties: { zone: { type: 'string' } }, additionalProperties: false }, 'Time'),
];
const UNDESCRIBED_TOOLS = [
  toTool('get_weather', getParameters(false)),
  toTool('stop', { type: 'object', properties: {} }),
];

const SYSTEM = { role: 'system', content: ' You are helpful. ' };
const USER = { role: 'user', content: 'Hello  there!\nHow are you? </think> <tool_call>' };
const ANSWER = { role: 'assistant', content: 'I am fine.\n\nYou?' };
const NEXT = { role: 'user', content: 'Good' };
const ARGUMENTS = {
  get_weather: { city: 'Zürich "x"', days: 3, options: { x: 1.5, list: ['a', 'b'] }, now: true, none: null },
  get_time: { zone: 'UTC' },
};

/** Forms of calls in messages; a template may take only some of them. */
interface CallForm {
  readonly asText: boolean;
  /** Content of a message that has only calls. */
  readonly empty: string | null;
}

const FORMS: readonly CallForm[] = [true, false].flatMap((asText) => [
  { asText, empty: '' },
  { asText, empty: null },
]);

type ToolName = keyof typeof ARGUMENTS;

const toCall = (name: ToolName, index: number, { asText }: CallForm) => ({
  id: `call_0000${index}`,
  type: 'function',
  function: { name, arguments: asText ? JSON.stringify(ARGUMENTS[name]) : ARGUMENTS[name] },
});

const toCalls = (names: readonly ToolName[], form: CallForm, more: object = {}) => ({
  role: 'assistant',
  content: form.empty,
  tool_calls: names.map((name, i) => toCall(name, i, form)),
  ...more,
});

const toResult = (name: ToolName, index: number, content: string) => ({
  role: 'tool',
  tool_call_id: `call_0000${index}`,
  name,
  content,
});

function createCallScenarios(form: CallForm): Record<string, Readonly<Record<string, unknown>>> {
  const one = [USER, toCalls(['get_weather'], form), toResult('get_weather', 0, '{"t": 21}')];
  const two = [
    USER,
    toCalls(['get_weather', 'get_time'], form),
    toResult('get_weather', 0, 'sunny'),
    toResult('get_time', 1, '12:00'),
  ];
  const thought = toCalls(['get_weather'], form, { reasoning_content: 'I think', content: 'Let me see' });
  return Object.fromEntries(
    Object.entries({
      'a call': { messages: one, tools: TOOLS },
      'a call after a system message': { messages: [SYSTEM, ...one], tools: TOOLS },
      'two calls': { messages: two, tools: TOOLS },
      'two calls and more turns': { messages: [...two, ANSWER, NEXT], tools: TOOLS, enable_thinking: true },
      'a call with a thought': { messages: [USER, thought, ...one.slice(2)], tools: TOOLS, enable_thinking: true },
      'a call as the last message': { messages: one.slice(0, 2), tools: TOOLS, add_generation_prompt: false },
      'a call without tools': { messages: one },
    }).map(([name, variables]) => [`${name}, ${form.asText ? 'text' : 'object'}, ${form.empty ?? 'null'}`, variables]),
  );
}

/** Variables by the name of the scenario. */
export const SCENARIOS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'one message': { messages: [USER] },
  'one message without the start of an answer': { messages: [USER], add_generation_prompt: false },
  'a system message': { messages: [SYSTEM, USER] },
  'several turns': { messages: [USER, ANSWER, NEXT, ANSWER, NEXT] },
  'several turns after a system message': { messages: [SYSTEM, USER, ANSWER, NEXT] },
  tools: { messages: [USER], tools: TOOLS },
  'tools and a system message': { messages: [SYSTEM, USER], tools: TOOLS },
  'tools without descriptions': { messages: [USER], tools: UNDESCRIBED_TOOLS },
  'thinking on': { messages: [USER], enable_thinking: true, thinking: true },
  'thinking off': { messages: [USER], enable_thinking: false, thinking: false },
  'thinking on, with tools': { messages: [SYSTEM, USER], tools: TOOLS, enable_thinking: true, thinking: true },
  'thinking off, with tools': { messages: [SYSTEM, USER], tools: TOOLS, enable_thinking: false, thinking: false },
  'low effort': { messages: [USER], reasoning_effort: 'low', enable_thinking: true },
  'high effort': { messages: [USER], reasoning_effort: 'high', enable_thinking: true },
  'an unfinished answer': {
    messages: [USER, { role: 'assistant', content: 'Sure, the' }],
    add_generation_prompt: false,
  },
  'an answer before the start of another': { messages: [USER, { role: 'assistant', content: 'Sure, the' }] },
  documents: { messages: [USER], documents: [{ title: 'Title', text: 'Text', content: 'Text', doc_id: '1' }] },
  'several parts': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ],
  },
  'a thought in the text': { messages: [USER, { role: 'assistant', content: '<think>\nhm\n</think>\n\nyes' }, NEXT] },
  'a thought in a field': {
    messages: [USER, { role: 'assistant', content: 'yes', reasoning_content: 'hm\nhm' }, NEXT],
  },
  ...Object.assign({}, ...FORMS.map(createCallScenarios)),
};
