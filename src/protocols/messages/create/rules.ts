import type { ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { CACHE_MARKS_MAX, STOP_CODE_POINTS_MAX } from '../../../core/limits.ts';
import { refuse } from '../../parse.ts';
import { prefillOf } from './prefill.ts';
import { isCustom, isServerBlock, isServerTool } from './schema.ts';
import type { MessagesWire, PromptWire, WireBlock, WireTool, WireTurn } from './schema.ts';
import { servedVersions } from './server-tool-schema.ts';
import { willThink } from './thinking.ts';

/**
 * Rules that no single field can tell.
 * @throws ServiceError `invalid-request` naming the field; `unsupported` for a thread.
 */
export function checkMessagesRules(wire: MessagesWire, entry: ModelEntry): void {
  // First: a turn of a thread is no conversation by itself.
  if (wire.thread)
    throw new ServiceError('unsupported', 'Threads are not supported: send the whole conversation. (thread)', {
      param: 'thread',
    });
  checkPrompt(wire, entry);
  for (const [index, each] of (wire.stop_sequences ?? []).entries()) {
    if (each.length > STOP_CODE_POINTS_MAX && Array.from(each).length > STOP_CODE_POINTS_MAX)
      throw refuse(`stop_sequences[${index}]`, `a stop sequence must have at most ${STOP_CODE_POINTS_MAX} characters`);
  }
}

/** The rules of what the prompt is made of. */
export function checkPrompt(wire: PromptWire, entry: ModelEntry): void {
  checkTurns(wire, entry);
  checkTools(wire, entry);
  checkPrefill(wire, entry);
  checkCacheMarks(wire);
}

function checkTurns({ messages }: PromptWire, entry: ModelEntry): void {
  if (messages.every(({ role }) => role === 'system'))
    throw refuse('messages', 'messages must have one of the user or the assistant');
  // Calls of the assistant's message before, which results answer.
  let open: ReadonlySet<string> = new Set();
  let isAnswered = false;
  for (const [index, turn] of messages.entries()) {
    const blocks = blocksOf(turn);
    if (turn.role === 'user' && typeof turn.content === 'object' && blocks.every(isServerBlock))
      throw refuse(`messages[${index}].content`, 'a user message must have content');
    for (const [position, block] of blocks.entries()) {
      checkBlock(turn.role, block, { at: `messages[${index}].content[${position}]`, open, entry });
    }
    // Turns of one role in a row are one message.
    if (turn.role === 'assistant')
      open = new Set([
        ...(isAnswered ? [] : open),
        ...blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
      ]);
    if (turn.role !== 'system') isAnswered = turn.role === 'user';
  }
}

interface Place {
  readonly at: string;
  readonly open: ReadonlySet<string>;
  readonly entry: ModelEntry;
}

function checkBlock(role: WireTurn['role'], block: WireBlock, { at, open, entry }: Place): void {
  switch (block.type) {
    case 'text':
      return;
    case 'image':
      return checkImage(role, block.source.type, at, entry);
    case 'document':
      if (role !== 'user') throw wrongRole(at, block.type, role);
      return checkDocument(block.source.type, at);
    case 'search_result':
      if (role !== 'user') throw wrongRole(at, block.type, role);
      return;
    case 'video':
    case 'audio':
      throw refuse(`${at}.type`, `the model ${entry.name} does not take ${block.type} blocks`, block.type);
    case 'tool_use':
    case 'thinking':
    case 'redacted_thinking':
      if (role !== 'assistant') throw wrongRole(at, block.type, role);
      return;
    case 'tool_result':
      if (role !== 'user') throw wrongRole(at, block.type, role);
      if (!open.has(block.tool_use_id))
        throw refuse(
          `${at}.tool_use_id`,
          'a tool_result must answer a tool_use block of the message before',
          block.tool_use_id,
        );
      if (typeof block.content === 'object')
        for (const [position, inner] of (block.content ?? []).entries()) {
          const inside = `${at}.content[${position}]`;
          if (inner.type === 'image') checkImage(role, inner.source.type, inside, entry);
          if (inner.type === 'document') checkDocument(inner.source.type, inside);
        }
      return;
    default:
      return; // of tools that ran elsewhere: left out and named
  }
}

const wrongRole = (at: string, type: string, role: string): Error =>
  refuse(`${at}.type`, `${type} blocks cannot stand in a message of role ${role}`, type);

function checkImage(role: WireTurn['role'], source: string, at: string, { name, abilities }: ModelEntry): void {
  if (role !== 'user') throw wrongRole(at, 'image', role);
  // Where nobody has said yet whether it sees, generation decides when its engine has.
  if (abilities.vision === false) throw refuse(`${at}.type`, `the model ${name} takes text only`, 'image');
  if (source === 'file') throw refuse(`${at}.source.type`, 'an image must be given as base64 or url', source);
}

function checkDocument(source: string, at: string): void {
  if (source === 'text' || source === 'content') return;
  throw refuse(`${at}.source.type`, 'a document must be given as text or content', source);
}

function checkTools(wire: PromptWire, entry: ModelEntry): void {
  const names = new Set<string>();
  const all = wire.tools ?? [];
  const others = all.flatMap((tool) => (isCustom(tool) || isServerTool(tool) ? [] : [tool.name ?? tool.type]));
  for (const [index, tool] of all.entries()) {
    checkServerTool(tool, `tools[${index}]`);
    if (!isCustom(tool) && !isServerTool(tool)) continue;
    if (names.has(tool.name)) throw refuse(`tools[${index}].name`, 'tool names must be unique', tool.name);
    names.add(tool.name);
  }
  const { tool_choice: choice } = wire;
  if (!choice || choice.type === 'auto' || choice.type === 'none') return;
  if (choice.type === 'tool' && !names.has(choice.name) && others.includes(choice.name))
    throw refuse('tool_choice', `tool_choice forces the tool ${choice.name}, which does not run here`);
  if (names.size === 0 && others.length > 0)
    throw refuse('tool_choice', 'tool_choice needs tools that run here: none of these does');
  if (names.size === 0) throw refuse('tool_choice', 'tool_choice needs tools');
  if (choice.type === 'tool' && !names.has(choice.name))
    throw refuse('tool_choice.name', 'tool_choice names a tool that is not among tools', choice.name);
  if (willThink(wire, entry)) throw refuse('tool_choice', 'tool_choice cannot force a tool while thinking is on');
}

function checkServerTool(tool: WireTool, at: string): void {
  const type = tool.type ?? 'custom';
  const served = servedVersions(type);
  if (served && !served.includes(type))
    throw refuse(`${at}.type`, `this version of the tool does not run here; use ${served.join(' or ')}`, type);
  if (!isServerTool(tool) || tool.name === 'code_execution') return;
  if (tool.allowed_domains?.length && tool.blocked_domains?.length)
    throw refuse(`${at}.blocked_domains`, 'allowed_domains and blocked_domains cannot be used together');
}

const hasCalls = (turn: WireTurn | undefined): boolean =>
  turn !== undefined && blocksOf(turn).some(({ type }) => type === 'tool_use');

/** A last message of the assistant's is the beginning of the answer. */
function checkPrefill(wire: PromptWire, entry: ModelEntry): void {
  const places = prefillOf(wire.messages);
  const last = places.at(-1);
  if (last === undefined) return;
  const calling = places.find((place) => hasCalls(wire.messages[place]));
  if (calling !== undefined)
    throw refuse(
      `messages[${calling}]`,
      'tool_use blocks must be followed by a user message with their tool_result blocks',
    );
  const at = `messages[${last}]`;
  if (willThink(wire, entry)) throw refuse(at, 'the last message must be the user’s while thinking is on');
  if (wire.output_config?.format ?? wire.output_format)
    throw refuse(at, 'the last message must be the user’s when a format is asked for');
}

function checkCacheMarks(wire: PromptWire): void {
  let marks = wire.cache_control ? 1 : 0;
  const count = (at: string, block: object): void => {
    if (!('cache_control' in block) || !block.cache_control || ++marks <= CACHE_MARKS_MAX) return;
    throw refuse(`${at}.cache_control`, `cache_control must stand on at most ${CACHE_MARKS_MAX} blocks of a request`);
  };
  for (const [index, tool] of (wire.tools ?? []).entries()) count(`tools[${index}]`, tool);
  if (typeof wire.system === 'object')
    for (const [index, block] of (wire.system ?? []).entries()) count(`system[${index}]`, block);
  for (const [index, turn] of wire.messages.entries())
    for (const [position, block] of blocksOf(turn).entries()) {
      const at = `messages[${index}].content[${position}]`;
      if (block.type === 'tool_result' && typeof block.content === 'object')
        for (const [place, inner] of (block.content ?? []).entries()) count(`${at}.content[${place}]`, inner);
      count(at, block);
    }
}

const blocksOf = ({ content }: WireTurn): readonly WireBlock[] => (typeof content === 'string' ? [] : content);
