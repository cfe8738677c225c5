import type { EngineModelInfo } from '../catalogue/engine-model-info.ts';
import { getFamily } from '../catalogue/families/families.ts';
import { getFamilyName, type ModelEntry } from '../catalogue/model.ts';
import type { Abilities } from '../core/abilities.ts';
import type { LoadedModel, TextEngine } from '../engines/engine.ts';
import { readChatTemplates } from '../engines/llama/read-chat-templates.ts';
import { detectModelInfo } from '../generation/check-abilities.ts';
import { detectToolCalls } from '../generation/detect-tool-calls.ts';
import { createPromptRenderer } from '../generation/prompt-renderer.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import { readTemplateMetadata } from '../weights/read-template-metadata.ts';
import { findTemplateFile, readTemplateFile } from './chat-template-file.ts';

/** Detects the context and all abilities of a model that was just loaded, also how it writes tool calls. */
export function detectLoadedModelInfo(
  entry: ModelEntry,
  model: LoadedModel,
  capabilities: TextEngine['capabilities'],
): EngineModelInfo {
  const getRenderer = createPromptRenderer();
  const { contextTokens, abilities } = detectModelInfo(model, capabilities, getRenderer);
  const { toolFormat } = getFamily(getFamilyName(entry));
  const toolCalls = detectToolCalls(model, capabilities, toolFormat, getRenderer);
  return { contextTokens, abilities: { ...abilities, ...omitNullish({ toolCalls }) } };
}

/**
 * Detects how the model of a file writes tool calls, without loading it.
 * @returns undefined for an entry whose server parses calls itself.
 */
export async function detectToolCallsOfFile(
  entry: ModelEntry,
  modelFile: string | undefined,
): Promise<Abilities['toolCalls']> {
  const { runner } = entry;
  const isPrompt = runner.type === 'weights' || (runner.type === 'program' && runner.remote.input === 'prompt');
  if (!isPrompt || modelFile === undefined) return undefined;
  const template = await readTemplateFile(entry, findTemplateFile(entry, modelFile));
  const templates =
    template === undefined ? readChatTemplates(await readTemplateMetadata(modelFile)) : { chatTemplate: template };
  const model = { contextTokens: 0, vocabularySize: 0, specialTokens: [], bosToken: '', eosToken: '', ...templates };
  return detectToolCalls(model, { input: 'prompt' }, getFamily(getFamilyName(entry)).toolFormat);
}
