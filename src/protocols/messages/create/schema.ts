import { z } from 'zod';
import type { ModelEntry } from '../../../catalogue/model.ts';
import {
  MESSAGES_MAX,
  PARTS_MAX,
  STOP_SEQUENCES_MAX,
  TOOLS_MAX,
  TOOL_NAME_CHARACTERS_MAX,
} from '../../../core/limits.ts';
import { JsonObject } from '../../fields/parameter-schema.ts';
import { chosenBy } from '../../chosen-by.ts';
import { listOf } from '../../list-of.ts';
import { isPlainObject } from '../../parse.ts';
import type { RuleTexts } from '../../parse.ts';
import { servedVersions, serverToolSchema } from './server-tool-schema.ts';
import type { WireServerTool } from './server-tool-schema.ts';

// Shape and ranges of E3 (wire.md E3.1). Clients write null for "not set", so every optional field may be null.
// What the content of a list may be depends on who speaks: see rules.ts.

/** Marks hold for five minutes; a longer wish is told as unheard. */
const CacheControl = z.object({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).nullish() });
const marked = { cache_control: CacheControl.nullish() };

const Text = z.object({
  type: z.literal('text'),
  text: z.string(),
  /** Of an earlier answer: what it rested on stands in the results. */
  citations: z.unknown().optional(),
  ...marked,
});

const Image = z.object({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.object({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
    z.object({ type: z.literal('url'), url: z.string() }),
    z.object({ type: z.literal('file') }),
  ]),
  ...marked,
});

const Document = z.object({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [
    z.object({ type: z.literal('text'), data: z.string() }),
    z.object({ type: z.literal('content'), content: z.union([z.string(), listOf(Text, { max: PARTS_MAX })]) }),
    z.object({ type: z.enum(['base64', 'url', 'file']) }),
  ]),
  title: z.string().nullish(),
  context: z.string().nullish(),
  ...marked,
});

/** What a search of the caller's own found. */
const SearchResult = z.object({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: listOf(Text, { max: PARTS_MAX }),
  ...marked,
});

/** Blocks that nothing here takes: only their names matter, for the refusal. */
const Video = z.object({ type: z.enum(['video', 'audio']) });

/** What a client keeps of tools, searches and summaries that ran elsewhere. */
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

/** What ran here, or on a service that speaks this interface. */
const ServerUse = z.object({
  type: z.literal('server_tool_use'),
  id: z.string().min(1),
  name: z.string(),
  input: z.unknown(),
  caller: z.unknown().optional(),
  ...marked,
});
const ServerResult = z.object({
  type: z.enum(['web_search_tool_result', 'web_fetch_tool_result', 'code_execution_tool_result']),
  tool_use_id: z.string().min(1),
  content: z.unknown(),
  caller: z.unknown().optional(),
  ...marked,
});

/** A file for the programs of this answer. */
const Upload = z.object({ type: z.literal('container_upload'), file_id: z.string().min(1), ...marked });

/** A tool that a client's own search found; every tool is offered from the start. */
const ToolReference = z.object({ type: z.literal('tool_reference'), tool_name: z.string() });
const BrowserState = z.object({ type: z.literal('browser_state') });

const ToolUse = z.object({
  type: z.literal('tool_use'),
  id: z.string().min(1),
  name: z.string().min(1).max(TOOL_NAME_CHARACTERS_MAX),
  input: JsonObject,
  ...marked,
});

const ToolResult = z.object({
  type: z.literal('tool_result'),
  tool_use_id: z.string().min(1),
  content: z
    .union([
      z.string(),
      listOf(z.discriminatedUnion('type', [Text, Image, Document, SearchResult, ToolReference, BrowserState]), {
        max: PARTS_MAX,
      }),
    ])
    .nullish(),
  is_error: z.boolean().nullish(),
  ...marked,
});

/** The signature is whatever we, or another service, once gave it. */
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
  content: z.union([z.string(), listOf(Block, { max: PARTS_MAX })]),
});

const NAME = new RegExp(`^[A-Za-z0-9_-]{1,${TOOL_NAME_CHARACTERS_MAX}}$`);

const ToolName = z.string().refine((name) => NAME.test(name), {
  message: `must have 1 to ${TOOL_NAME_CHARACTERS_MAX} letters, digits, underscores or hyphens`,
});

const CustomTool = z.object({
  type: z.literal('custom').nullish(),
  name: ToolName,
  description: z.string().nullish(),
  input_schema: JsonObject,
  strict: z.boolean().nullish(),
  ...marked,
});

/** One that the platform would run: only name and type matter here. */
const OtherTool = z.looseObject({
  type: z.string().regex(/_\d{8}$|^mcp_toolset$|^tool_search_tool_/),
  name: z.string().nullish(),
});

type AnyTool = z.output<typeof CustomTool> | WireServerTool | z.output<typeof OtherTool>;

