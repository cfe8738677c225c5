import type { WireContent, WireItem, WireItemPart } from './item-schema.ts';
import { isSystemItem } from './decode-items.ts';

/** An entry of a transcript, with the index of its item. */
export interface TranscriptEntry {
  readonly index: number;
  readonly text: string;
}

const SPEAKERS = { user: 'User', assistant: 'Assistant' } as const;

/**
 * Renders items as the entries of a transcript that a model reads as a text and not as its own conversation. Omitted are
 * system and developer messages, reasoning, and items that no model reads.
 */
export const renderTranscript = (items: readonly WireItem[]): readonly TranscriptEntry[] =>
  items.flatMap((item, index) => {
    const text = isSystemItem(item) ? undefined : renderItem(item);
    return text === undefined ? [] : [{ index, text: text.toWellFormed() }];
  });

function renderItem(item: WireItem): string | undefined {
  switch (item.type) {
    case 'message':
      return item.role === 'user' || item.role === 'assistant'
        ? `${SPEAKERS[item.role]}: ${renderContent(item.content)}`
        : undefined;
    case 'function_call':
      return `Tool call: ${item.name}(${item.arguments})`;
    case 'function_call_output':
      return `Tool result: ${renderContent(item.output)}`;
    case 'server_call':
      return `Tool call: ${item.name}(${item.arguments})\nTool result: ${item.result}`;
    case 'compaction':
      return `Earlier summary: ${item.summary}`;
    case 'reasoning':
    case 'item_reference':
    case 'other':
      return undefined;
  }
}

const renderContent = (content: WireContent): string =>
  typeof content === 'string' ? content : content.map(renderPart).join('\n');

function renderPart(part: WireItemPart): string {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
    case 'summary_text':
    case 'reasoning_text':
      return part.text;
    case 'refusal':
      return part.refusal;
    case 'input_image':
      return '[image]';
    case 'input_file':
      return `[file ${part.filename ?? part.file_id ?? ''}]`;
    case 'input_audio':
    case 'output_audio':
    case 'computer_screenshot':
      return '';
  }
}
