import type { Message, ContentPart, Tool, ToolCall } from '../../../core/message.ts';
import { NO_STOP, type GenerationRequest, type OutputFormat } from '../../../core/request.ts';
import { omitNullish } from '../../../lib/omit-nullish.ts';
import { isPastResult, isPastUse, decodePastCall, renderPastResult } from './past-blocks.ts';
import { isEmptySystemTurn, findPrefillTurns } from './prefill.ts';
import {
  isCustomTool,
  type CustomTool,
  type InnerBlockWire,
  type MessagesWire,
  type PromptWire,
  type MessagesBlockWire,
  type MessagesTurnWire,
} from './schema.ts';
import { decodeMessagesServerTools } from './server-tools.ts';
import { decodeThinking } from './thinking.ts';

/** Converts a request that schema.ts and rules.ts have checked. */
export function decodeMessagesRequest(wire: MessagesWire): GenerationRequest {
  return {
    ...decodePrompt(wire),
    sampling: omitNullish({ temperature: wire.temperature, topP: wire.top_p, topK: wire.top_k }),
    stop: { strings: (wire.stop_sequences ?? []).map((each) => each.toWellFormed()), tokens: [] },
    maxTokens: wire.max_tokens,
  };
}

/** Converts the fields that form the prompt; used without the others to count tokens. */
export function decodePrompt(wire: PromptWire): GenerationRequest {
  const messages = [...decodeSystem(wire.system), ...decodeTurns(wire.messages)];
  const thinking = decodeThinking(wire);
  return {
    model: wire.model,
    messages: wire.cache_control ? addCacheMarkAtEnd(messages) : messages,
    sampling: {},
    stop: NO_STOP,
    choices: 1,
    // Clients of this interface send thinking back so that the model sees it again. For a model that must not think it
    // would be an example to imitate.
    ...(thinking ? { thinking, preserveThinking: true } : {}),
    ...omitNullish({
      ...decodeToolUse(wire),
      serverTools: decodeMessagesServerTools(wire),
      outputFormat: decodeFormat(wire),
    }),
  };
}

function decodeSystem(system: PromptWire['system']): readonly Message[] {
  const content = typeof system === 'string' ? [createTextPart(system)] : (system ?? []).map(decodeText);
  if (content.every((part) => part.type === 'text' && part.text === '')) return [];
  return [{ role: 'system', content }];
}

/** Consecutive turns of one role become one message; a tool result becomes a message at its position. */
function decodeTurns(turns: readonly MessagesTurnWire[]): readonly Message[] {
  const sameRoleRuns: [Message, ...Message[]][] = [];
  for (const message of turns.flatMap((turn) => (isEmptySystemTurn(turn) ? [] : decodeTurn(turn)))) {
    const last = sameRoleRuns.at(-1);
    if (last && last[0].role === message.role && message.role !== 'tool') last.push(message);
    else sameRoleRuns.push([message]);
  }
  const messages = sameRoleRuns.map(joinMessages);
  const last = messages.at(-1);
  return last?.role === 'assistant' && findPrefillTurns(turns).length > 0
    ? messages.with(-1, { ...last, partial: true })
    : messages;
}

/** Joins all messages at once: joining them one by one would copy the content before each. */
function joinMessages(run: readonly [Message, ...Message[]]): Message {
  const [first] = run;
  if (run.length === 1) return first;
  const content: ContentPart[] = [];
  for (const message of run) {
    if (content.length > 0 && message.content.length > 0) content.push(createTextPart('\n\n'));
    for (const part of message.content) content.push(part);
  }
  const reasoning = run.flatMap((message) => message.reasoning ?? []).join('\n');
  const toolCalls = run.flatMap((message) => message.toolCalls ?? []);
  return {
    role: first.role,
    content,
    ...(reasoning === '' ? {} : { reasoning }),
    ...(toolCalls.length > 0 ? { toolCalls } : {}),
  };
}

