import type { LoadedModel } from '../engine.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';

/**
 * Reads the templates from the metadata of a model file, whose section `tokenizer` the library nests by dots. A file has one
 * template, `tokenizer.chat_template`, or several, `tokenizer.chat_template.NAME` of the names in
 * `tokenizer.chat_templates`. Where both are there, the library keeps the longer keys unnested.
 */
export function readChatTemplates(
  tokenizer: Readonly<Record<string, unknown>> | undefined,
): Pick<LoadedModel, 'chatTemplate' | 'toolTemplate'> {
  const section = tokenizer?.['chat_template'];
  const named = typeof section === 'object' && section !== null ? (section as Readonly<Record<string, unknown>>) : {};
  const readText = (...values: readonly unknown[]): string | undefined =>
    values.find((value): value is string => typeof value === 'string' && value !== '');
  const getNamed = (name: string): string | undefined => readText(tokenizer?.[`chat_template.${name}`], named[name]);
  return omitNullish({
    chatTemplate: readText(section, getNamed('default')),
    toolTemplate: getNamed('tool_use'),
  });
}
