import { z } from 'zod';
import { PARTS_MAX } from '../../limits.ts';
import type { ToolCall } from '../../../core/message.ts';
import { renderPastPage, renderPastProgram, renderPastSearch } from '../../fields/past-tool-results.ts';
import { failFastArray } from '../../fail-fast-array.ts';
import type { MessagesBlockWire } from './schema.ts';
import { unsealText } from './sealed-text.ts';
import { SERVER_TOOL_NAMES } from './server-tool-schema.ts';

type PastResultBlock = Extract<
  MessagesBlockWire,
  { readonly content: unknown; readonly tool_use_id: string; readonly caller?: unknown }
>;
type PastUseBlock = Extract<MessagesBlockWire, { readonly type: 'server_tool_use' }>;

const TOOL_NAMES = {
  web_search_tool_result: 'web_search',
  web_fetch_tool_result: 'web_fetch',
  code_execution_tool_result: 'code_execution',
} as const;

export const isPastResult = (block: MessagesBlockWire): block is PastResultBlock =>
  Object.hasOwn(TOOL_NAMES, block.type);

/** Whether the block is a call of a server tool that Parley runs; other tools are unknown. */
export const isPastUse = (block: MessagesBlockWire): block is PastUseBlock =>
  block.type === 'server_tool_use' && SERVER_TOOL_NAMES.some((name) => name === block.name);

/**
 * Converts the call that a result belongs to. Without the call's block, its arguments are unknown and encoded as {}.
 */
export const decodePastCall = (
  { type, tool_use_id: id }: PastResultBlock,
  use: PastUseBlock | undefined,
): ToolCall => ({
  id,
  name: use?.name.toWellFormed() ?? TOOL_NAMES[type],
  arguments: JSON.stringify(use?.input ?? {}).toWellFormed(),
});

const ToolError = z.object({ error_code: z.string() });

const SearchSources = failFastArray(
  z.object({ title: z.string().nullish(), url: z.string().nullish(), encrypted_content: z.string().nullish() }),
  { max: PARTS_MAX },
);

const Page = z.object({
  url: z.string().nullish(),
  content: z.object({ title: z.string().nullish(), source: z.object({ data: z.string().nullish() }) }),
});

const Program = z.object({ stdout: z.string().nullish(), stderr: z.string().nullish() });

/** Renders a result for the prompt; content that Parley did not produce renders as empty. */
export function renderPastResult({ type, content }: PastResultBlock): string {
  const errorCode = ToolError.safeParse(content).data?.error_code;
  return renderResult(type, content, errorCode).toWellFormed();
}

function renderResult(type: PastResultBlock['type'], content: unknown, errorCode: string | undefined): string {
  switch (type) {
    case 'web_search_tool_result': {
      const searchSources = SearchSources.safeParse(content).data ?? [];
      const sources = searchSources.map(({ title, url, encrypted_content: encryptedContent }) => ({
        title,
        url,
        passage: unsealText(encryptedContent ?? ''),
      }));
      return renderPastSearch(sources, errorCode);
    }
    case 'web_fetch_tool_result': {
      const page = Page.safeParse(content).data;
      return renderPastPage(
        { title: page?.content.title, url: page?.url, passage: page?.content.source.data ?? undefined },
        errorCode,
      );
    }
    case 'code_execution_tool_result': {
      const { stdout, stderr } = Program.safeParse(content).data ?? {};
      return renderPastProgram([stdout, stderr], errorCode);
    }
  }
}
