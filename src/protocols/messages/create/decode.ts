import type { Message, Part, Tool, ToolCall } from '../../../core/message.ts';
import { NO_STOP } from '../../../core/request.ts';
import type { GenerationRequest, OutputFormat, ToolUse } from '../../../core/request.ts';
import { present } from '../../../lib/present.ts';
import { isPastResult, isPastUse, pastCall, pastText } from './past-blocks.ts';
import { isSilent, prefillOf } from './prefill.ts';
import { isCustom } from './schema.ts';
import type { CustomTool, InnerBlock, MessagesWire, PromptWire, WireBlock, WireTurn } from './schema.ts';
import { serverToolsOf } from './server-tools.ts';
import { decodeThinking } from './thinking.ts';

/** The wire's words in ours. The wire was checked by schema.ts and rules.ts. */
export function decode(wire: MessagesWire): GenerationRequest {
  return {
    ...decodePrompt(wire),
    sampling: present({ temperature: wire.temperature, topP: wire.top_p, topK: wire.top_k }),
    stop: { strings: (wire.stop_sequences ?? []).map((each) => each.toWellFormed()), tokens: [] },
    maxTokens: wire.max_tokens,
  };
}

/** What the prompt is made of, for a request without an answer. */
export function decodePrompt(wire: PromptWire): GenerationRequest {
  const messages = [...decodeSystem(wire.system), ...decodeTurns(wire.messages)];
  const thinking = decodeThinking(wire);
  return {
    model: wire.model,
    messages: wire.cache_control ? withMarkAtEnd(messages) : messages,
    sampling: {},
    stop: NO_STOP,
    choices: 1,
    // Thoughts come back in these clients' messages so that the model sees them again; to one that shall not think, they
    // would be an example of how to answer.
    ...(thinking ? { thinking, preserveThinking: true } : {}),
    ...present({
      toolUse: decodeToolUse(wire),
      serverTools: serverToolsOf(wire),
      outputFormat: decodeFormat(wire),
    }),
  };
}

function decodeSystem(system: PromptWire['system']): readonly Message[] {
  const content = typeof system === 'string' ? [textPart(system)] : (system ?? []).map(decodeText);
  if (content.every((part) => part.type === 'text' && part.text === '')) return [];
  return [{ role: 'system', content }];
}

/** Turns of one role in a row are one message; a result of a call is a message of its own, in its place. */
function decodeTurns(turns: readonly WireTurn[]): readonly Message[] {
  const runs: [Message, ...Message[]][] = [];
  for (const message of turns.flatMap((turn) => (isSilent(turn) ? [] : decodeTurn(turn)))) {
    const last = runs.at(-1);
    if (last && last[0].role === message.role && message.role !== 'tool') last.push(message);
    else runs.push([message]);
  }
  const messages = runs.map(join);
  const last = messages.at(-1);
  return last?.role === 'assistant' && prefillOf(turns).length > 0
    ? messages.with(-1, { ...last, partial: true })
    : messages;
}

