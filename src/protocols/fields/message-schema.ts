import { z } from 'zod';
import { MESSAGES_MAX, PARTS_MAX, TOOLS_MAX } from '../../core/limits.ts';
import { listOf } from '../list-of.ts';

// Clients write null for "not set", so every optional field may be null.

export const CacheControl = z.object({ type: z.literal('ephemeral'), ttl: z.literal('5m').nullish() });

const TextPart = z.object({ type: z.literal('text'), text: z.string(), cache_control: CacheControl.nullish() });
const ImagePart = z.object({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) });
/** Parts no model here takes: only their names matter, for the refusal. */
const OtherPart = z.object({ type: z.enum(['input_audio', 'video', 'video_url', 'file', 'refusal']) });

const Part = z.discriminatedUnion('type', [TextPart, ImagePart, OtherPart]);

const ToolCall = z.object({
  id: z.string(),
  type: z.literal('function').nullish(),
  /** Our own answers carry it, and clients send them back as they are. */
  index: z.int().nullish(),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

/** A conversation, with the interface's own form of a message's content. */
export function messagesWith<Content extends z.ZodType>(content: Content) {
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
      tool_calls: listOf(ToolCall, { max: TOOLS_MAX }).nullish(),
      partial: z.boolean().nullish(),
    }),
    z.object({ role: z.literal('tool'), content, tool_call_id: z.string(), name: z.string().nullish() }),
  ]);
  return listOf(message, { min: 1, max: MESSAGES_MAX });
}

export const Messages = messagesWith(z.union([z.string(), listOf(Part, { min: 1, max: PARTS_MAX })]));

export type WireMessage = z.output<typeof Messages>[number];
export type WirePart = z.output<typeof Part>;
