import type { ServiceError } from '../../core/error.ts';
import { UPSTREAM_BODY_CHARACTERS_MAX } from '../../core/limits.ts';
import { bodyText } from './body-text.ts';
import type { Call } from './connection.ts';
import { refusalWords } from './error-words.ts';
import type { ErrorWords } from './error-words.ts';
import type { Faults } from './faults.ts';

/** What our caller is told of an answer that is none: its status, its words, and when to try again. */
export async function refusalOf({ response, watch, why }: Call, faults: Faults): Promise<ServiceError> {
  const retryAfter = Number(response.headers['retry-after'] ?? Number.NaN);
  try {
    const text = await bodyText(response, UPSTREAM_BODY_CHARACTERS_MAX);
    return faults.refused(
      response.statusCode,
      wordsIn(text),
      Number.isFinite(retryAfter) && retryAfter >= 0 ? Math.ceil(retryAfter) : undefined,
    );
  } catch (thrown) {
    return why(thrown);
  } finally {
    watch.rest();
  }
}

/** Only JSON is passed on in a message: anything else is a page for people, or a proxy's. */
function wordsIn(text: string | undefined): ErrorWords {
  try {
    return refusalWords(JSON.parse(text ?? ''));
  } catch {
    return {};
  }
}