/** A tool of the caller's own, one that runs here, or one that the platform would run. */
const Tool = chosenBy<AnyTool>((value) => {
  const type = isPlainObject(value) ? value['type'] : undefined;
  if (typeof type !== 'string' || type === 'custom') return CustomTool;
  return serverToolSchema(type) ?? OtherTool;
});

const display = z.enum(['summarized', 'omitted', 'updates', 'full']).nullish();

const effort = z.enum(['minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'none']);

const FIELDS = {
  model: z.string().min(1),
  system: z.union([z.string(), listOf(Text, { max: PARTS_MAX })]).nullish(),
  messages: listOf(Message, { min: 1, max: MESSAGES_MAX }),
  tools: listOf(Tool, { max: TOOLS_MAX }).nullish(),
  tool_choice: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('auto'), disable_parallel_tool_use: z.boolean().nullish() }),
      z.object({ type: z.literal('any'), disable_parallel_tool_use: z.boolean().nullish() }),
      z.object({ type: z.literal('tool'), name: ToolName, disable_parallel_tool_use: z.boolean().nullish() }),
      z.object({ type: z.literal('none') }),
    ])
    .nullish(),
  thinking: z
    .discriminatedUnion('type', [
      z.object({
        type: z.literal('enabled'),
        budget_tokens: z.int().min(1),
        display,
      }),
      z.object({ type: z.literal('disabled') }),
      z.object({ type: z.literal('adaptive'), display }),
      z.object({ type: z.literal('between_tools') }),
    ])
    .nullish(),
  /** The vendor's own, beside `output_config.effort`. */
  reasoning_effort: effort.nullish(),
  output_config: z
    .object({
      effort: effort.nullish(),
      format: z.object({ type: z.literal('json_schema'), schema: JsonObject }).nullish(),
    })
    .nullish(),
  /** The older name of `output_config.format`. */
  output_format: z.object({ type: z.literal('json_schema'), schema: JsonObject }).nullish(),
  /** Marks the last block of the request. */
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
  stop_sequences: listOf(z.string().min(1), { max: STOP_SEQUENCES_MAX }).nullish(),
  metadata: z.object({ user_id: z.string().nullish() }).nullish(),
  service_tier: z.string().nullish(),
  /** Server-held turns, which are refused. */
  thread: z.object({ type: z.string() }).nullish(),
});

const unread = z.unknown().optional();

/** The same without an answer: what is said of one changes no count, and many clients send the whole request. */
export const CountBody = z.object({
  ...FIELDS,
  max_tokens: unread,
  stream: unread,
  temperature: unread,
  top_p: unread,
  top_k: unread,
  stop_sequences: unread,
  metadata: unread,
  service_tier: unread,
});

export type MessagesWire = z.output<typeof MessagesBody>;
export type PromptWire = z.output<typeof CountBody>;
export type WireTurn = PromptWire['messages'][number];
export type WireBlock = z.output<typeof Block>;
type WireResult = Extract<WireBlock, { readonly type: 'tool_result' }>;
/** Also what stands in the result of a call. */
export type InnerBlock = WireBlock | Exclude<WireResult['content'], string | null | undefined>[number];
export type WireTool = z.output<typeof Tool>;
export type CustomTool = z.output<typeof CustomTool>;

export const isServerTool = (tool: WireTool): tool is WireServerTool =>
  servedVersions(tool.type ?? '')?.some((type) => type === tool.type) === true;

export const isCustom = (tool: WireTool): tool is CustomTool => (tool.type ?? 'custom') === 'custom';

/** Blocks that say nothing of what a user wants. */
export const isServerBlock = ({ type }: InnerBlock): boolean =>
  SERVER_BLOCKS.some((each) => each === type) ||
  type === 'server_tool_use' ||
  type === 'web_search_tool_result' ||
  type === 'web_fetch_tool_result' ||
  type === 'code_execution_tool_result' ||
  type === 'container_upload';

/** Which model is asked comes first: its own limits stand in the texts of what follows. */
export const ModelOnly = z.object({ model: FIELDS.model });

export const messagesTexts = ({ contextTokens }: ModelEntry): RuleTexts => ({
  max_tokens: (value) =>
    value === undefined || value === null
      ? 'max_tokens: Field required'
      : `max_tokens must be a whole number from 1 to ${contextTokens}`,
  messages: `messages must be a list of 1 to ${MESSAGES_MAX} messages`,
  'messages[].role': 'role must be user, assistant or system',
  'messages[].content': 'content must be a string or a list of content blocks',
  temperature: 'temperature must be in [0, 2)',
  top_p: 'top_p must be in (0, 1]',
  top_k: 'top_k must be 0 or greater',
  stop_sequences: `stop_sequences must be a list of at most ${STOP_SEQUENCES_MAX} strings`,
  'stop_sequences[]': 'a stop sequence must not be empty',
  'thinking.budget_tokens': 'budget_tokens must be a whole number of at least 1',
});
