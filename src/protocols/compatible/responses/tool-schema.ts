import { z } from 'zod';
import { REQUEST_DOCUMENTS_MAX } from '../../../core/limits.ts';
import { TOOL_NAME_CHARS_MAX } from '../../limits.ts';
import { HostNameList } from '../../fields/host-name.ts';
import { JsonObject } from '../../fields/parameter-schema.ts';
import { UserLocation } from '../../fields/user-location.ts';
import { selectSchema } from '../../select-schema.ts';
import { failFastArray } from '../../fail-fast-array.ts';
import { isRecord } from '../../../lib/is-record.ts';

// Tools (docs/wire/openai-compatible.md#responses-request), and fields of server tools that official clients send.

export const FunctionName = z
  .string()
  .max(TOOL_NAME_CHARS_MAX)
  .regex(/^[A-Za-z0-9_-]+$/);

const FunctionTool = z.object({
  type: z.literal('function'),
  name: FunctionName,
  description: z.string().nullish(),
  parameters: JsonObject.nullish(),
  strict: z.boolean().nullish(),
});

/** Names of the web search tool in its different versions. */
const SEARCH_TYPES = [
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
] as const;

// These tools are returned as sent, so the schemas keep unknown fields.

const SearchTool = z.looseObject({
  type: z.enum(SEARCH_TYPES),
  filters: z.looseObject({ allowed_domains: HostNameList.nullish() }).nullish(),
  search_context_size: z.enum(['low', 'medium', 'high']).nullish(),
  user_location: UserLocation.nullish(),
});

const ExtractorTool = z.looseObject({ type: z.literal('web_extractor') });

const CodeTool = z.looseObject({
  type: z.literal('code_interpreter'),
  container: z
    .union([
      z.string().min(1),
      z.looseObject({
        type: z.literal('auto').nullish(),
        file_ids: failFastArray(z.string().min(1), { max: REQUEST_DOCUMENTS_MAX }).nullish(),
      }),
    ])
    .nullish(),
});

type TypedObject = Readonly<Record<string, unknown>> & { readonly type: string };

/** Creates the schema of an object with any other `type`; all of its fields are kept. */
export const createOtherTypeSchema = (...types: readonly string[]) =>
  z.custom<TypedObject>(
    (value) => isRecord(value) && typeof value['type'] === 'string' && !types.includes(value['type']),
    'must be an object with a type',
  );

type AnyTool =
  | z.output<typeof FunctionTool>
  | z.output<typeof SearchTool>
  | z.output<typeof ExtractorTool>
  | z.output<typeof CodeTool>
  | TypedObject;

const SCHEMAS: Readonly<Record<ServerToolKind | 'function', z.ZodType<AnyTool>>> = {
  function: FunctionTool,
  search: SearchTool,
  pages: ExtractorTool,
  code: CodeTool,
};

const OtherTool: z.ZodType<AnyTool> = z.looseObject({ type: z.string() });

/** Selects the schema by `type`. */
export const Tool = selectSchema<AnyTool>((value) => {
  const type = isRecord(value) ? value['type'] : undefined;
  const kind = type === 'function' ? type : typeof type === 'string' ? getServerToolKind(type) : undefined;
  return kind ? SCHEMAS[kind] : OtherTool;
});

export type ResponseTool = AnyTool;
export type ResponseFunctionTool = z.output<typeof FunctionTool>;
export type ResponseSearchTool = z.output<typeof SearchTool>;
export type ResponseCodeTool = z.output<typeof CodeTool>;

export const isFunctionTool = (tool: ResponseTool): tool is ResponseFunctionTool => tool.type === 'function';

/** Server tools: tools that run in Parley. */
export type ServerToolKind = 'search' | 'pages' | 'code';

/** Returns the kind of a server tool; undefined for a caller's function and for tools that run elsewhere. */
export function getServerToolKind(type: string): ServerToolKind | undefined {
  if (SEARCH_TYPES.some((each) => each === type)) return 'search';
  return type === 'web_extractor' ? 'pages' : type === 'code_interpreter' ? 'code' : undefined;
}

export const isSearchTool = (tool: ResponseTool): tool is ResponseSearchTool =>
  getServerToolKind(tool.type) === 'search';

export const isCodeTool = (tool: ResponseTool): tool is ResponseCodeTool => getServerToolKind(tool.type) === 'code';
