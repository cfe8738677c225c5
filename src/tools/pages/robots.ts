import { ServiceError } from '../../core/error.ts';
import {
  ROBOTS_BYTES_MAX,
  ROBOTS_FETCH_MS_MAX,
  ROBOTS_KEPT_CHARS_MAX,
  ROBOTS_KEPT_MAX,
  ROBOTS_KEPT_MS,
  ROBOTS_UNREACHABLE_KEPT_MS,
} from '../../core/limits.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Clock } from '../../lib/clock.ts';
import { createLru } from '../../lib/lru.ts';
import { unlessAborted } from '../../lib/unless-aborted.ts';
import type { WebFetch } from '../web-fetch.ts';
import type { PageReader } from './page-reader.ts';

/** What sites wish of robots (RFC 9309). */
export interface Robots {
  /**
   * @returns how long their site wishes us to wait between two pages, in ms; 0 where it says nothing.
   * @throws ServiceError `forbidden` where the site's rules say no, or cannot be had for now; `invalid-request` where the
   * site may not be asked at all; the signal's reason.
   */
  check(url: string, signal: AbortSignal): Promise<number>;
}

/** The name by which rules address us; what stands for all is for us as well. */
export const ROBOT_NAME = 'Parley';

export interface RobotsOptions {
  readonly fetch: WebFetch;
  readonly judge: PageReader['judge'];
  readonly clock?: Clock;
  /** In ms. */
  readonly fetchMs?: number;
}

/** What a site has said: its rules, none at all, or nothing that could be understood. */
type Rules =
  | { readonly type: 'rules'; readonly text: string }
  | { readonly type: 'none' }
  | { readonly type: 'unreachable' };

interface Asking {
  readonly rules: Promise<Rules>;
  readonly stop: AbortController;
  waiting: number;
}

/** How much of its bytes a body that is cut may exceed them before the fetch itself fails. */
const BODY_BYTES_MAX = 64 * ROBOTS_BYTES_MAX;

export function createRobots({
  fetch,
  judge,
  clock = systemClock,
  fetchMs = ROBOTS_FETCH_MS_MAX,
}: RobotsOptions): Robots {
  const kept = createLru<{ readonly rules: Rules; readonly until: number }>({
    entriesMax: ROBOTS_KEPT_MAX,
    weightMax: ROBOTS_KEPT_CHARS_MAX,
  });
  /** Asked for at this moment, once for all who wait. */
  const asked = new Map<string, Asking>();

  const load = async (origin: string, stop: AbortSignal): Promise<Rules> => {
    const rules = await fetchRules(fetch, `${origin}/robots.txt`, { stop, fetchMs });
    const keptMs = rules.type === 'unreachable' ? ROBOTS_UNREACHABLE_KEPT_MS : ROBOTS_KEPT_MS;
    const weight = rules.type === 'rules' ? rules.text.length : 1;
    kept.set(origin, { rules, until: clock.monotonic() + keptMs }, weight);
    return rules;
  };

  const ask = (origin: string): Asking => {
    const stop = new AbortController();
    const asking = { rules: load(origin, stop.signal), stop, waiting: 0 };
    asked.set(origin, asking);
    return asking;
  };

  /** When the last of those who wait is gone, nobody needs the rules any more. */
  const rulesOf = async (origin: string, signal: AbortSignal): Promise<Rules> => {
    const found = kept.get(origin);
    if (found && found.until > clock.monotonic()) return found.rules;
    const asking = asked.get(origin) ?? ask(origin);
    asking.waiting++;
    try {
      return await unlessAborted(asking.rules, signal);
    } finally {
      if (--asking.waiting === 0) {
        asked.delete(origin);
        asking.stop.abort();
      }
    }
  };

  return {
    async check(url, signal) {
      signal.throwIfAborted();
      const { origin } = new URL(url);
      const rules = await rulesOf(origin, signal);
      switch (rules.type) {
        case 'none':
          return 0;
        case 'unreachable':
          throw forbidden("The robots rules of the page's site cannot be had, so that it may not be read for now.");
        case 'rules': {
          const task = { rulesUrl: `${origin}/robots.txt`, rules: rules.text, url, agent: ROBOT_NAME };
          const { isAllowed, delaySeconds } = await judge(task, signal);
          if (!isAllowed) throw forbidden("The robots rules of the page's site do not allow it to be read.");
          return Math.max(0, delaySeconds * 1_000);
        }
      }
    },
  };
}

/** @throws what says that the site may not be asked at all; the reason of `stop`. */
async function fetchRules(
  fetch: WebFetch,
  url: string,
  { stop, fetchMs }: { readonly stop: AbortSignal; readonly fetchMs: number },
): Promise<Rules> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(fetchMs)]);
  try {
    const answer = await fetch(url, { bytesMax: BODY_BYTES_MAX, accept: 'text/plain, */*;q=0.1', signal });
    const { status, body } = answer;
    // A site that is asked too often has not said that there are no rules.
    if (status === 429 || status >= 500 || status < 200) {
      body.destroy();
      return { type: 'unreachable' };
    }
    if (status > 299) {
      body.destroy();
      return { type: 'none' };
    }
    return { type: 'rules', text: await beginningOf(body) };
  } catch (thrown) {
    stop.throwIfAborted();
    // Whose rules may not be asked for may not be asked for pages either, and the words say why.
    if (thrown instanceof ServiceError && thrown.kind === 'invalid-request') throw thrown;
    return { type: 'unreachable' };
  }
}

/** As much as is looked at, up to the end of a line. */
async function beginningOf(body: AsyncIterable<Uint8Array>): Promise<string> {
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

const forbidden = (message: string): ServiceError => new ServiceError('forbidden', message);
