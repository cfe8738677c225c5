import { isPresent } from '../../../lib/present.ts';
import { isPastUse } from './past-blocks.ts';
import { isCustom, isServerBlock, isServerTool } from './schema.ts';
import type { InnerBlock, PromptWire } from './schema.ts';
import type { ServerToolName } from './server-tool-schema.ts';
import { ignoredInTools, serverToolsIn } from './server-tools.ts';
import { decodeThinking, ignoredThinking } from './thinking.ts';

/**
 * Known fields that ask for something that does not happen.
 *
 * @param unheard What generation did not hear, in its words.
 */
export function ignoredFields(wire: PromptWire, unheard: readonly string[]): readonly string[] {
  const blocks = wire.messages.flatMap(blocksOf);
  const keepsThoughts = decodeThinking(wire) !== undefined && !unheard.includes('preserve_thinking');
  const hearsMarks = !unheard.includes('cache_control');
  return [
    ...unheard.filter((name) => !ABILITIES.has(name) && !UNHEARD_TOOLS.has(name)),
    ...ignoredThinking(wire, !unheard.includes('thinking')),
    ...(!keepsThoughts && blocks.some(({ block }) => block.type === 'thinking') ? ['messages.content.thinking'] : []),
    ...(unheard.includes('response_format') ? ['output_config.format'] : []),
    ...(hearsMarks ? ignoredMarks(wire, blocks) : ['cache_control']),
    ...(wire.tools ?? []).flatMap((tool, index) => {
      const isHeard = isServerTool(tool)
        ? !unheard.some((name) => UNHEARD_TOOLS.get(name) === tool.name)
        : isCustom(tool);
      return isHeard ? [] : [`tools[${index}]`];
    }),
    ...ignoredInTools(wire),
    ...blocks.flatMap((placed) => (isLeftOut(placed, wire) ? [placed.at] : [])),
    ...(wire.mcp_servers?.length ? ['mcp_servers'] : []),
    ...(isPresent(wire.context_management) ? ['context_management'] : []),
  ];
}

/** Of generation's words, those for tools that run here. */
const UNHEARD_TOOLS: ReadonlyMap<string, ServerToolName> = new Map([
  ['enable_search', 'web_search'],
  ['web_extractor', 'web_fetch'],
  ['enable_code_interpreter', 'code_execution'],
]);

const ABILITIES = new Set(['thinking', 'preserve_thinking', 'response_format', 'cache_control']);

interface PlacedBlock {
  readonly at: string;
  readonly role: PromptWire['messages'][number]['role'];
  readonly block: InnerBlock;
}

function blocksOf({ role, content }: PromptWire['messages'][number], index: number): readonly PlacedBlock[] {
  if (typeof content === 'string') return [];
  return content.flatMap((block, position): PlacedBlock[] => {
    const at = `messages[${index}].content[${position}]`;
    const inner = block.type === 'tool_result' && typeof block.content === 'object' ? (block.content ?? []) : [];
    return [{ at, role, block }, ...inner.map((each, place) => ({ at: `${at}.content[${place}]`, role, block: each }))];
  });
}

function isLeftOut({ role, block }: PlacedBlock, wire: PromptWire): boolean {
  switch (block.type) {
    case 'container_upload':
      return role !== 'user' || !serverToolsIn(wire).some(({ name }) => name === 'code_execution');
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

/** Marks on what is no text, and wishes for another time than the one that there is. */
function ignoredMarks(wire: PromptWire, blocks: readonly PlacedBlock[]): readonly string[] {
  const tools = (wire.tools ?? []).flatMap((tool, index) => (isCustom(tool) ? [{ at: `tools[${index}]`, tool }] : []));
  const system = typeof wire.system === 'object' ? (wire.system ?? []) : [];
  const marks = [wire, ...system, ...blocks.map(({ block }) => block)].flatMap((each) =>
    'cache_control' in each && each.cache_control ? [each.cache_control] : [],
  );
  return [
    // A template says its tools where no mark can be put.
    ...tools.flatMap(({ at, tool }) => (tool.cache_control ? [`${at}.cache_control`] : [])),
    ...blocks.flatMap(({ at, block }) =>
      (block.type === 'tool_use' || block.type === 'image') && block.cache_control ? [`${at}.cache_control`] : [],
    ),
    ...(marks.some(({ ttl }) => ttl === '1h') ? ['cache_control.ttl'] : []),
  ];
}
