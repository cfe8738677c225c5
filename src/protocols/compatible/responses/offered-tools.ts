import type { ResponseWire } from './schema.ts';
import { isFunctionTool, serverToolOf } from './tool-schema.ts';
import type { ServerToolKind, WireFunctionTool } from './tool-schema.ts';

interface OfferedFunction {
  readonly tool: WireFunctionTool;
  /** Among all tools of the request. */
  readonly index: number;
}

/** The caller's functions, of which `allowed_tools` may name some. */
export function offeredFunctions({ tools, tool_choice: choice }: ResponseWire): readonly OfferedFunction[] {
  const functions = (tools ?? []).flatMap((tool, index): OfferedFunction[] =>
    isFunctionTool(tool) ? [{ tool, index }] : [],
  );
  const allowed = allowedNames(choice);
  return allowed ? functions.filter(({ tool }) => allowed.has(tool.name)) : functions;
}

/** Tools that run here and may be used. */
export function offeredKinds({ tools, tool_choice: choice }: ResponseWire): ReadonlySet<ServerToolKind> {
  if (choice === 'none') return new Set();
  const given = givenKinds(tools);
  const allowed = allowedKinds(choice);
  return allowed ? given.intersection(allowed) : given;
}

export const givenKinds = (tools: ResponseWire['tools']): ReadonlySet<ServerToolKind> =>
  new Set((tools ?? []).flatMap(({ type }) => serverToolOf(type) ?? []));

export function allowedNames(choice: ResponseWire['tool_choice']): ReadonlySet<string> | undefined {
  if (!isAllowedTools(choice)) return undefined;
  return new Set(choice.tools.flatMap(({ type, name }) => (type === 'function' && name ? [name] : [])));
}

export function allowedKinds(choice: ResponseWire['tool_choice']): ReadonlySet<ServerToolKind> | undefined {
  if (!isAllowedTools(choice)) return undefined;
  return new Set(choice.tools.flatMap(({ type }) => serverToolOf(type) ?? []));
}

type AllowedTools = Extract<ResponseWire['tool_choice'], { readonly mode: 'auto' | 'required' }>;

export const isAllowedTools = (choice: ResponseWire['tool_choice']): choice is AllowedTools =>
  typeof choice === 'object' && choice?.type === 'allowed_tools';

/** The tool that runs here and that `tool_choice` asks for by its type. */
export const forcedKind = (choice: ResponseWire['tool_choice']): ServerToolKind | undefined =>
  typeof choice === 'object' && choice !== null ? serverToolOf(choice.type) : undefined;

/** At least one call is asked for, of whatever is offered. */
export const requiresCall = (choice: ResponseWire['tool_choice']): boolean =>
  choice === 'required' || (isAllowedTools(choice) && choice.mode === 'required');
