import type { Message, Tool, ToolCall } from '../../core/message.ts';
import { textOf } from '../../core/message.ts';
import { TOOL_FORMATS } from './formats.ts';
import type { ToolFormat } from './formats.ts';

/** How calls are asked for where a template knows nothing of them. */
const PROMPTED = TOOL_FORMATS.hermes;

/** What templates are given of a tool: the shape that the field agrees on. */
export const toolForTemplate = ({ name, description, parameters }: Tool) => ({
  type: 'function',
  function: { name, description, parameters: typeof parameters === 'object' ? parameters : NO_PARAMETERS },
});

const NO_PARAMETERS = { type: 'object', properties: {} };

/** Tells a model what it may call and how, in the conversation's first system message. */
export function withToolsTold(messages: readonly Message[], tools: readonly Tool[]): Message[] {
  const at = messages.findIndex(({ role }) => role === 'system' || role === 'developer');
  const system = messages[at];
  const told = { type: 'text', text: toolsText(tools) } as const;
  if (!system) return [{ role: 'system', content: [told] }, ...messages];
  const content = [...system.content, { type: 'text', text: '\n\n' } as const, told];
  return messages.with(at, { ...system, content });
}

/** The conversation without a word that only templates with tools know: calls as text, results as turns of the user. */
export function withCallsAsText(messages: readonly Message[], format: ToolFormat = PROMPTED): Message[] {
  const turns: Message[] = [];
  let results: string[] = [];
  const endResults = (): void => {
    if (results.length > 0) turns.push(saying('user', results.join('\n')));
    results = [];
  };
  for (const message of messages) {
    if (message.role === 'tool') {
      results.push(`<tool_response>\n${textOf(message)}\n</tool_response>`);
      continue;
    }
    endResults();
    const { toolCalls = [], ...rest } = message;
    const text = toolCalls.length === 0 ? '' : writeCalls(toolCalls, format);
    const blank = text !== '' && textOf(message) !== '' ? '\n' : '';
    turns.push(text === '' ? rest : { ...rest, content: [...rest.content, { type: 'text', text: blank + text }] });
  }
  endResults();
  return turns;
}

const saying = (role: Message['role'], text: string): Message => ({ role, content: [{ type: 'text', text }] });

/** As the model would have written them. */
function writeCalls(calls: readonly ToolCall[], { begin, before, between, after, separator, end }: ToolFormat): string {
  const texts = calls.map((call) => before + call.name + between + (call.arguments.trim() || '{}') + after);
  return begin + texts.join(separator) + end;
}

function toolsText(tools: readonly Tool[]): string {
  const { before, between, after } = PROMPTED;
  return [
    'You can call functions. These are described here, each in a line of JSON:',
    ...tools.map((tool) => JSON.stringify(toolForTemplate(tool).function)),
    '',
    'When one of them helps, call it: write its name and its arguments as JSON, in exactly this form.',
    `${before}NAME${between}{"PARAMETER": VALUE}${after}`,
    'What it returns comes back to you between <tool_response> and </tool_response>. When none of them helps, answer in words.',
  ].join('\n');
}
