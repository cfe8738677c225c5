import { z } from 'zod';
import { PARTS_MAX } from '../../../core/limits.ts';
import type { ToolCall } from '../../../core/message.ts';
import { pastPage, pastProgram, pastSearch } from '../../fields/past-work.ts';
import { listOf } from '../../list-of.ts';
import type { WireBlock } from './schema.ts';
import { unsealText } from './sealed-text.ts';
import { SERVER_TOOL_NAMES } from './server-tool-schema.ts';

type ResultBlock = Extract<
  WireBlock,
  { readonly content: unknown; readonly tool_use_id: string; readonly caller?: unknown }
>;
type UseBlock = Extract<WireBlock, { readonly type: 'server_tool_use' }>;

/** Blocks in which an assistant's message tells of work on our side. */
export type PastBlock = UseBlock | ResultBlock;

const NAMES = {
  web_search_tool_result: 'web_search',
  web_fetch_tool_result: 'web_fetch',
  code_execution_tool_result: 'code_execution',
} as const;

export const isPastResult = (block: WireBlock): block is ResultBlock => Object.hasOwn(NAMES, block.type);

/** The use of a tool that runs here; of others nothing is known. */
export const isPastUse = (block: WireBlock): block is UseBlock =>
  block.type === 'server_tool_use' && SERVER_TOOL_NAMES.some((name) => name === block.name);

/** The call that a result is of; where it is not there, nobody knows what was asked for. */
export const pastCall = ({ type, tool_use_id: id }: ResultBlock, use: UseBlock | undefined): ToolCall => ({
  id,
  name: use?.name.toWellFormed() ?? NAMES[type],
  arguments: JSON.stringify(use?.input ?? {}).toWellFormed(),
});

const Failure = z.object({ error_code: z.string() });

const Found = listOf(
  z.object({ title: z.string().nullish(), url: z.string().nullish(), encrypted_content: z.string().nullish() }),
  { max: PARTS_MAX },
);

const Page = z.object({
  url: z.string().nullish(),
  content: z.object({ title: z.string().nullish(), source: z.object({ data: z.string().nullish() }) }),
});

const Program = z.object({ stdout: z.string().nullish(), stderr: z.string().nullish() });

/** What the model is told of a result. One in a form that is not ours says nothing. */
export function pastText({ type, content }: ResultBlock): string {
  const why = Failure.safeParse(content).data?.error_code;
  return textOf(type, content, why).toWellFormed();
}

function textOf(type: ResultBlock['type'], content: unknown, why: string | undefined): string {
  switch (type) {
    case 'web_search_tool_result': {
      const found = Found.safeParse(content).data ?? [];
      const sources = found.map(({ title, url, encrypted_content: sealed }) => ({
        title,
        url,
        passage: unsealText(sealed ?? ''),
      }));
      return pastSearch(sources, why);
    }
    case 'web_fetch_tool_result': {
      const page = Page.safeParse(content).data;
      return pastPage(
        { title: page?.content.title, url: page?.url, passage: page?.content.source.data ?? undefined },
        why,
      );
    }
    case 'code_execution_tool_result': {
      const { stdout, stderr } = Program.safeParse(content).data ?? {};
      return pastProgram([stdout, stderr], why);
    }
  }
}
