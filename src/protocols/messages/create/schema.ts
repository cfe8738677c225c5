import { z } from 'zod';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { MESSAGES_MAX, PARTS_MAX, STOP_SEQUENCES_MAX, TOOLS_MAX, TOOL_NAME_CHARS_MAX } from '../../limits.ts';
import { JsonObject } from '../../fields/parameter-schema.ts';
import { selectSchema } from '../../select-schema.ts';
import { failFastArray } from '../../fail-fast-array.ts';
import type { RuleTexts } from '../../parse.ts';
import { findServedVersions, selectServerToolSchema, type ServerToolWire } from './server-tool-schema.ts';
import { isRecord } from '../../../lib/is-record.ts';

// Fields and ranges of docs/wire/anthropic-compatible.md#messages-request. Clients write null for "not set", so every
// optional field may be null. The blocks allowed per role are checked in rules.ts.

/** A cache mark lasts 5 minutes; a longer `ttl` is reported as ignored. */
const CacheControl = z.object({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).nullish() });
const cacheMarkFields = { cache_control: CacheControl.nullish() };

const Text = z.object({
  type: z.literal('text'),
  text: z.string(),
  /** Citations of an earlier answer; ignored, because the results contain their sources. */
  citations: z.unknown().optional(),
  ...cacheMarkFields,
});

const Image = z.object({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.object({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
    z.object({ type: z.literal('url'), url: z.string() }),
    z.object({ type: z.literal('file') }),
  ]),
  ...cacheMarkFields,
});

const Document = z.object({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [
    z.object({ type: z.literal('text'), data: z.string() }),
    z.object({ type: z.literal('content'), content: z.union([z.string(), failFastArray(Text, { max: PARTS_MAX })]) }),
    z.object({ type: z.enum(['base64', 'url', 'file']) }),
  ]),
  title: z.string().nullish(),
  context: z.string().nullish(),
  ...cacheMarkFields,
});

/** A search result of the caller's own search. */
const SearchResult = z.object({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: failFastArray(Text, { max: PARTS_MAX }),
  ...cacheMarkFields,
});

/** Blocks that no model supports; only the type matters, for the error. */
const Video = z.object({ type: z.enum(['video', 'audio']) });

/** Blocks of tools, searches and summaries that Parley does not run; clients send them back. */
const SERVER_BLOCKS = [
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'mcp_tool_use',
  'mcp_tool_result',
  'mcp_tool_listing',
  'advisor_tool_result',
  'compaction',
  'fallback',
  'tool_addition',
  'tool_removal',
] as const;
const ServerBlock = z.object({ type: z.enum(SERVER_BLOCKS) });

/** A call of a server tool, run by Parley or another service with this interface. */
const ServerUse = z.object({
  type: z.literal('server_tool_use'),
  id: z.string().min(1),
  name: z.string(),
  input: z.unknown(),
  caller: z.unknown().optional(),
  ...cacheMarkFields,
});
const ServerResult = z.object({
  type: z.enum(['web_search_tool_result', 'web_fetch_tool_result', 'code_execution_tool_result']),
  tool_use_id: z.string().min(1),
  content: z.unknown(),
  caller: z.unknown().optional(),
  ...cacheMarkFields,
});

/** A file for the programs of this answer. */
const Upload = z.object({ type: z.literal('container_upload'), file_id: z.string().min(1), ...cacheMarkFields });

/** A tool that a client's tool search found. Parley offers every tool from the start. */
const ToolReference = z.object({ type: z.literal('tool_reference'), tool_name: z.string() });
const BrowserState = z.object({ type: z.literal('browser_state') });

const ToolUse = z.object({
  type: z.literal('tool_use'),
  id: z.string().min(1),
  name: z.string().min(1).max(TOOL_NAME_CHARS_MAX),
  input: JsonObject,
  ...cacheMarkFields,
});

