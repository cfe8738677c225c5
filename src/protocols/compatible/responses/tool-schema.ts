import { z } from 'zod';
import { REQUEST_DOCUMENTS_MAX, TOOL_NAME_CHARACTERS_MAX } from '../../../core/limits.ts';
import { HostNames } from '../../fields/host-name.ts';
import { JsonObject } from '../../fields/parameter-schema.ts';
import { UserLocation } from '../../fields/user-location.ts';
import { chosenBy } from '../../chosen-by.ts';
import { listOf } from '../../list-of.ts';
import { isPlainObject } from '../../parse.ts';

// Tools of wire.md E6.3, and what the official clients can say of those that run here.

export const FunctionName = z
  .string()
  .max(TOOL_NAME_CHARACTERS_MAX)
  .regex(/^[A-Za-z0-9_-]+$/);

const FunctionTool = z.object({
  type: z.literal('function'),
  name: FunctionName,
  description: z.string().nullish(),
  parameters: JsonObject.nullish(),
  strict: z.boolean().nullish(),
});

/** The names of four versions of one tool. */
const SEARCH_TYPES = [
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
] as const;

// Told back as they were sent, so all of their fields are taken over.

const SearchTool = z.looseObject({
  type: z.enum(SEARCH_TYPES),
  filters: z.looseObject({ allowed_domains: HostNames.nullish() }).nullish(),
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
        file_ids: listOf(z.string().min(1), { max: REQUEST_DOCUMENTS_MAX }).nullish(),
      }),
    ])
    .nullish(),
});

type Named = Readonly<Record<string, unknown>> & { readonly type: string };

/** Taken over whole: its fields are not ours to know. */
export const otherThan = (...types: readonly string[]) =>
  z.custom<Named>(
    (value) => isPlainObject(value) && typeof value['type'] === 'string' && !types.includes(value['type']),
    'must be an object with a type',
  );

type AnyTool =
  | z.output<typeof FunctionTool>
  | z.output<typeof SearchTool>
  | z.output<typeof ExtractorTool>
  | z.output<typeof CodeTool>
  | Named;

const SCHEMAS: Readonly<Record<ServerToolKind | 'function', z.ZodType<AnyTool>>> = {
  function: FunctionTool,
  search: SearchTool,
  pages: ExtractorTool,
  code: CodeTool,
};

const OtherTool: z.ZodType<AnyTool> = z.looseObject({ type: z.string() });

/** By its type. */
export const Tool = chosenBy<AnyTool>((value) => {
  const type = isPlainObject(value) ? value['type'] : undefined;
  const kind = type === 'function' ? type : typeof type === 'string' ? serverToolOf(type) : undefined;
  return kind ? SCHEMAS[kind] : OtherTool;
});

export type WireTool = AnyTool;
export type WireFunctionTool = z.output<typeof FunctionTool>;
export type WireSearchTool = z.output<typeof SearchTool>;
export type WireCodeTool = z.output<typeof CodeTool>;

export const isFunctionTool = (tool: WireTool): tool is WireFunctionTool => tool.type === 'function';

/** What a tool that runs here does. */
export type ServerToolKind = 'search' | 'pages' | 'code';

/** Undefined for a caller's function, and for what runs elsewhere. */
export function serverToolOf(type: string): ServerToolKind | undefined {
  if (SEARCH_TYPES.some((each) => each === type)) return 'search';
  return type === 'web_extractor' ? 'pages' : type === 'code_interpreter' ? 'code' : undefined;
}

export const isSearchTool = (tool: WireTool): tool is WireSearchTool => serverToolOf(tool.type) === 'search';

export const isCodeTool = (tool: WireTool): tool is WireCodeTool => serverToolOf(tool.type) === 'code';
