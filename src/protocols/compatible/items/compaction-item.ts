import { createHash } from 'node:crypto';
import { z } from 'zod';

// The item that stands for a compacted history (docs/wire/openai-compatible.md#responses-compact). It carries its
// summary itself, so that it can be sent back at any time, to any process, and without anything stored here.

/** Marks content that Parley wrote. The content of other services cannot be read. */
const CONTENT_PREFIX = 'parley-summary-1.';

/** Characters of the digest, which shows that content arrived complete. */
const DIGEST_CHARS = 16;

/** Encodes a summary as the `encrypted_content` of a compaction item. */
export function encodeSummary(summary: string): string {
  const bytes = Buffer.from(summary.toWellFormed());
  return `${CONTENT_PREFIX}${digest(bytes)}.${bytes.toString('base64url')}`;
}

/** Returns the summary of a compaction item; undefined for content that Parley did not write, or that is incomplete. */
export function decodeSummary(content: string): string | undefined {
  if (!content.startsWith(CONTENT_PREFIX)) return undefined;
  const [expected, encoded = ''] = content.slice(CONTENT_PREFIX.length).split('.');
  const bytes = Buffer.from(encoded, 'base64url');
  return bytes.length > 0 && digest(bytes) === expected ? bytes.toString() : undefined;
}

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64url').slice(0, DIGEST_CHARS);

/** A compaction item with a summary that Parley wrote, under each name that clients use. */
export const CompactionItem = z
  .object({ type: z.enum(['compaction', 'compaction_summary']), encrypted_content: z.string() })
  .transform(({ type, encrypted_content: content }, context) => {
    const summary = decodeSummary(content);
    if (summary !== undefined) return { type: 'compaction' as const, wireType: type, summary };
    context.addIssue('encrypted_content is not from this service');
    return z.NEVER;
  });

/** Introduces a summary in the prompt: the model must not take it for its own last answer. */
export const toSummaryText = (summary: string): string =>
  `Summary of the conversation so far, in place of the earlier answers, tool calls and results:\n\n${summary}`;