/** Of all at once: one by one, each would copy what came before it. */
function join(run: readonly [Message, ...Message[]]): Message {
  const [first] = run;
  if (run.length === 1) return first;
  const content: Part[] = [];
  for (const message of run) {
    if (content.length > 0 && message.content.length > 0) content.push(textPart('\n\n'));
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

function decodeTurn({ role, content }: WireTurn): readonly Message[] {
  if (typeof content === 'string') return [{ role, content: [textPart(content)] }];
  return role === 'assistant' ? decodeAssistant(content) : decodeUser(role, content);
}

/** Work on our side stands between messages: a call, and its result as data. */
function decodeAssistant(blocks: readonly WireBlock[]): readonly Message[] {
  if (!blocks.some(isPastResult)) return [decodeSaid(blocks)];
  const uses = new Map(blocks.filter(isPastUse).map((use) => [use.id, use]));
  const messages: Message[] = [];
  let said: WireBlock[] = [];
  for (const block of blocks) {
    if (!isPastResult(block)) {
      said.push(block);
      continue;
    }
    const { toolCalls = [], ...message } = decodeSaid(said);
    messages.push(
      { ...message, toolCalls: [...toolCalls, pastCall(block, uses.get(block.tool_use_id))] },
      { role: 'tool', toolCallId: block.tool_use_id, content: [textPart(pastText(block))] },
    );
    said = [];
  }
  return said.some(({ type }) => type !== 'server_tool_use') ? [...messages, decodeSaid(said)] : messages;
}

function decodeSaid(blocks: readonly WireBlock[]): Message {
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

function decodeUser(role: 'user' | 'system', blocks: readonly WireBlock[]): readonly Message[] {
  const messages: Message[] = [];
  let said: WireBlock[] = [];
  const say = (): void => {
    const content = decodeParts(said);
    if (content.length > 0) messages.push({ role, content });
    said = [];
  };
  for (const block of blocks) {
    if (block.type !== 'tool_result') {
      said.push(block);
      continue;
    }
    say();
    messages.push({ role: 'tool', toolCallId: block.tool_use_id, content: decodeResult(block) });
  }
  say();
  return messages;
}

/** That a call failed has no place of its own in any template: it stands before what the tool said. */
function decodeResult({
  content,
  is_error: isError,
  cache_control,
}: Extract<WireBlock, { readonly type: 'tool_result' }>): readonly Part[] {
  const inner = typeof content === 'string' ? [textPart(content)] : decodeParts(content ?? []);
  const parts = isError ? [textPart('Error: '), ...inner] : inner;
  return cache_control ? markLast(parts) : parts;
}

/** Texts in a row are one text, as they are; a document stands apart from what is said beside it. */
function decodeParts(blocks: readonly InnerBlock[]): readonly Part[] {
  const parts: Part[] = [];
  let isApart = false;
  for (const block of blocks) {
    const decoded = decodePart(block);
    const standsApart = block.type === 'document' || block.type === 'search_result';
    if (parts.length > 0 && decoded.length > 0 && (standsApart || isApart)) parts.push(textPart('\n\n'));
    parts.push(...decoded);
    if (decoded.length > 0) isApart = standsApart;
  }
  return parts;
}

function decodePart(block: InnerBlock): readonly Part[] {
  switch (block.type) {
    case 'text':
      return [decodeText(block)];
    case 'image': {
      const { source } = block;
      if (source.type === 'file') return []; // refused by the rules before
      return [
        {
          type: 'image',
          url: source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`,
        },
      ];
    }
    case 'document': {
      const { source, title, context } = block;
      const text = source.type === 'text' ? source.data : source.type === 'content' ? plain(source.content) : '';
      return [decodeText({ text: headed([title, context], text), cache_control: block.cache_control })];
    }
    case 'search_result': {
      const { title, source, content, cache_control } = block;
      return [decodeText({ text: headed([title, source], plain(content)), cache_control })];
    }
    case 'tool_reference':
      return [textPart(`${block.tool_name}\n`)];
    default:
      return [];
  }
}

/** What a text is, in lines before it. */
function headed(lines: readonly (string | null | undefined)[], text: string): string {
  const head = lines.filter((line) => typeof line === 'string' && line !== '').join('\n');
  return head === '' ? text : `${head}\n\n${text}`;
}

const plain = (content: string | readonly { readonly text: string }[]): string =>
  typeof content === 'string' ? content : content.map(({ text }) => text).join('');

const textPart = (text: string): Extract<Part, { readonly type: 'text' }> => ({
  type: 'text',
  text: text.toWellFormed(),
});

const decodeText = ({
  text,
  cache_control,
}: Pick<Extract<WireBlock, { readonly type: 'text' }>, 'text' | 'cache_control'>): Part => ({
  ...textPart(text),
  ...(cache_control ? { cache: 'ephemeral' as const } : {}),
});

function markLast(parts: readonly Part[]): readonly Part[] {
  const at = parts.findLastIndex(({ type }) => type === 'text');
  return parts.map((part, index) => (index === at && part.type === 'text' ? { ...part, cache: 'ephemeral' } : part));
}

const withMarkAtEnd = (messages: readonly Message[]): readonly Message[] =>
  messages.map((message, index) =>
    index === messages.length - 1 ? { ...message, content: markLast(message.content) } : message,
  );

function decodeToolUse({ tools, tool_choice: choice }: PromptWire): ToolUse | undefined {
  const all = tools ?? [];
  const custom = all.flatMap((tool, index) => (isCustom(tool) ? [decodeTool(tool, index)] : []));
  if (custom.length === 0 || choice?.type === 'none') return undefined;
  return {
    tools: custom,
    choice:
      choice?.type === 'tool' && custom.some(({ name }) => name === choice.name)
        ? { name: choice.name }
        : choice?.type === 'any'
          ? 'required'
          : 'auto',
    isParallel: choice?.disable_parallel_tool_use !== true,
    // These clients put the pieces of an input together themselves.
    streamsComplex: true,
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

function decodeFormat({ output_config: config, output_format: old }: PromptWire): OutputFormat | undefined {
  const format = config?.format ?? old;
  if (!format) return undefined;
  const field = config?.format ? 'output_config.format.schema' : 'output_format.schema';
  return { type: 'json-schema', name: 'output', schema: format.schema, field };
}