const ToolResult = z.object({
  type: z.literal('tool_result'),
  tool_use_id: z.string().min(1),
  content: z
    .union([
      z.string(),
      failFastArray(z.discriminatedUnion('type', [Text, Image, Document, SearchResult, ToolReference, BrowserState]), {
        max: PARTS_MAX,
      }),
    ])
    .nullish(),
  is_error: z.boolean().nullish(),
  ...cacheMarkFields,
});

/** A thinking block; any signature is accepted, also those of other services. */
const Thinking = z.object({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().nullish() });
const RedactedThinking = z.object({ type: z.literal('redacted_thinking'), data: z.string().nullish() });

const Block = z.discriminatedUnion('type', [
  Text,
  Image,
  Document,
  SearchResult,
  Video,
  ServerBlock,
  ServerUse,
  ServerResult,
  Upload,
  ToolUse,
  ToolResult,
  Thinking,
  RedactedThinking,
]);

const Message = z.object({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), failFastArray(Block, { max: PARTS_MAX })]),
});

const TOOL_NAME_PATTERN = new RegExp(`^[A-Za-z0-9_-]{1,${TOOL_NAME_CHARS_MAX}}$`);

const ToolName = z.string().refine((name) => TOOL_NAME_PATTERN.test(name), {
  message: `must have 1 to ${TOOL_NAME_CHARS_MAX} letters, digits, underscores or hyphens`,
});

const CustomTool = z.object({
  type: z.literal('custom').nullish(),
  name: ToolName,
  description: z.string().nullish(),
  input_schema: JsonObject,
  strict: z.boolean().nullish(),
  ...cacheMarkFields,
});

/** A server tool that Parley does not run; only name and type matter. */
const OtherTool = z.looseObject({
  type: z.string().regex(/_\d{8}$|^mcp_toolset$|^tool_search_tool_/),
  name: z.string().nullish(),
});

type AnyToolWire = z.output<typeof CustomTool> | ServerToolWire | z.output<typeof OtherTool>;

/** The caller's own tool, a server tool that Parley runs, or another server tool. */
const Tool = selectSchema<AnyToolWire>((value) => {
  const type = isRecord(value) ? value['type'] : undefined;
  if (typeof type !== 'string' || type === 'custom') return CustomTool;
  return selectServerToolSchema(type) ?? OtherTool;
});

const display = z.enum(['summarized', 'omitted', 'updates', 'full']).nullish();

const effort = z.enum(['minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'none']);

const FIELDS = {
  model: z.string().min(1),
  system: z.union([z.string(), failFastArray(Text, { max: PARTS_MAX })]).nullish(),
  messages: failFastArray(Message, { min: 1, max: MESSAGES_MAX }),
  tools: failFastArray(Tool, { max: TOOLS_MAX }).nullish(),
  tool_choice: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('auto'), disable_parallel_tool_use: z.boolean().nullish() }),
      z.object({ type: z.literal('any'), disable_parallel_tool_use: z.boolean().nullish() }),
      z.object({ type: z.literal('tool'), name: ToolName, disable_parallel_tool_use: z.boolean().nullish() }),
      z.object({ type: z.literal('none') }),
    ])
    .nullish(),
  thinking: z
    .preprocess(
      // Without a type, the documented default of the platform applies.
      (value) => (isRecord(value) && value['type'] === undefined ? { ...value, type: 'adaptive' } : value),
      z.discriminatedUnion('type', [
        z.object({
          type: z.literal('enabled'),
          budget_tokens: z.int().min(1),
          display,
        }),
        z.object({ type: z.literal('disabled') }),
        z.object({ type: z.literal('adaptive'), display }),
        z.object({ type: z.literal('between_tools') }),
      ]),
    )
    .nullish(),
  /** Vendor extension with the same meaning as `output_config.effort`. */
  reasoning_effort: effort.nullish(),
  output_config: z
    .object({
      effort: effort.nullish(),
      format: z.object({ type: z.literal('json_schema'), schema: JsonObject }).nullish(),
    })
    .nullish(),
  /** Older name of `output_config.format`. */
  output_format: z.object({ type: z.literal('json_schema'), schema: JsonObject }).nullish(),
  /** Puts a cache mark on the last block of the request. */
  cache_control: CacheControl.nullish(),
  mcp_servers: z.array(z.unknown()).nullish(),
  container: z
    .union([z.string().min(1), z.object({ id: z.string().min(1).nullish(), skills: z.unknown().optional() })])
    .nullish(),
  context_management: z.unknown().optional(),
};

