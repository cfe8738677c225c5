import { isPresent } from '../../../lib/present.ts';
import { isCustom, isServerBlock } from './schema.ts';
import type { InnerBlock, PromptWire } from './schema.ts';
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
    ...unheard.filter((name) => !ABILITIES.has(name)),
    ...ignoredThinking(wire, !unheard.includes('thinking')),
    ...(!keepsThoughts && blocks.some(({ block }) => block.type === 'thinking') ? ['messages.content.thinking'] : []),
    ...(unheard.includes('response_format') ? ['output_config.format'] : []),
    ...(hearsMarks ? ignoredMarks(wire, blocks) : ['cache_control']),
    ...(wire.tools ?? []).flatMap((tool, index) => (isCustom(tool) ? [] : [`tools[${index}]`])),
    ...blocks.flatMap(({ at, block }) => (isLeftOut(block) ? [at] : [])),
    ...(wire.mcp_servers?.length ? ['mcp_servers'] : []),
    ...(isPresent(wire.container) ? ['container'] : []),
    ...(isPresent(wire.context_management) ? ['context_management'] : []),
  ];
}

const ABILITIES = new Set(['thinking', 'preserve_thinking', 'response_format', 'cache_control']);

interface PlacedBlock {
  readonly at: string;
  readonly block: InnerBlock;
}

function blocksOf({ content }: PromptWire['messages'][number], index: number): readonly PlacedBlock[] {
  if (typeof content === 'string') return [];
  return content.flatMap((block, position): PlacedBlock[] => {
    const at = `messages[${index}].content[${position}]`;
    const inner = block.type === 'tool_result' && typeof block.content === 'object' ? (block.content ?? []) : [];
    return [{ at, block }, ...inner.map((each, place) => ({ at: `${at}.content[${place}]`, block: each }))];
  });
}

const isLeftOut = ({ type }: InnerBlock): boolean =>
  isServerBlock(type) || type === 'redacted_thinking' || type === 'browser_state';

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