function decodeTurn({ role, content }: MessagesTurnWire): readonly Message[] {
  if (typeof content === 'string') return [{ role, content: [createTextPart(content)] }];
  return role === 'assistant' ? decodeAssistant(content) : decodeUser(role, content);
}

/** Server tool calls split an assistant turn: each call is followed by a message with its result as data. */
function decodeAssistant(blocks: readonly MessagesBlockWire[]): readonly Message[] {
  if (!blocks.some(isPastResult)) return [decodeAssistantBlocks(blocks)];
  const callsById = new Map(blocks.filter(isPastUse).map((use) => [use.id, use]));
  const messages: Message[] = [];
  let pendingBlocks: MessagesBlockWire[] = [];
  for (const block of blocks) {
    if (!isPastResult(block)) {
      pendingBlocks.push(block);
      continue;
    }
    const { toolCalls = [], ...message } = decodeAssistantBlocks(pendingBlocks);
    messages.push(
      { ...message, toolCalls: [...toolCalls, decodePastCall(block, callsById.get(block.tool_use_id))] },
      { role: 'tool', toolCallId: block.tool_use_id, content: [createTextPart(renderPastResult(block))] },
    );
    pendingBlocks = [];
  }
  return pendingBlocks.some(({ type }) => type !== 'server_tool_use')
    ? [...messages, decodeAssistantBlocks(pendingBlocks)]
    : messages;
}

function decodeAssistantBlocks(blocks: readonly MessagesBlockWire[]): Message {
  const thoughts = blocks.flatMap((block) => (block.type === 'thinking' ? [block.thinking.toWellFormed()] : []));
  const toolCalls = blocks.flatMap((block): ToolCall[] =>
    block.type === 'tool_use'
      ? [{ id: block.id, name: block.name.toWellFormed(), arguments: JSON.stringify(block.input).toWellFormed() }]
      : [],
  );
  return {
    role: 'assistant',
    content: decodeParts(blocks),
    ...(thoughts.length > 0 ? { reasoning: thoughts.join('\n') } : {}),
    ...(toolCalls.length > 0 ? { toolCalls } : {}),
  };
}

function decodeUser(role: 'user' | 'system', blocks: readonly MessagesBlockWire[]): readonly Message[] {
  const messages: Message[] = [];
  let pendingBlocks: MessagesBlockWire[] = [];
  const flush = (): void => {
    const content = decodeParts(pendingBlocks);
    if (content.length > 0) messages.push({ role, content });
    pendingBlocks = [];
  };
  for (const block of blocks) {
    if (block.type !== 'tool_result') {
      pendingBlocks.push(block);
      continue;
    }
    flush();
    messages.push({ role: 'tool', toolCallId: block.tool_use_id, content: decodeResult(block) });
  }
  flush();
  return messages;
}

/** Templates have no field for failed calls, so the result's text says it. */
function decodeResult({
  content,
  is_error: isError,
  cache_control,
}: Extract<MessagesBlockWire, { readonly type: 'tool_result' }>): readonly ContentPart[] {
  const inner = typeof content === 'string' ? [createTextPart(content)] : decodeParts(content ?? []);
  const parts = isError ? [createTextPart('Error: '), ...inner] : inner;
  return cache_control ? addCacheMarkToLastText(parts) : parts;
}

/** Joins text blocks without a separator; documents and search results are separated by blank lines. */
function decodeParts(blocks: readonly InnerBlockWire[]): readonly ContentPart[] {
  const parts: ContentPart[] = [];
  let wasSeparate = false;
  for (const block of blocks) {
    const decoded = decodePart(block);
    const isSeparate = block.type === 'document' || block.type === 'search_result';
    if (parts.length > 0 && decoded.length > 0 && (isSeparate || wasSeparate)) parts.push(createTextPart('\n\n'));
    parts.push(...decoded);
    if (decoded.length > 0) wasSeparate = isSeparate;
  }
  return parts;
}

