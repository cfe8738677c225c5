import type { GenerationEvent } from '../core/event.ts';
import type { Translation } from '../generation/translation/translation.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import { encodeSseComment } from '../lib/sse.ts';
import type { StreamEncoder } from './stream-encoder.ts';

type TranslationReports = Pick<Translation, 'formatTermScore' | 'formatReport'>;

/**
 * Encodes the headers of an unstreamed translation: `x-parley-terms`, how many of the requested terms appear in it with
 * their target text, for example `1/2`; and `x-parley-translation`, what the other checks found.
 */
export const encodeTranslationHeaders = ({
  formatTermScore,
  formatReport,
}: TranslationReports): Readonly<Record<string, string>> =>
  omitNullish({ 'x-parley-terms': formatTermScore(), 'x-parley-translation': formatReport() });

/** Adds the same information to a stream: SSE comments before the chunks that end the answer. */
export function withTranslationComments(
  encoder: StreamEncoder<GenerationEvent>,
  reports: TranslationReports,
): StreamEncoder<GenerationEvent> {
  return {
    ...encoder,
    push(events) {
      const end = events.findIndex(({ type }) => type === 'choice-end');
      if (end < 0) return encoder.push(events);
      const comments = Object.entries(encodeTranslationHeaders(reports)).map(([name, value]) =>
        encodeSseComment(`${name.slice('x-'.length)} ${value}`),
      );
      return encoder.push(events.slice(0, end)) + comments.join('') + encoder.push(events.slice(end));
    },
  };
}
