import { z } from 'zod';
import type { ModelEntry } from '../../catalogue/model.ts';
import { TRANSLATION_PAIRS_MAX } from '../../core/limits.ts';
import type { ServiceError } from '../../core/error.ts';
import { findLanguage, nearLanguages } from '../../generation/translation/languages.ts';
import type { Language, LanguageSet } from '../../generation/translation/languages.ts';
import type { TranslationOptions } from '../../generation/translation/translation.ts';
import { present } from '../../lib/present.ts';
import { listOf } from '../list-of.ts';
import { missing, refuse } from '../parse.ts';
import type { Place } from './place.ts';

const Pairs = listOf(z.object({ source: z.string(), target: z.string() }), { max: TRANSLATION_PAIRS_MAX });

/** wire.md E2.1. */
export const TranslationOptionsWire = z.object({
  source_lang: z.string().nullish(),
  target_lang: z.string().nullish(),
  terms: Pairs.nullish(),
  tm_list: Pairs.nullish(),
  domains: z.string().nullish(),
});

type Wire = z.output<typeof TranslationOptionsWire>;

/**
 * Languages by name or code; a source that is absent is detected, as `auto` is.
 *
 * @throws ServiceError `invalid-request` naming the field, for a language that the model does not have, no target, or a term without a wording.
 */
export function decodeTranslationOptions(wire: Wire, entry: ModelEntry, place: Place): TranslationOptions {
  const set = entry.languages ?? 'all';
  const at = (field: string): string => place(`translation_options.${field}`);
  const { source_lang: source, target_lang: target, terms, tm_list: memory, domains } = wire;
  if (target === undefined || target === null)
    throw refuse(at('target_lang'), missing('translation_options.target_lang'));
  return {
    ...(isAuto(source) ? {} : { source: languageOf(source, set, at('source_lang')) }),
    target: languageOf(target, set, at('target_lang')),
    terms: (terms ?? []).map((term, index) => {
      if (term.target.trim() === '')
        throw refuse(at(`terms[${index}].target`), 'A term needs a wording to be translated as');
      return wellFormed(term);
    }),
    memory: (memory ?? []).map(wellFormed),
    ...present({ domains: domains?.trim() ? domains.toWellFormed() : undefined }),
  };
}

const isAuto = (source: string | null | undefined): source is null | undefined | 'auto' =>
  source === undefined || source === null || source.trim().toLowerCase() === 'auto';

const wellFormed = ({ source, target }: { readonly source: string; readonly target: string }) => ({
  source: source.toWellFormed(),
  target: target.toWellFormed(),
});

function languageOf(asked: string, set: LanguageSet, param: string): Language {
  const found = findLanguage(asked, set);
  if (found) return found;
  throw unknownLanguage(asked, set, param);
}

/** wire.md E2.2 for the first sentence. */
function unknownLanguage(asked: string, set: LanguageSet, param: string): ServiceError {
  const near = nearLanguages(asked, set);
  const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : '';
  return refuse(param, `Current language settings are not supported!${hint}`, asked);
}
