import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../core/error.ts';
import {
  ROBOTS_BYTES_MAX,
  ROBOTS_CACHE_CHARS_MAX,
  ROBOTS_CACHE_ENTRIES_MAX,
  ROBOTS_CACHE_MS,
  ROBOTS_UNREACHABLE_CACHE_MS,
  ROBOTS_FETCH_MS_MAX,
} from './limits.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Clock } from '../../lib/clock.ts';
import { raceWithAbort } from '../../lib/race-with-abort.ts';
import { ROBOT_NAME } from './robot-name.ts';
import type { WebFetch } from '../../tools/web-fetch.ts';
import type { PageReader } from './page-reader.ts';

/** Checks URLs against the robots.txt of their site (RFC 9309). */
export interface RobotsPolicy {
  /**
   * @returns the crawl delay of the site in ms; 0 if it has none.
   * @throws ServiceError `forbidden` if the rules disallow the URL or are unavailable; `invalid-request` if the site
   * must not be contacted at all; the signal's reason.
   */
  check(url: string, signal: AbortSignal): Promise<number>;
}

export interface RobotsPolicyOptions {
  readonly fetch: WebFetch;
  readonly evaluateRobots: PageReader['evaluateRobots'];
  readonly clock?: Clock;
  /** Timeout of the fetch in ms. */
  readonly fetchMs?: number;
}

/** Outcome of fetching robots.txt: its rules, no rules, or a failure. */
type RobotsFile =
  | { readonly type: 'rules'; readonly text: string }
  | { readonly type: 'none' }
  | { readonly type: 'unreachable' };

interface PendingFetch {
  readonly rules: Promise<RobotsFile>;
  readonly abort: AbortController;
  waiterCount: number;
}

/** Limit of the fetch in bytes. Above ROBOTS_BYTES_MAX, because a longer file is truncated and must not fail. */
const BODY_BYTES_MAX = 64 * ROBOTS_BYTES_MAX;

export function createRobotsPolicy({
  fetch,
  evaluateRobots,
  clock = systemClock,
  fetchMs = ROBOTS_FETCH_MS_MAX,
}: RobotsPolicyOptions): RobotsPolicy {
  const cache = new LRUCache<string, { readonly rules: RobotsFile; readonly until: number }>({
    max: ROBOTS_CACHE_ENTRIES_MAX,
    maxSize: ROBOTS_CACHE_CHARS_MAX,
  });
  /** Fetches in progress, shared by all waiting callers. */
  const pendingFetches = new Map<string, PendingFetch>();

  const load = async (origin: string, stop: AbortSignal): Promise<RobotsFile> => {
    const rules = await fetchRobotsFile(fetch, `${origin}/robots.txt`, { abortSignal: stop, fetchMs });
    const cacheMs = rules.type === 'unreachable' ? ROBOTS_UNREACHABLE_CACHE_MS : ROBOTS_CACHE_MS;
    const weight = rules.type === 'rules' ? rules.text.length : 1;
    cache.set(origin, { rules, until: clock.monotonic() + cacheMs }, { size: Math.max(1, weight) });
    return rules;
  };

  const startFetch = (origin: string): PendingFetch => {
    const stop = new AbortController();
    const pending = { rules: load(origin, stop.signal), abort: stop, waiterCount: 0 };
    pendingFetches.set(origin, pending);
    return pending;
  };

  /** Aborts the fetch when the last waiting caller has left. */
  const getRules = async (origin: string, signal: AbortSignal): Promise<RobotsFile> => {
    const cached = cache.get(origin);
    if (cached && cached.until > clock.monotonic()) return cached.rules;
    const asking = pendingFetches.get(origin) ?? startFetch(origin);
    asking.waiterCount++;
    try {
      return await raceWithAbort(asking.rules, signal);
    } finally {
      if (--asking.waiterCount === 0) {
        pendingFetches.delete(origin);
        asking.abort.abort();
      }
    }
  };

  return {
    async check(url, signal) {
      signal.throwIfAborted();
      const { origin } = new URL(url);
      const rules = await getRules(origin, signal);
      switch (rules.type) {
        case 'none':
          return 0;
        case 'unreachable':
          throw createForbiddenError("Cannot read the page: its site's robots.txt is unavailable.");
        case 'rules': {
          const task = { rulesUrl: `${origin}/robots.txt`, rules: rules.text, url, agent: ROBOT_NAME };
          const { isAllowed, delaySeconds } = await evaluateRobots(task, signal);
          if (!isAllowed) throw createForbiddenError("Cannot read the page: its site's robots.txt disallows it.");
          return Math.max(0, delaySeconds * 1_000);
        }
      }
    },
  };
}

/** @throws ServiceError `invalid-request` if the site must not be contacted at all; the reason of `abortSignal`. */
async function fetchRobotsFile(
  fetch: WebFetch,
  url: string,
  { abortSignal, fetchMs }: { readonly abortSignal: AbortSignal; readonly fetchMs: number },
): Promise<RobotsFile> {
  const signal = AbortSignal.any([abortSignal, AbortSignal.timeout(fetchMs)]);
  try {
    const answer = await fetch(url, { bytesMax: BODY_BYTES_MAX, accept: 'text/plain, */*;q=0.1', signal });
    const { status, body } = answer;
    // Too many requests (429) does not mean that there are no rules.
    if (status === 429 || status >= 500 || status < 200) {
      body.destroy();
      return { type: 'unreachable' };
    }
    if (status > 299) {
      body.destroy();
      return { type: 'none' };
    }
    return { type: 'rules', text: await readHead(body) };
  } catch (thrown) {
    abortSignal.throwIfAborted();
    // The page must not be contacted either, and the message says why.
    if (thrown instanceof ServiceError && thrown.kind === 'invalid-request') throw thrown;
    return { type: 'unreachable' };
  }
}

/** Reads up to ROBOTS_BYTES_MAX bytes, and drops an incomplete last line. */
async function readHead(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body) {
    pieces.push(piece);
    size += piece.byteLength;
    if (size > ROBOTS_BYTES_MAX) break;
  }
  const text = new TextDecoder().decode(Buffer.concat(pieces).subarray(0, ROBOTS_BYTES_MAX));
  return size > ROBOTS_BYTES_MAX ? text.slice(0, text.lastIndexOf('\n') + 1) : text;
}

const createForbiddenError = (message: string): ServiceError => new ServiceError('forbidden', message);
