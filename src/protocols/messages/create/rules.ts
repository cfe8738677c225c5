import type { ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { CACHE_MARKS_MAX } from '../../../core/limits.ts';
import { STOP_CODE_POINTS_MAX } from '../../limits.ts';
import { createFieldError } from '../../parse.ts';
import { findPrefillTurns } from './prefill.ts';
import {
  isCustomTool,
  isServerBlock,
  isServerTool,
  type MessagesWire,
  type PromptWire,
  type MessagesBlockWire,
  type MessagesToolWire,
  type MessagesTurnWire,
} from './schema.ts';
import { findServedVersions } from './server-tool-schema.ts';
import { willThink } from './thinking.ts';

/**
 * Checks the rules between fields.
 * @throws ServiceError `invalid-request` naming the field; `unsupported` for a thread.
 */
export function checkMessagesRules(wire: MessagesWire, entry: ModelEntry): void {
  // Checked first, because a thread request does not contain a whole conversation.
  if (wire.thread)
    throw new ServiceError('unsupported', 'Threads are not supported: send the whole conversation. (thread)', {
      param: 'thread',
    });
  checkPrompt(wire, entry);
  for (const [index, each] of (wire.stop_sequences ?? []).entries()) {
    if (each.length > STOP_CODE_POINTS_MAX && Array.from(each).length > STOP_CODE_POINTS_MAX)
      throw createFieldError(
        `stop_sequences[${index}]`,
        `a stop sequence must have at most ${STOP_CODE_POINTS_MAX} characters`,
      );
  }
}

/** Checks the fields that form the prompt. */
export function checkPrompt(wire: PromptWire, entry: ModelEntry): void {
  checkTurns(wire, entry);
  checkTools(wire, entry);
  checkPrefill(wire, entry);
  checkCacheMarks(wire);
}

function checkTurns({ messages }: PromptWire, entry: ModelEntry): void {
  if (messages.every(({ role }) => role === 'system'))
    throw createFieldError('messages', 'messages must contain a user or assistant message');
  // Ids of calls in the previous assistant message, to which tool results refer.
  let openCallIds: ReadonlySet<string> = new Set();
  let hasUserTurnSince = false;
  for (const [index, turn] of messages.entries()) {
    const blocks = listBlocks(turn);
    if (turn.role === 'user' && typeof turn.content === 'object' && blocks.every(isServerBlock))
      throw createFieldError(`messages[${index}].content`, 'a user message must have content');
    for (const [position, block] of blocks.entries()) {
      checkBlock(turn.role, block, {
        path: `messages[${index}].content[${position}]`,
        openCallIds,
        entry,
      });
    }
    // Consecutive turns of one role count as one message.
    if (turn.role === 'assistant')
      openCallIds = new Set([
        ...(hasUserTurnSince ? [] : openCallIds),
        ...blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
      ]);
    if (turn.role !== 'system') hasUserTurnSince = turn.role === 'user';
  }
}

interface BlockContext {
  readonly path: string;
  readonly openCallIds: ReadonlySet<string>;
  readonly entry: ModelEntry;
}

function checkBlock(
  role: MessagesTurnWire['role'],
  block: MessagesBlockWire,
  { path, openCallIds, entry }: BlockContext,
): void {
  switch (block.type) {
    case 'text':
      return;
    case 'image':
      return checkImage(role, block.source.type, path, entry);
    case 'document':
      if (role !== 'user') throw createWrongRoleError(path, block.type, role);
      return checkDocument(block.source.type, path);
    case 'search_result':
      if (role !== 'user') throw createWrongRoleError(path, block.type, role);
      return;
    case 'video':
    case 'audio':
      throw createFieldError(
        `${path}.type`,
        `the model ${entry.name} does not support ${block.type} blocks`,
        block.type,
      );
    case 'tool_use':
    case 'thinking':
    case 'redacted_thinking':
      if (role !== 'assistant') throw createWrongRoleError(path, block.type, role);
      return;
    case 'tool_result':
      if (role !== 'user') throw createWrongRoleError(path, block.type, role);
      if (!openCallIds.has(block.tool_use_id))
        throw createFieldError(
          `${path}.tool_use_id`,
          'a tool_result must refer to a tool_use block of the previous assistant message',
          block.tool_use_id,
        );
      if (typeof block.content === 'object')
        for (const [position, inner] of (block.content ?? []).entries()) {
          const innerPath = `${path}.content[${position}]`;
          if (inner.type === 'image') checkImage(role, inner.source.type, innerPath, entry);
          if (inner.type === 'document') checkDocument(inner.source.type, innerPath);
        }
      return;
    default:
      return; // blocks of tools that Parley does not run: ignored and listed in x-parley-ignored
  }
}

const createWrongRoleError = (path: string, type: string, role: string): Error =>
  createFieldError(`${path}.type`, `${type} blocks are not allowed in a message with the role ${role}`, type);

function checkImage(
  role: MessagesTurnWire['role'],
  source: string,
  path: string,
  { name, abilities }: ModelEntry,
): void {
  if (role !== 'user') throw createWrongRoleError(path, 'image', role);
  // Vision support is undefined until the engine has reported it; generation checks it then.
  if (abilities.vision === false)
    throw createFieldError(`${path}.type`, `the model ${name} accepts text only`, 'image');
  if (source === 'file')
    throw createFieldError(`${path}.source.type`, 'the source of an image must have the type base64 or url', source);
}

function checkDocument(source: string, path: string): void {
  if (source === 'text' || source === 'content') return;
  throw createFieldError(`${path}.source.type`, 'the source of a document must have the type text or content', source);
}

function checkTools(wire: PromptWire, entry: ModelEntry): void {
  const names = new Set<string>();
  const allTools = wire.tools ?? [];
  const otherToolNames = allTools.flatMap((tool) =>
    isCustomTool(tool) || isServerTool(tool) ? [] : [tool.name ?? tool.type],
  );
  for (const [index, tool] of allTools.entries()) {
    checkServerTool(tool, `tools[${index}]`);
    if (!isCustomTool(tool) && !isServerTool(tool)) continue;
    if (names.has(tool.name)) throw createFieldError(`tools[${index}].name`, 'tool names must be unique', tool.name);
    names.add(tool.name);
  }
  const { tool_choice: choice } = wire;
  if (!choice || choice.type === 'auto' || choice.type === 'none') return;
  if (choice.type === 'tool' && !names.has(choice.name) && otherToolNames.includes(choice.name))
    throw createFieldError(
      'tool_choice',
      `tool_choice forces the tool ${choice.name}, which this service does not run`,
    );
  if (names.size === 0 && otherToolNames.length > 0)
    throw createFieldError('tool_choice', 'tool_choice needs tools that this service runs; it runs none of these');
  if (names.size === 0) throw createFieldError('tool_choice', 'tool_choice needs tools');
  if (choice.type === 'tool' && !names.has(choice.name))
    throw createFieldError('tool_choice.name', 'tool_choice names a tool that is not among tools', choice.name);
  if (willThink(wire, entry))
    throw createFieldError('tool_choice', 'tool_choice cannot force a tool while thinking is on');
}

function checkServerTool(tool: MessagesToolWire, path: string): void {
  const type = tool.type ?? 'custom';
  const servedVersions = findServedVersions(type);
  if (servedVersions && !servedVersions.includes(type))
    throw createFieldError(
      `${path}.type`,
      `this version of the tool is not supported; use ${servedVersions.join(' or ')}`,
      type,
    );
  if (!isServerTool(tool) || tool.name === 'code_execution') return;
  if (tool.allowed_domains?.length && tool.blocked_domains?.length)
    throw createFieldError(`${path}.blocked_domains`, 'allowed_domains and blocked_domains cannot be used together');
}

const hasCalls = (turn: MessagesTurnWire | undefined): boolean =>
  turn !== undefined && listBlocks(turn).some(({ type }) => type === 'tool_use');

/** Checks assistant turns at the end, which start the answer. */
function checkPrefill(wire: PromptWire, entry: ModelEntry): void {
  const prefillTurns = findPrefillTurns(wire.messages);
  const last = prefillTurns.at(-1);
  if (last === undefined) return;
  const turnWithCalls = prefillTurns.find((place) => hasCalls(wire.messages[place]));
  if (turnWithCalls !== undefined)
    throw createFieldError(
      `messages[${turnWithCalls}]`,
      'tool_use blocks must be followed by a user message with their tool_result blocks',
    );
  const path = `messages[${last}]`;
  if (willThink(wire, entry))
    throw createFieldError(path, 'the last message must have the role user while thinking is on');
  if (wire.output_config?.format ?? wire.output_format)
    throw createFieldError(path, 'the last message must have the role user when an output format is set');
}

function checkCacheMarks(wire: PromptWire): void {
  let marks = wire.cache_control ? 1 : 0;
  const countMark = (path: string, block: object): void => {
    if (!('cache_control' in block) || !block.cache_control || ++marks <= CACHE_MARKS_MAX) return;
    throw createFieldError(
      `${path}.cache_control`,
      `cache_control is allowed on at most ${CACHE_MARKS_MAX} blocks of a request`,
    );
  };
  for (const [index, tool] of (wire.tools ?? []).entries()) countMark(`tools[${index}]`, tool);
  if (typeof wire.system === 'object')
    for (const [index, block] of (wire.system ?? []).entries()) countMark(`system[${index}]`, block);
  for (const [index, turn] of wire.messages.entries())
    for (const [position, block] of listBlocks(turn).entries()) {
      const path = `messages[${index}].content[${position}]`;
      if (block.type === 'tool_result' && typeof block.content === 'object')
        for (const [innerPosition, inner] of (block.content ?? []).entries())
          countMark(`${path}.content[${innerPosition}]`, inner);
      countMark(path, block);
    }
}

const listBlocks = ({ content }: MessagesTurnWire): readonly MessagesBlockWire[] =>
  typeof content === 'string' ? [] : content;
