import type { Message, Tool } from '../../src/core/message.ts';
import type { PromptStyle } from '../../src/generation/prompt-renderer.ts';

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

type Variables = Readonly<Record<string, unknown>>;

const BASE_SCENARIOS: Readonly<Record<string, Variables>> = {
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

const isSwitched = (variables: Variables): boolean => 'enable_thinking' in variables;

const OFF = { enable_thinking: false, thinking: false };

/** Variables of other names that turn thinking on, for templates that do not read the usual two. */
const OTHER_SWITCHES: Readonly<Record<string, Variables>> = {
  'with a mode': { thinking_mode: 'enabled' },
  'with an effort': { reasoning_effort: 'high' },
};

/**
 * Variables by the name of the scenario. Those without a thinking switch exist twice: without one, and with thinking off.
 * Those with thinking on exist with other switches as well.
 */
export const SCENARIOS: Readonly<Record<string, Variables>> = Object.fromEntries(
  Object.entries(BASE_SCENARIOS).flatMap(([name, variables]) => [
    [name, variables],
    ...(isSwitched(variables) ? [] : [[`${name}, off`, { ...variables, ...OFF }]]),
    ...(variables['enable_thinking'] === true
      ? Object.entries(OTHER_SWITCHES).map(([how, more]) => [`${name}, ${how}`, { ...variables, ...more }])
      : []),
  ]),
);

/** A request as Parley receives it, with the scenarios of which its prompt may equal any. */
export interface ScenarioRequest {
  readonly label: string;
  readonly messages: readonly Message[];
  readonly style: PromptStyle;
  readonly renderings: readonly string[];
}

/** Scenarios of which no request has the same meaning, or whose meaning differs between templates. */
const WITHOUT_REQUEST =
  /start of an answer|last message|unfinished|before the start|documents|several parts|thought in a field|effort/;

/** Lists the requests that have the meaning of scenarios. Calls are passed in the form that the template needs. */
export function listRequests(): ScenarioRequest[] {
  const forms = FORMS.map(({ asText, empty }) => `, ${asText ? 'text' : 'object'}, ${empty ?? 'null'}`);
  return Object.entries(BASE_SCENARIOS)
    .filter(([name]) => !WITHOUT_REQUEST.test(name))
    .filter(([name]) => !forms.slice(1).some((form) => name.endsWith(form)))
    .map(([name, variables]) => {
      const base = name.replace(forms[0] ?? '', '');
      const names = base === name ? [name] : forms.map((form) => base + form);
      const isOn = variables['enable_thinking'] === true;
      return {
        label: base,
        messages: (variables['messages'] as readonly WireMessage[]).map(toMessage),
        style: {
          ...(isOn ? { thinking: {} } : {}),
          ...(Array.isArray(variables['tools'])
            ? { tools: (variables['tools'] as readonly WireTool[]).map(toParleyTool) }
            : {}),
        },
        renderings: names.flatMap((one) => [
          one,
          `${one}, off`,
          ...Object.keys(OTHER_SWITCHES).map((how) => `${one}, ${how}`),
        ]),
      };
    });
}

interface WireMessage {
  readonly role: Message['role'];
  readonly content: string | null;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { name: string; arguments: unknown } }[];
  readonly tool_call_id?: string;
  readonly name?: string;
}

type WireTool = ReturnType<typeof toTool>;

const toMessage = ({ role, content, reasoning_content, tool_calls, tool_call_id, name }: WireMessage): Message => ({
  role,
  content: content === null || content === '' ? [] : [{ type: 'text', text: content }],
  ...(name === undefined ? {} : { name }),
  ...(reasoning_content === undefined ? {} : { reasoning: reasoning_content }),
  ...(tool_call_id === undefined ? {} : { toolCallId: tool_call_id }),
  ...(tool_calls === undefined
    ? {}
    : {
        toolCalls: tool_calls.map(({ id, function: called }) => ({
          id,
          name: called.name,
          arguments: String(called.arguments),
        })),
      }),
});

const toParleyTool = ({ function: { name, description = '', parameters } }: WireTool): Tool => ({
  name,
  description,
  parameters: parameters as NonNullable<Tool['parameters']>,
  field: 'tools',
});
