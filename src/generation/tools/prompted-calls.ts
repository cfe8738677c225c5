import { getMessageText, type Message, type Tool } from '../../core/message.ts';
import { isRecord } from '../../lib/is-record.ts';
import { formatCalls } from './format-calls.ts';
import { TOOL_FORMATS, type ToolFormat } from './tool-formats.ts';

/** Format for models whose template has no tools. */
const PROMPTED_FORMAT = TOOL_FORMATS.hermes;

/** A tool in the shape that templates expect. */
export interface TemplateTool {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description?: string; readonly parameters: object };
}

/** Converts a tool for templates, which tell a tool without a description from one with an empty description. */
export const toTemplateTool = ({ name, description, parameters }: Tool): TemplateTool => ({
  type: 'function',
  function: {
    name,
    ...(description === '' ? {} : { description }),
    parameters: typeof parameters === 'object' ? parameters : NO_PARAMETERS,
  },
});

/** Converts a tool for templates that need descriptions of it and of its parameters, and complete types. */
export function toDescribedTool(tool: Tool): TemplateTool {
  const { type, function: described } = toTemplateTool(tool);
  const { properties, ...schema } = described.parameters as { readonly properties?: unknown };
  const parameters = {
    ...NO_PARAMETERS,
    ...schema,
    properties: isRecord(properties) ? Object.fromEntries(Object.entries(properties).map(describeProperty)) : {},
  };
  return { type, function: { description: '', ...described, parameters } };
}

/** Adds what JSON Schema lets a schema leave out, with its meaning. */
const describeProperty = ([name, schema]: readonly [string, unknown]): [string, unknown] => [
  name,
  isRecord(schema)
    ? {
        description: '',
        ...(schema['type'] === 'array' ? { items: {} } : {}),
        ...(schema['type'] === 'object' ? { additionalProperties: {} } : {}),
        ...schema,
      }
    : schema,
];

const NO_PARAMETERS = { type: 'object', properties: {} };

/**
 * Adds the tools and the call format to the conversation's first system message.
 *
 * @param format The format that the model was trained on, if its template does not describe tools.
 */
export function addToolInstructions(
  messages: readonly Message[],
  tools: readonly Tool[],
  format: ToolFormat = PROMPTED_FORMAT,
): Message[] {
  return addToSystemMessage(messages, createToolInstructions(tools, format));
}

/** Adds a paragraph to the conversation's first system message, or a system message before it. */
export function addToSystemMessage(messages: readonly Message[], text: string): Message[] {
  const at = messages.findIndex(({ role }) => role === 'system' || role === 'developer');
  const system = messages[at];
  const paragraph = { type: 'text', text } as const;
  if (!system) return [{ role: 'system', content: [paragraph] }, ...messages];
  const content = [...system.content, { type: 'text', text: '\n\n' } as const, paragraph];
  return messages.with(at, { ...system, content });
}

/** Converts calls to text and results to user messages, for templates without tools. */
export function renderCallsAsText(messages: readonly Message[], format: ToolFormat = PROMPTED_FORMAT): Message[] {
  const turns: Message[] = [];
  let results: string[] = [];
  const flushResults = (): void => {
    if (results.length > 0) turns.push(createTextMessage('user', results.join('\n')));
    results = [];
  };
  for (const message of messages) {
    if (message.role === 'tool') {
      results.push(`<tool_response>\n${getMessageText(message)}\n</tool_response>`);
      continue;
    }
    flushResults();
    turns.push(writeCalls(message, format));
  }
  flushResults();
  return turns;
}

/** Adds the calls of a message to its text. */
export function writeCalls({ toolCalls = [], ...rest }: Message, format: ToolFormat): Message {
  if (toolCalls.length === 0) return rest;
  const blank = getMessageText(rest) === '' ? '' : '\n';
  return { ...rest, content: [...rest.content, { type: 'text', text: blank + formatCalls(toolCalls, format) }] };
}

const createTextMessage = (role: Message['role'], text: string): Message => ({
  role,
  content: [{ type: 'text', text }],
});

function createToolInstructions(tools: readonly Tool[], format: ToolFormat): string {
  const isJson = !format.arguments || format.arguments.type === 'json';
  const example = formatCalls(
    [{ name: 'NAME', arguments: isJson ? '{"PARAMETER": VALUE}' : '{"PARAMETER": "VALUE"}' }],
    format,
  );
  return [
    'You can call functions. These are described here, each in a line of JSON:',
    ...tools.map((tool) => JSON.stringify(toTemplateTool(tool).function)),
    '',
    `When one of them helps, call it: write its name and its arguments${isJson ? ' as JSON' : ''}, in exactly this form.`,
    example,
    'What it returns comes back to you between <tool_response> and </tool_response>. When none of them helps, answer in words.',
  ].join('\n');
}
