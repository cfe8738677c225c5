import { z } from 'zod';
import { PARTS_MAX } from '../../../core/limits.ts';
import { isPresent } from '../../../lib/present.ts';
import { chosenBy } from '../../chosen-by.ts';
import { listOf } from '../../list-of.ts';
import { isPlainObject } from '../../parse.ts';
import { CodeCallItem, ExtractorCallItem, SearchCallItem } from './server-call-item.ts';

// Items as wire.md E6.3 has them and as clients send back what they were told. Only what is read stands here: an item is
// kept as it was sent, with everything else in it. Clients write null for "not set", so every optional field may be null.

/** `input_text` of a user, `output_text` of an earlier answer; the others are names for text that real clients send too. */
const TextPart = z.object({
  type: z.enum(['input_text', 'output_text', 'text', 'summary_text', 'reasoning_text']),
  text: z.string(),
});
const RefusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });
const ImagePart = z.object({ type: z.literal('input_image'), image_url: z.string() });
/** A document: one of ours by its id, or the whole of it in base64, also as a data URL. */
const FilePart = z.object({
  type: z.literal('input_file'),
  file_id: z.string().nullish(),
  file_data: z.string().nullish(),
  filename: z.string().nullish(),
  file_url: z.string().nullish(),
});
/** Parts that no model here takes: only their names matter, for the refusal. */
const OtherPart = z.object({ type: z.enum(['input_audio', 'output_audio', 'computer_screenshot']) });

const Part = z.discriminatedUnion('type', [TextPart, RefusalPart, ImagePart, FilePart, OtherPart]);
const Content = z.union([z.string(), listOf(Part, { max: PARTS_MAX })]);

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

const Texts = listOf(z.object({ text: z.string() }), { max: PARTS_MAX });

const ThoughtItem = z.object({ type: z.literal('reasoning'), summary: Texts.nullish(), content: Texts.nullish() });

const ReferenceItem = z.object({
  type: z
    .literal('item_reference')
    .nullish()
    .transform(() => 'item_reference' as const),
  id: z.string().min(1),
});

/** Calls of tools that run elsewhere, their results, and notes of other services: kept, and not told to a model. */
const OTHER_TYPE =
  /^(?:[a-z_]{1,60}_(?:call|call_output)|mcp_list_tools|mcp_approval_(?:request|response)|compaction(?:_trigger|_summary)?|additional_tools|tool_search_output|program(?:_output)?)$/;

const OtherItem = z
  .object({ type: z.string().regex(OTHER_TYPE, 'is no type of an item') })
  .transform(({ type }) => ({ type: 'other' as const, of: type }));

const SCHEMAS = new Map<unknown, z.ZodType<WireItem>>([
  // What has another form came from elsewhere: it is kept like anything that ran there.
  ['web_search_call', z.union([SearchCallItem, OtherItem])],
  ['web_extractor_call', z.union([ExtractorCallItem, OtherItem])],
  ['code_interpreter_call', z.union([CodeCallItem, OtherItem])],
  ['message', MessageItem],
  ['function_call', CallItem],
  ['function_call_output', ResultItem],
  ['reasoning', ThoughtItem],
  ['item_reference', ReferenceItem],
]);

export type WireItem =
  | z.output<typeof MessageItem>
  | z.output<typeof CallItem>
  | z.output<typeof ResultItem>
  | z.output<typeof ThoughtItem>
  | z.output<typeof ReferenceItem>
  | z.output<typeof SearchCallItem>
  | z.output<typeof ExtractorCallItem>
  | z.output<typeof CodeCallItem>
  | z.output<typeof OtherItem>;

export type WireContent = z.output<typeof Content>;
export type WirePart = z.output<typeof Part>;
export type WireFile = z.output<typeof FilePart>;

/** By its type; without one it is a message, or a reference where it has an id and says nothing. */
function schemaOf(value: unknown): z.ZodType<WireItem> {
  if (!isPlainObject(value)) return MessageItem;
  const { type } = value;
  if (isPresent(type)) return SCHEMAS.get(type) ?? OtherItem;
  return 'id' in value && !('role' in value) && !('content' in value) ? ReferenceItem : MessageItem;
}

/** The id that a reference names; undefined for anything else. */
export function referredTo(value: unknown): string | undefined {
  if (schemaOf(value) !== ReferenceItem) return undefined;
  const { data } = ReferenceItem.safeParse(value);
  return data?.id;
}

/** Everything that the responses interface takes as input. */
export const AnyItem = chosenBy(schemaOf);

/** Specification, "Conversation item": messages and nothing else. */
export const MessageOnly = chosenBy(() => MessageItem);
