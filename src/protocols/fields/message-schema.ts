import { z } from 'zod';
import { MESSAGES_MAX, PARTS_MAX, TOOLS_MAX } from '../limits.ts';
import { failFastArray } from '../fail-fast-array.ts';

// Clients write null for "not set", so every optional field may be null.

export const CacheControl = z.object({ type: z.literal('ephemeral'), ttl: z.literal('5m').nullish() });

const TextPart = z.object({ type: z.literal('text'), text: z.string(), cache_control: CacheControl.nullish() });
const ImagePart = z.object({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) });
/** Parts that no model accepts; parsed only to name their type in the error. */
const OtherPart = z.object({ type: z.enum(['input_audio', 'video', 'video_url', 'file', 'refusal']) });

const Part = z.discriminatedUnion('type', [TextPart, ImagePart, OtherPart]);

const ToolCall = z.object({
  id: z.string(),
  type: z.literal('function').nullish(),
  /** Parley's responses contain it, and clients send them back unchanged. */
  index: z.int().nullish(),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

/** Creates the schema of a conversation. @param content Schema of a message's content, which differs by interface. */
export function createMessagesSchema<Content extends z.ZodType>(content: Content) {
  const named = { content, name: z.string().nullish() };
  const message = z.discriminatedUnion('role', [
    z.object({ role: z.literal('system'), ...named }),
    z.object({ role: z.literal('developer'), ...named }),
    z.object({ role: z.literal('user'), ...named }),
    z.object({
      role: z.literal('assistant'),
      content: content.nullish(),
      name: z.string().nullish(),
      reasoning_content: z.string().nullish(),
      tool_calls: failFastArray(ToolCall, { max: TOOLS_MAX }).nullish(),
      partial: z.boolean().nullish(),
    }),
    z.object({ role: z.literal('tool'), content, tool_call_id: z.string(), name: z.string().nullish() }),
  ]);
  return failFastArray(message, { min: 1, max: MESSAGES_MAX });
}

export const Messages = createMessagesSchema(z.union([z.string(), failFastArray(Part, { min: 1, max: PARTS_MAX })]));

export type WireMessage = z.output<typeof Messages>[number];
export type WirePart = z.output<typeof Part>;
