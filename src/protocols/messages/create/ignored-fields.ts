import { isDefined } from '../../../lib/omit-nullish.ts';
import { isPastUse } from './past-blocks.ts';
import { isCustomTool, isServerBlock, isServerTool, type InnerBlockWire, type PromptWire } from './schema.ts';
import type { ServerToolName } from './server-tool-schema.ts';
import { listIgnoredToolFields, listServerTools } from './server-tools.ts';
import { decodeThinking, listIgnoredThinkingFields } from './thinking.ts';

/**
 * Lists known fields that request a feature without having an effect.
 *
 * @param ignored Fields that generation did not apply, by their names in the chat interface.
 */
export function listIgnoredMessagesFields(wire: PromptWire, ignored: readonly string[]): readonly string[] {
  const blocks = wire.messages.flatMap(listBlocks);
  const keepsPastThinking = decodeThinking(wire) !== undefined && !ignored.includes('preserve_thinking');
  const honorsCacheMarks = !ignored.includes('cache_control');
  return [
    ...ignored.filter((name) => !TRANSLATED_FIELDS.has(name) && !SERVER_TOOL_FIELDS.has(name)),
    ...listIgnoredThinkingFields(wire, !ignored.includes('thinking')),
    ...(!keepsPastThinking && blocks.some(({ block }) => block.type === 'thinking')
      ? ['messages.content.thinking']
      : []),
    ...(ignored.includes('response_format') ? ['output_config.format'] : []),
    ...(ignored.includes('thinking_budget(clamped)') ? ['thinking.budget_tokens(clamped)'] : []),
    ...(honorsCacheMarks ? listIgnoredCacheMarks(wire, blocks) : ['cache_control']),
    ...(wire.tools ?? []).flatMap((tool, index) => {
      const isSupported = isServerTool(tool)
        ? !ignored.some((name) => SERVER_TOOL_FIELDS.get(name) === tool.name)
        : isCustomTool(tool);
      return isSupported ? [] : [`tools[${index}]`];
    }),
    ...listIgnoredToolFields(wire),
    ...blocks.flatMap((blockWithPath) => (isOmittedFromPrompt(blockWithPath, wire) ? [blockWithPath.path] : [])),
    ...(wire.mcp_servers?.length ? ['mcp_servers'] : []),
    ...(isDefined(wire.context_management) ? ['context_management'] : []),
  ];
}

/** Server tool per chat field that enables it. */
const SERVER_TOOL_FIELDS: ReadonlyMap<string, ServerToolName> = new Map([
  ['enable_search', 'web_search'],
  ['web_extractor', 'web_fetch'],
  ['enable_code_interpreter', 'code_execution'],
]);

/** Chat fields that `listIgnoredMessagesFields` reports under this interface's names. */
const TRANSLATED_FIELDS = new Set([
  'thinking',
  'thinking_budget(clamped)',
  'preserve_thinking',
  'response_format',
  'cache_control',
]);

interface BlockWithPath {
  readonly path: string;
  readonly role: PromptWire['messages'][number]['role'];
  readonly block: InnerBlockWire;
}

function listBlocks({ role, content }: PromptWire['messages'][number], index: number): readonly BlockWithPath[] {
  if (typeof content === 'string') return [];
  return content.flatMap((block, position): BlockWithPath[] => {
    const path = `messages[${index}].content[${position}]`;
    const inner = block.type === 'tool_result' && typeof block.content === 'object' ? (block.content ?? []) : [];
    return [
      { path, role, block },
      ...inner.map((each, innerPosition) => ({ path: `${path}.content[${innerPosition}]`, role, block: each })),
    ];
  });
}

function isOmittedFromPrompt({ role, block }: BlockWithPath, wire: PromptWire): boolean {
  switch (block.type) {
    case 'container_upload':
      return role !== 'user' || !listServerTools(wire).some(({ name }) => name === 'code_execution');
    case 'server_tool_use':
      return role !== 'assistant' || !isPastUse(block);
    case 'web_search_tool_result':
    case 'web_fetch_tool_result':
    case 'code_execution_tool_result':
      return role !== 'assistant';
    case 'redacted_thinking':
    case 'browser_state':
      return true;
    default:
      return isServerBlock(block);
  }
}

/** Lists cache marks on blocks that cannot be cached, and a requested lifetime other than 5 minutes. */
function listIgnoredCacheMarks(wire: PromptWire, blocks: readonly BlockWithPath[]): readonly string[] {
  const tools = (wire.tools ?? []).flatMap((tool, index) =>
    isCustomTool(tool) ? [{ path: `tools[${index}]`, tool }] : [],
  );
  const system = typeof wire.system === 'object' ? (wire.system ?? []) : [];
  const marks = [wire, ...system, ...blocks.map(({ block }) => block)].flatMap((each) =>
    'cache_control' in each && each.cache_control ? [each.cache_control] : [],
  );
  return [
    // Templates render tools at a position that cannot be marked.
    ...tools.flatMap(({ path, tool }) => (tool.cache_control ? [`${path}.cache_control`] : [])),
    ...blocks.flatMap(({ path, block }) =>
      (block.type === 'tool_use' || block.type === 'image') && block.cache_control ? [`${path}.cache_control`] : [],
    ),
    ...(marks.some(({ ttl }) => ttl === '1h') ? ['cache_control.ttl'] : []),
  ];
}
