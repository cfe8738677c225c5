import type { Abilities } from '../core/abilities.ts';
import { ServiceError } from '../core/error.ts';
import type { LoadedModel, TextEngine } from '../engines/engine.ts';
import { createPromptRenderer } from './prompt-renderer.ts';
import type { ToolFormatName } from './tools/tool-formats.ts';

/**
 * Detects how a model writes tool calls. Renders its template many times, so it is meant for the moment of loading.
 *
 * @param toolFormat Format of the model's family, if it has one.
 * @param getRenderer Returns the renderer of a model. Default: a new one.
 * @returns undefined for a server that parses calls itself, and for a template that cannot be parsed.
 */
export function detectToolCalls(
  model: LoadedModel,
  { input }: Pick<TextEngine['capabilities'], 'input'>,
  toolFormat: ToolFormatName | undefined,
  getRenderer = createPromptRenderer(),
): Abilities['toolCalls'] {
  if (input === 'chat') return undefined;
  try {
    return getRenderer(model).getToolSupport(toolFormat).calls;
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}
