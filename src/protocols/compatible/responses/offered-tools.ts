import type { ResponseWire } from './schema.ts';
import { isFunctionTool, getServerToolKind, type ServerToolKind, type ResponseFunctionTool } from './tool-schema.ts';

interface OfferedFunction {
  readonly tool: ResponseFunctionTool;
  /** Position among all tools of the request. */
  readonly index: number;
}

/** Lists the caller's functions, limited to those that `allowed_tools` names. */
export function listOfferedFunctions({ tools, tool_choice: choice }: ResponseWire): readonly OfferedFunction[] {
  const functions = (tools ?? []).flatMap((tool, index): OfferedFunction[] =>
    isFunctionTool(tool) ? [{ tool, index }] : [],
  );
  const allowed = listAllowedFunctionNames(choice);
  return allowed ? functions.filter(({ tool }) => allowed.has(tool.name)) : functions;
}

/** Lists the server tools that the model may use. */
export function listOfferedToolKinds({ tools, tool_choice: choice }: ResponseWire): ReadonlySet<ServerToolKind> {
  if (choice === 'none') return new Set();
  const given = listRequestedToolKinds(tools);
  const allowed = listAllowedToolKinds(choice);
  return allowed ? given.intersection(allowed) : given;
}

export const listRequestedToolKinds = (tools: ResponseWire['tools']): ReadonlySet<ServerToolKind> =>
  new Set((tools ?? []).flatMap(({ type }) => getServerToolKind(type) ?? []));

export function listAllowedFunctionNames(choice: ResponseWire['tool_choice']): ReadonlySet<string> | undefined {
  if (!isAllowedTools(choice)) return undefined;
  return new Set(choice.tools.flatMap(({ type, name }) => (type === 'function' && name ? [name] : [])));
}

export function listAllowedToolKinds(choice: ResponseWire['tool_choice']): ReadonlySet<ServerToolKind> | undefined {
  if (!isAllowedTools(choice)) return undefined;
  return new Set(choice.tools.flatMap(({ type }) => getServerToolKind(type) ?? []));
}

type AllowedTools = Extract<ResponseWire['tool_choice'], { readonly mode: 'auto' | 'required' }>;

export const isAllowedTools = (choice: ResponseWire['tool_choice']): choice is AllowedTools =>
  typeof choice === 'object' && choice?.type === 'allowed_tools';

/** Returns the server tool that `tool_choice` names by its type. */
export const getForcedToolKind = (choice: ResponseWire['tool_choice']): ServerToolKind | undefined =>
  typeof choice === 'object' && choice !== null ? getServerToolKind(choice.type) : undefined;

/** Tells whether `tool_choice` requires at least one call, of any offered tool. */
export const requiresCall = (choice: ResponseWire['tool_choice']): boolean =>
  choice === 'required' || (isAllowedTools(choice) && choice.mode === 'required');
