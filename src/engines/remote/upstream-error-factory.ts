import { ServiceError } from '../../core/error.ts';
import { UPSTREAM_MESSAGE_CODE_POINTS_MAX } from '../limits.ts';
import { UpstreamError, type UpstreamEvidence } from '../upstream-error.ts';
import type { UpstreamErrorDetails } from './upstream-error-details.ts';

/** Creates the errors of one upstream. Neither the errors nor their causes contain the key or another secret. */
export interface UpstreamErrorFactory {
  /** @param what For Parley's log; must not contain text of prompts or answers. */
  createFailure(what: string, shows?: UpstreamEvidence): ServiceError;
  createTimeout(what: string): ServiceError;
  /** Creates the error for an HTTP status of the upstream; undefined: an error inside a 200 that names no status. */
  createFromStatus(status: number | undefined, words: UpstreamErrorDetails, retryAfterSeconds?: number): ServiceError;
}

/** A shorter secret is not masked: masking it would damage ordinary words. */
const SECRET_CHARACTERS_MIN = 4;

interface UpstreamErrorFactoryOptions {
  /** Host of the upstream, for Parley's log. */
  readonly upstream: string;
  readonly apiKey: string | undefined;
  /** Other secrets to mask; those with fewer than `SECRET_CHARACTERS_MIN` characters are ignored. */
  readonly secrets?: readonly string[];
}

export function createUpstreamErrorFactory({
  upstream,
  apiKey,
  secrets = [],
}: UpstreamErrorFactoryOptions): UpstreamErrorFactory {
  const maskSecrets = createSecretMasker(apiKey, secrets);
  const createCause = (what: string, shows?: UpstreamEvidence): UpstreamError =>
    new UpstreamError(`${upstream}: ${maskSecrets(what)}`, shows);

  const quoteMessage = (text: string): string => {
    const safe = maskSecrets(text);
    const points = Array.from(safe.toWellFormed().slice(0, 2 * UPSTREAM_MESSAGE_CODE_POINTS_MAX));
    const short = points.slice(0, UPSTREAM_MESSAGE_CODE_POINTS_MAX).join('');
    return short.length < safe.length ? `${short}…` : short;
  };

  const createFailure = (what: string, shows?: UpstreamEvidence): ServiceError =>
    new ServiceError('upstream-failed', 'The upstream failed on this request.', { cause: createCause(what, shows) });

  const createTimeout = (what: string): ServiceError =>
    new ServiceError('timeout', 'The upstream did not answer in time.', { cause: createCause(what) });

  return {
    createFailure,
    createTimeout,
    createFromStatus(answered, { message, isTooLong }, retryAfterSeconds) {
      if (isTooLong)
        return new ServiceError(
          'context-exceeded',
          message === undefined ? 'The prompt is longer than the context of the model.' : quoteMessage(message),
          { cause: createCause(`answered ${answered}`) },
        );
      const status = answered;
      const messageSuffix = message === undefined ? '' : `: ${quoteMessage(message)}`;
      switch (status) {
        case 400:
        case 422:
          return new ServiceError(
            'invalid-request',
            message === undefined ? 'The upstream refused the request as invalid.' : quoteMessage(message),
            { cause: createCause(`answered ${status}`) },
          );
        case 401:
        case 403:
          // The upstream's message is not quoted: it may contain the key.
          return createFailure(`answered ${status}: it rejects the API key (apiKeyEnv of the catalogue entry)`);
        case 404:
          return createFailure(
            `answered 404: the catalogue entry names an address or a model that the upstream does not have${messageSuffix}`,
          );
        case 408:
        case 504:
          return createTimeout(`answered ${status}${messageSuffix}`);
        case 413:
          return new ServiceError('too-large', 'The upstream does not accept a request of this size.', {
            cause: createCause('answered 413'),
          });
        case 429:
        case 503:
          return new ServiceError('overloaded', 'The upstream is busy, please try again later.', {
            retryAfterSeconds,
            cause: createCause(`answered ${status}${messageSuffix}`),
          });
        case 501:
          return new ServiceError(
            'unsupported',
            message === undefined ? 'The upstream does not support this request.' : quoteMessage(message),
            { cause: createCause('answered 501') },
          );
        case undefined:
          return createFailure(`sent an error${messageSuffix}`, 'answered');
        case 500:
          // A JSON message comes from the server itself; a body without one may be the error page of a proxy.
          return createFailure(`answered 500${messageSuffix}`, message === undefined ? undefined : 'answered');
        default:
          if (status >= 300 && status < 400)
            return createFailure(
              `answered ${status}: redirects are not followed, because they would send the key to another server`,
            );
          return createFailure(`answered ${status}${messageSuffix}`);
      }
    },
  };
}

function createSecretMasker(apiKey: string | undefined, secrets: readonly string[]): (text: string) => string {
  const masks = new Map(
    secrets.filter(({ length }) => length >= SECRET_CHARACTERS_MIN).map((secret) => [secret, '[hidden]']),
  );
  if (apiKey) masks.set(apiKey, '[key]');
  // In JSON, some characters of a secret are escaped.
  const replacements = [...masks].flatMap(([secret, mark]): [string, string][] => [
    [secret, mark],
    [JSON.stringify(secret).slice(1, -1), mark],
  ]);
  // The longest first: one secret may contain another.
  replacements.sort(([one], [other]) => other.length - one.length);
  return (text) => replacements.reduce((safe, [secret, mark]) => safe.replaceAll(secret, mark), text);
}
