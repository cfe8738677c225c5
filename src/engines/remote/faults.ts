import { ServiceError } from '../../core/error.ts';
import { UPSTREAM_MESSAGE_CODE_POINTS_MAX } from '../../core/limits.ts';
import { UpstreamCause } from '../upstream-cause.ts';
import type { Shown } from '../upstream-cause.ts';
import type { ErrorWords } from './error-words.ts';

/** Makes the errors of one upstream. None of them, and no cause of them, holds the key or another secret of ours. */
export interface Faults {
  /** @param what For our log: no text of prompts or answers. */
  failed(what: string, shows?: Shown): ServiceError;
  tooSlow(what: string): ServiceError;
  /** What an HTTP status of the upstream means for our caller; undefined: an error inside a 200 that names none. */
  refused(status: number | undefined, words: ErrorWords, retryAfterSeconds?: number): ServiceError;
}

/** Characters. Anything shorter is no secret, and to hide it would tear words apart. */
const SECRET_MIN = 4;

interface FaultsOptions {
  /** Names it in our log. */
  readonly upstream: string;
  readonly apiKey: string | undefined;
  /** What else nobody may read; what has fewer than 4 characters is not hidden. */
  readonly secrets?: readonly string[];
}

export function createFaults({ upstream, apiKey, secrets = [] }: FaultsOptions): Faults {
  const hide = hiding(apiKey, secrets);
  const inLog = (what: string, shows?: Shown): UpstreamCause => new UpstreamCause(`${upstream}: ${hide(what)}`, shows);

  const quote = (text: string): string => {
    const safe = hide(text);
    const points = Array.from(safe.toWellFormed().slice(0, 2 * UPSTREAM_MESSAGE_CODE_POINTS_MAX));
    const short = points.slice(0, UPSTREAM_MESSAGE_CODE_POINTS_MAX).join('');
    return short.length < safe.length ? `${short}…` : short;
  };

  const failed = (what: string, shows?: Shown): ServiceError =>
    new ServiceError('upstream-failed', 'The upstream failed on this request.', { cause: inLog(what, shows) });

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
          return failed(`sent an error${said}`, 'answered');
        case 500:
          // Words are JSON; without them it may be anybody's page on the way.
          return failed(`answered 500${said}`, message === undefined ? undefined : 'answered');
        default:
          if (status >= 300 && status < 400)
            return failed(`answered ${status}: redirects are not followed, they would carry the key elsewhere`);
          return failed(`answered ${status}${said}`);
      }
    },
  };
}

function hiding(apiKey: string | undefined, secrets: readonly string[]): (text: string) => string {
  const hidden = new Map(secrets.filter(({ length }) => length >= SECRET_MIN).map((secret) => [secret, '[hidden]']));
  if (apiKey) hidden.set(apiKey, '[key]');
  // What is passed on as JSON has some characters escaped.
  const forms = [...hidden].flatMap(([secret, mark]): [string, string][] => [
    [secret, mark],
    [JSON.stringify(secret).slice(1, -1), mark],
  ]);
  // The longest first: one may be a part of another.
  forms.sort(([one], [other]) => other.length - one.length);
  return (text) => forms.reduce((safe, [secret, mark]) => safe.replaceAll(secret, mark), text);
}
