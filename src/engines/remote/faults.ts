import { ServiceError } from '../../core/error.ts';
import { UPSTREAM_MESSAGE_CODE_POINTS_MAX } from '../../core/limits.ts';
import type { ErrorWords } from './error-words.ts';

/** Makes the errors of one upstream. None of them, and no cause of them, holds the key. */
export interface Faults {
  /** @param what For our log: no text of prompts or answers. */
  failed(what: string): ServiceError;
  tooSlow(what: string): ServiceError;
  /** What an HTTP status of the upstream means for our caller; undefined: an error inside a 200 that names none. */
  refused(status: number | undefined, words: ErrorWords, retryAfterSeconds?: number): ServiceError;
}

/** @param upstream Names it in our log. */
export function createFaults({ upstream, apiKey }: { upstream: string; apiKey: string | undefined }): Faults {
  // An error and not a text: that is what the log writes in full.
  const inLog = (what: string): Error => new Error(`${upstream}: ${what}`);

  const quote = (text: string): string => {
    const safe = apiKey ? text.replaceAll(apiKey, '[key]') : text;
    const points = Array.from(safe.toWellFormed().slice(0, 2 * UPSTREAM_MESSAGE_CODE_POINTS_MAX));
    const short = points.slice(0, UPSTREAM_MESSAGE_CODE_POINTS_MAX).join('');
    return short.length < safe.length ? `${short}…` : short;
  };

  const failed = (what: string): ServiceError =>
    new ServiceError('upstream-failed', 'The upstream failed on this request.', { cause: inLog(what) });

  const tooSlow = (what: string): ServiceError =>
    new ServiceError('timeout', 'The upstream did not answer in time.', { cause: inLog(what) });

  return {
    failed,
    tooSlow,
    refused(answered, { message, isTooLong }, retryAfterSeconds) {
      if (isTooLong)
        return new ServiceError(
          'context-exceeded',
          message === undefined ? 'The prompt is longer than the model reads.' : quote(message),
          { cause: inLog(`answered ${answered}`) },
        );
      const status = answered;
      const said = message === undefined ? '' : `: ${quote(message)}`;
      switch (status) {
        case 400:
        case 422:
          return new ServiceError(
            'invalid-request',
            message === undefined ? 'The upstream refused the request as invalid.' : quote(message),
            { cause: inLog(`answered ${status}`) },
          );
        case 401:
        case 403:
          // Its words may quote the key it was given.
          return failed(`answered ${status}: it does not accept our key (apiKeyEnv of the catalogue entry)`);
        case 404:
          return failed(`answered 404: the catalogue entry names an address or a model that it does not have${said}`);
        case 408:
        case 504:
          return tooSlow(`answered ${status}${said}`);
        case 413:
          return new ServiceError('too-large', 'The upstream takes no request of this size.', {
            cause: inLog('answered 413'),
          });
        case 429:
        case 503:
          return new ServiceError('overloaded', 'The upstream is busy, please try again later.', {
            retryAfterSeconds,
            cause: inLog(`answered ${status}${said}`),
          });
        case 501:
          return new ServiceError(
            'unsupported',
            message === undefined ? 'The upstream does not do this.' : quote(message),
            { cause: inLog('answered 501') },
          );
        case undefined:
          return failed(`sent an error${said}`);
        default:
          if (status >= 300 && status < 400)
            return failed(`answered ${status}: redirects are not followed, they would carry the key elsewhere`);
          return failed(`answered ${status}${said}`);
      }
    },
  };
}