function decodePart(block: InnerBlockWire): readonly ContentPart[] {
  switch (block.type) {
    case 'text':
      return [decodeText(block)];
    case 'image': {
      const { source } = block;
      if (source.type === 'file') return []; // rejected by rules.ts
      return [
        {
          type: 'image',
          url: source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`,
        },
      ];
    }
    case 'document': {
      const { source, title, context } = block;
      const text = source.type === 'text' ? source.data : source.type === 'content' ? joinTexts(source.content) : '';
      return [decodeText({ text: prependLines([title, context], text), cache_control: block.cache_control })];
    }
    case 'search_result': {
      const { title, source, content, cache_control } = block;
      return [decodeText({ text: prependLines([title, source], joinTexts(content)), cache_control })];
    }
    case 'tool_reference':
      return [createTextPart(`${block.tool_name}\n`)];
    default:
      return [];
  }
}

/** Puts header lines before a text. */
function prependLines(lines: readonly (string | null | undefined)[], text: string): string {
  const header = lines.filter((line) => typeof line === 'string' && line !== '').join('\n');
  return header === '' ? text : `${header}\n\n${text}`;
}

const joinTexts = (content: string | readonly { readonly text: string }[]): string =>
  typeof content === 'string' ? content : content.map(({ text }) => text).join('');

const createTextPart = (text: string): Extract<ContentPart, { readonly type: 'text' }> => ({
  type: 'text',
  text: text.toWellFormed(),
});

const decodeText = ({
  text,
  cache_control,
}: Pick<Extract<MessagesBlockWire, { readonly type: 'text' }>, 'text' | 'cache_control'>): ContentPart => ({
  ...createTextPart(text),
  ...(cache_control ? { cache: 'ephemeral' as const } : {}),
});

function addCacheMarkToLastText(parts: readonly ContentPart[]): readonly ContentPart[] {
  const lastTextIndex = parts.findLastIndex(({ type }) => type === 'text');
  return parts.map((part, index) =>
    index === lastTextIndex && part.type === 'text' ? { ...part, cache: 'ephemeral' } : part,
  );
}

const addCacheMarkAtEnd = (messages: readonly Message[]): readonly Message[] =>
  messages.map((message, index) =>
    index === messages.length - 1 ? { ...message, content: addCacheMarkToLastText(message.content) } : message,
  );

function decodeToolUse({
  tools,
  tool_choice: choice,
}: PromptWire): Pick<GenerationRequest, 'toolUse' | 'uncallableTools'> {
  const allTools = tools ?? [];
  const custom = allTools.flatMap((tool, index) => (isCustomTool(tool) ? [decodeTool(tool, index)] : []));
  if (custom.length === 0) return {};
  if (choice?.type === 'none') return { uncallableTools: custom };
  return {
    toolUse: {
      tools: custom,
      choice:
        choice?.type === 'tool' && custom.some(({ name }) => name === choice.name)
          ? { name: choice.name }
          : choice?.type === 'any'
            ? 'required'
            : 'auto',
      isParallel: choice?.disable_parallel_tool_use !== true,
      // Clients of this interface assemble the pieces of an input themselves.
      streamsComplexArguments: true,
    },
  };
}

function decodeTool({ name, description, input_schema: schema }: CustomTool, index: number): Tool {
  return {
    name,
    description: description?.toWellFormed() ?? '',
    parameters: Object.keys(schema).length === 0 ? undefined : schema,
    field: `tools[${index}].input_schema`,
  };
}

function decodeFormat({ output_config: config, output_format: olderFormat }: PromptWire): OutputFormat | undefined {
  const format = config?.format ?? olderFormat;
  if (!format) return undefined;
  const field = config?.format ? 'output_config.format.schema' : 'output_format.schema';
  return { type: 'json-schema', name: 'output', schema: format.schema, field };
}
