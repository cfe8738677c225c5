import { getMessageText, type Message, type Tool, type ToolCall } from '../../core/message.ts';
import { TOOL_FORMATS, type ToolFormat } from './tool-formats.ts';

/** Format for models whose template has no tools. */
const PROMPTED_FORMAT = TOOL_FORMATS.hermes;

/** Converts a tool to the shape that templates expect. */
export const toTemplateTool = ({ name, description, parameters }: Tool) => ({
  type: 'function',
  function: { name, description, parameters: typeof parameters === 'object' ? parameters : NO_PARAMETERS },
});

const NO_PARAMETERS = { type: 'object', properties: {} };

/** Adds the tools and the call format to the conversation's first system message. */
export function addToolInstructions(messages: readonly Message[], tools: readonly Tool[]): Message[] {
  const at = messages.findIndex(({ role }) => role === 'system' || role === 'developer');
  const system = messages[at];
  const instructions = { type: 'text', text: createToolInstructions(tools) } as const;
  if (!system) return [{ role: 'system', content: [instructions] }, ...messages];
  const content = [...system.content, { type: 'text', text: '\n\n' } as const, instructions];
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
    const { toolCalls = [], ...rest } = message;
    const text = toolCalls.length === 0 ? '' : formatCalls(toolCalls, format);
    const blank = text !== '' && getMessageText(message) !== '' ? '\n' : '';
    turns.push(text === '' ? rest : { ...rest, content: [...rest.content, { type: 'text', text: blank + text }] });
  }
  flushResults();
  return turns;
}

const createTextMessage = (role: Message['role'], text: string): Message => ({
  role,
  content: [{ type: 'text', text }],
});

/** Formats calls as the model would have written them. */
function formatCalls(
  calls: readonly ToolCall[],
  { begin, before, between, after, separator, end }: ToolFormat,
): string {
  const texts = calls.map((call) => before + call.name + between + (call.arguments.trim() || '{}') + after);
  return begin + texts.join(separator) + end;
}

function createToolInstructions(tools: readonly Tool[]): string {
  const { before, between, after } = PROMPTED_FORMAT;
  return [
    'You can call functions. These are described here, each in a line of JSON:',
    ...tools.map((tool) => JSON.stringify(toTemplateTool(tool).function)),
    '',
    'When one of them helps, call it: write its name and its arguments as JSON, in exactly this form.',
    `${before}NAME${between}{"PARAMETER": VALUE}${after}`,
    'What it returns comes back to you between <tool_response> and </tool_response>. When none of them helps, answer in words.',
  ].join('\n');
}
