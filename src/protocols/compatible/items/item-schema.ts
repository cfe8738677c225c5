import { z } from 'zod';
import { PARTS_MAX } from '../../limits.ts';
import { isDefined } from '../../../lib/omit-nullish.ts';
import { selectSchema } from '../../select-schema.ts';
import { failFastArray } from '../../fail-fast-array.ts';
import { CompactionItem } from './compaction-item.ts';
import { CodeCallItem, ExtractorCallItem, SearchCallItem } from './server-call-item.ts';
import { isRecord } from '../../../lib/is-record.ts';

// Input items (docs/wire/openai-compatible.md#responses-request), also as clients send output items back. Only the
// fields
// that Parley reads are listed: an item is stored as sent. Clients write null for "not set", so every optional field
// may
// be null.

/** `input_text` of a user, `output_text` of an earlier answer; clients also send the other types for text. */
const TextPart = z.object({
  type: z.enum(['input_text', 'output_text', 'text', 'summary_text', 'reasoning_text']),
  text: z.string(),
});
const RefusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });
const ImagePart = z.object({ type: z.literal('input_image'), image_url: z.string() });
/** A document: an uploaded file by its id, or its content as base64 or a base64 data URL. */
const FilePart = z.object({
  type: z.literal('input_file'),
  file_id: z.string().nullish(),
  file_data: z.string().nullish(),
  filename: z.string().nullish(),
  file_url: z.string().nullish(),
});
/** Parts that no model accepts; parsed only to name their type in the error. */
const OtherPart = z.object({ type: z.enum(['input_audio', 'output_audio', 'computer_screenshot']) });

const Part = z.discriminatedUnion('type', [TextPart, RefusalPart, ImagePart, FilePart, OtherPart]);
const Content = z.union([z.string(), failFastArray(Part, { max: PARTS_MAX })]);

const MessageItem = z.object({
  type: z
    .literal('message')
    .nullish()
    .transform(() => 'message' as const),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: Content,
});

const CallItem = z.object({
  type: z.literal('function_call'),
  call_id: z.string().min(1),
  name: z.string(),
  arguments: z.string(),
});

const ResultItem = z.object({
  type: z.literal('function_call_output'),
  call_id: z.string().min(1),
  output: Content,
});

const Texts = failFastArray(z.object({ text: z.string() }), { max: PARTS_MAX });

const ReasoningItem = z.object({ type: z.literal('reasoning'), summary: Texts.nullish(), content: Texts.nullish() });

const ReferenceItem = z.object({
  type: z
    .literal('item_reference')
    .nullish()
    .transform(() => 'item_reference' as const),
  id: z.string().min(1),
});

/** Types of calls that run elsewhere, their results, and records of other services: stored, but not sent to a model. */
const OTHER_TYPE =
  /^(?:[a-z_]{1,60}_(?:call|call_output)|mcp_list_tools|mcp_approval_(?:request|response)|compaction(?:_trigger|_summary)?|additional_tools|tool_search_output|program(?:_output)?)$/;

const OtherItem = z
  .object({ type: z.string().regex(OTHER_TYPE, 'is not a known item type') })
  .transform(({ type }) => ({ type: 'other' as const, wireType: type }));

const SCHEMAS = new Map<unknown, z.ZodType<WireItem>>([
  // A call item that does not match its schema was created by another service and is stored like any other call.
  ['web_search_call', z.union([SearchCallItem, OtherItem])],
  ['web_extractor_call', z.union([ExtractorCallItem, OtherItem])],
  ['code_interpreter_call', z.union([CodeCallItem, OtherItem])],
  ['compaction', z.union([CompactionItem, OtherItem])],
  ['compaction_summary', z.union([CompactionItem, OtherItem])],
  ['message', MessageItem],
  ['function_call', CallItem],
  ['function_call_output', ResultItem],
  ['reasoning', ReasoningItem],
  ['item_reference', ReferenceItem],
]);

export type WireItem =
  | z.output<typeof MessageItem>
  | z.output<typeof CallItem>
  | z.output<typeof ResultItem>
  | z.output<typeof ReasoningItem>
  | z.output<typeof ReferenceItem>
  | z.output<typeof SearchCallItem>
  | z.output<typeof ExtractorCallItem>
  | z.output<typeof CodeCallItem>
  | z.output<typeof CompactionItem>
  | z.output<typeof OtherItem>;

export type WireContent = z.output<typeof Content>;
export type WireItemPart = z.output<typeof Part>;
export type WireFile = z.output<typeof FilePart>;

/** Selects the schema by `type`. Without a type, an item with only an id is a reference, any other a message. */
function selectItemSchema(value: unknown): z.ZodType<WireItem> {
  if (!isRecord(value)) return MessageItem;
  const { type } = value;
  if (isDefined(type)) return SCHEMAS.get(type) ?? OtherItem;
  return 'id' in value && !('role' in value) && !('content' in value) ? ReferenceItem : MessageItem;
}

/** Returns the id that an item reference names; undefined for any other item. */
export function getReferencedItemId(value: unknown): string | undefined {
  if (selectItemSchema(value) !== ReferenceItem) return undefined;
  const { data } = ReferenceItem.safeParse(value);
  return data?.id;
}

/** Any item that the responses interface accepts as input. */
export const AnyItem = selectSchema(selectItemSchema);

/** Message items only: a conversation can be created only with messages. */
export const MessageOnly = selectSchema(() => MessageItem);
