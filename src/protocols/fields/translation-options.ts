import { z } from 'zod';
import type { ModelEntry } from '../../catalogue/model.ts';
import { TRANSLATION_PAIRS_MAX } from '../limits.ts';
import type { ServiceError } from '../../core/error.ts';
import { findLanguage, suggestLanguages } from '../../generation/translation/languages.ts';
import type { Language, LanguageSet } from '../../generation/translation/languages.ts';
import type { TranslationOptions } from '../../generation/translation/translation.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import { failFastArray } from '../fail-fast-array.ts';
import { createMissingParameterError, createFieldError } from '../parse.ts';
import type { FieldPathMapper } from './field-path-mapper.ts';

const Pairs = failFastArray(z.object({ source: z.string(), target: z.string() }), { max: TRANSLATION_PAIRS_MAX });

/** `translation_options` (docs/wire/dashscope-native.md#translation-options). */
export const TranslationOptionsWire = z.object({
  source_lang: z.string().nullish(),
  target_lang: z.string().nullish(),
  terms: Pairs.nullish(),
  tm_list: Pairs.nullish(),
  domains: z.string().nullish(),
});

type TranslationOptionsFields = z.output<typeof TranslationOptionsWire>;

/**
 * Converts translation options. Languages are given by name or code; an absent or `auto` source language is detected.
 *
 * @throws ServiceError `invalid-request` naming the field, for a language that the model lacks, a missing target
 * language, or a term without target text.
 */
export function decodeTranslationOptions(
  wire: TranslationOptionsFields,
  entry: ModelEntry,
  toPath: FieldPathMapper,
): TranslationOptions {
  const languages = entry.languages ?? 'all';
  const toOptionPath = (field: string): string => toPath(`translation_options.${field}`);
  const { source_lang: source, target_lang: target, terms, tm_list: memory, domains } = wire;
  if (target === undefined || target === null) throw createMissingParameterError(toOptionPath('target_lang'));
  return {
    ...(isAuto(source) ? {} : { source: resolveLanguage(source, languages, toOptionPath('source_lang')) }),
    target: resolveLanguage(target, languages, toOptionPath('target_lang')),
    terms: (terms ?? []).map((term, index) => {
      if (term.target.trim() === '')
        throw createFieldError(toOptionPath(`terms[${index}].target`), 'The target of a term must not be empty');
      return toWellFormedPair(term);
    }),
    memory: (memory ?? []).map(toWellFormedPair),
    ...omitNullish({ domains: domains?.trim() ? domains.toWellFormed() : undefined }),
  };
}

const isAuto = (source: string | null | undefined): source is null | undefined | 'auto' =>
  source === undefined || source === null || source.trim().toLowerCase() === 'auto';

const toWellFormedPair = ({ source, target }: { readonly source: string; readonly target: string }) => ({
  source: source.toWellFormed(),
  target: target.toWellFormed(),
});

function resolveLanguage(name: string, languages: LanguageSet, param: string): Language {
  const found = findLanguage(name, languages);
  if (found) return found;
  throw createUnknownLanguageError(name, languages, param);
}

/** Creates the error with the prescribed first sentence (docs/wire/dashscope-native.md#translation-rules). */
function createUnknownLanguageError(name: string, languages: LanguageSet, param: string): ServiceError {
  const near = suggestLanguages(name, languages);
  const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : '';
  return createFieldError(param, `Current language settings are not supported!${hint}`, name);
}
