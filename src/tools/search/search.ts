import { ServiceError } from '../../core/error.ts';
import {
  SEARCH_MS_MAX,
  SEARCH_PROVIDER_MS_MAX,
  SEARCH_QUERY_CHARS_MAX,
  SEARCH_REST_SECONDS_MAX,
} from '../../core/limits.ts';
import type { Found, Search, SearchQuery } from '../../core/server-tools.ts';
import type { Log } from '../../core/telemetry.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Clock } from '../../lib/clock.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import { unlessAborted } from '../../lib/unless-aborted.ts';
import { cleanFindings, cleanResults } from './clean-found.ts';
import { fuse } from './fuse.ts';
import { plainLine } from './plain-text.ts';
import { createQueryRules } from './query-rules.ts';
import type { SearchProvider } from './search-provider.ts';

export interface SearchOptions {
  /** In the order in which they are asked where one is enough. */
  readonly providers: readonly SearchProvider[];
  readonly log: Log;
  readonly clock?: Clock;
  /** In ms: for each provider, and in all. */
  readonly timeouts?: { readonly providerMs?: number; readonly wholeMs?: number };
}

/** What became of asking one provider: nothing where it failed, which the log was told. */
type Answer = Found | undefined;

interface Signals {
  /** Its abort ends everything. */
  readonly caller: AbortSignal;
  /** Aborts with it, and when the time for all is over: then what is there already counts. */
  readonly whole: AbortSignal;
}

const NOTHING: Found = { results: [], findings: [] };

/** A search over providers, none of which is trusted: what they return is held to the query, cleaned and bounded here. */
export function createSearch({ providers, log, clock = systemClock, timeouts = {} }: SearchOptions): Search {
  const { providerMs = SEARCH_PROVIDER_MS_MAX, wholeMs = SEARCH_MS_MAX } = timeouts;
  const web = providers.filter(({ domain }) => domain === undefined);
  const domains = providers.filter(({ domain, isOwn }) => domain !== undefined || isOwn === true);
  /** Until when a provider that said so is left alone, by the monotonic clock. */
  const resting = new Map<string, number>();

  /** What is found for a query that wishes for domains is theirs alone. */
  const ask = async (provider: SearchProvider, query: SearchQuery, { caller, whole }: Signals): Promise<Answer> => {
    const { name, domain, isOwn = false } = provider;
    if ((resting.get(name) ?? 0) > clock.monotonic()) return undefined;
    const abort = linkedAbort(whole);
    const timer = setTimeout(() => abort.abort(tookTooLong(providerMs)), providerMs);
    try {
      const found = await unlessAborted(provider.search(query, abort.signal), abort.signal);
      if (query.withDomains) return { results: [], findings: cleanFindings(found, domain) };
      return {
        results: cleanResults(found.results, { isOwn }).filter(createQueryRules(query, clock.now())),
        findings: [],
      };
    } catch (thrown) {
      caller.throwIfAborted();
      const { kind, message, retryAfterSeconds } = ServiceError.from(thrown);
      if (kind === 'internal') log.error('a search provider failed', { provider: name, error: thrown });
      else log.warn('a search provider failed', { provider: name, kind, reason: message });
      if (retryAfterSeconds !== undefined) {
        resting.set(name, clock.monotonic() + Math.min(retryAfterSeconds, SEARCH_REST_SECONDS_MAX) * 1_000);
      }
      return undefined;
    } finally {
      clearTimeout(timer);
      abort.unlink();
    }
  };

  /** One after another, until one finds something. */
  const askFirst = async (query: SearchQuery, signals: Signals): Promise<readonly Answer[]> => {
    const answers: Answer[] = [];
    for (const provider of web) {
      const answer = await ask(provider, query, signals);
      answers.push(answer);
      if (signals.whole.aborted || (answer && answer.results.length > 0)) break;
    }
    return answers;
  };

  const askAll = (asked: readonly SearchProvider[], query: SearchQuery, signals: Signals): Promise<Answer[]> =>
    Promise.all(asked.map((provider) => ask(provider, query, signals)));

  return async (wish, signal) => {
    signal.throwIfAborted();
    const query = { ...wish, text: plainLine(wish.text, SEARCH_QUERY_CHARS_MAX) };
    if (query.text === '' || query.resultsMax < 1) return NOTHING;
    const plain = { ...query, withDomains: false };
    const whole = linkedAbort(signal);
    const timer = setTimeout(() => whole.abort(tookTooLong(wholeMs)), wholeMs);
    const signals: Signals = { caller: signal, whole: whole.signal };
    try {
      const [answers, told] = await Promise.all([
        query.breadth === 'first' ? askFirst(plain, signals) : askAll(web, plain, signals),
        query.withDomains ? askAll(domains, query, signals) : [],
      ]);
      const asked = [...answers, ...told];
      if (asked.length > 0 && asked.every((answer) => answer === undefined)) throw allFailed();
      return {
        results: fuse(answers.map((answer) => answer?.results ?? [])).slice(0, query.resultsMax),
        findings: told.flatMap((answer) => answer?.findings ?? []),
      };
    } finally {
      clearTimeout(timer);
      whole.unlink();
    }
  };
}

const tookTooLong = (ms: number): ServiceError =>
  new ServiceError('timeout', `The search took longer than ${ms / 1_000} s.`);

const allFailed = (): ServiceError =>
  new ServiceError('upstream-failed', 'No search provider answered. Please try again later.');