export const MessagesBody = z.object({
  ...FIELDS,
  max_tokens: z.int().min(1),
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).lt(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  stop_sequences: failFastArray(z.string().min(1), { max: STOP_SEQUENCES_MAX }).nullish(),
  metadata: z.object({ user_id: z.string().nullish() }).nullish(),
  service_tier: z.string().nullish(),
  /** Server-side threads; rejected. */
  thread: z.object({ type: z.string() }).nullish(),
});

const uncheckedField = z.unknown().optional();

/** Body of a token count. Fields of the answer are unchecked: they change no count, and many clients send them. */
export const CountBody = z.object({
  ...FIELDS,
  max_tokens: uncheckedField,
  stream: uncheckedField,
  temperature: uncheckedField,
  top_p: uncheckedField,
  top_k: uncheckedField,
  stop_sequences: uncheckedField,
  metadata: uncheckedField,
  service_tier: uncheckedField,
});

export type MessagesWire = z.output<typeof MessagesBody>;
export type PromptWire = z.output<typeof CountBody>;
export type MessagesTurnWire = PromptWire['messages'][number];
export type MessagesBlockWire = z.output<typeof Block>;
type ToolResultWire = Extract<MessagesBlockWire, { readonly type: 'tool_result' }>;
/** Blocks of messages and of tool results. */
export type InnerBlockWire = MessagesBlockWire | Exclude<ToolResultWire['content'], string | null | undefined>[number];
export type MessagesToolWire = z.output<typeof Tool>;
export type CustomTool = z.output<typeof CustomTool>;

export const isServerTool = (tool: MessagesToolWire): tool is ServerToolWire =>
  findServedVersions(tool.type ?? '')?.some((type) => type === tool.type) === true;

export const isCustomTool = (tool: MessagesToolWire): tool is CustomTool => (tool.type ?? 'custom') === 'custom';

/** Whether a block is neither the user's nor the model's content. */
export const isServerBlock = ({ type }: InnerBlockWire): boolean =>
  SERVER_BLOCKS.some((each) => each === type) ||
  type === 'server_tool_use' ||
  type === 'web_search_tool_result' ||
  type === 'web_fetch_tool_result' ||
  type === 'code_execution_tool_result' ||
  type === 'container_upload';

/** Parsed first, because the limits of the model occur in the texts of later errors. */
export const ModelOnly = z.object({ model: FIELDS.model });

export const createMessagesTexts = ({ contextTokens }: ModelEntry): RuleTexts => ({
  max_tokens: (value) =>
    value === undefined || value === null
      ? 'max_tokens: Field required'
      : `max_tokens must be an integer from 1 to ${contextTokens}`,
  messages: `messages must be a list of 1 to ${MESSAGES_MAX} messages`,
  'messages[].role': 'role must be user, assistant or system',
  'messages[].content': 'content must be a string or a list of content blocks',
  temperature: 'temperature must be in [0, 2)',
  top_p: 'top_p must be in (0, 1]',
  top_k: 'top_k must be 0 or greater',
  stop_sequences: `stop_sequences must be a list of at most ${STOP_SEQUENCES_MAX} strings`,
  'stop_sequences[]': 'a stop sequence must not be empty',
  'thinking.budget_tokens': 'budget_tokens must be an integer of at least 1',
});
