import type { IncomingMessage } from 'node:http';
import { FETCH_CONNECT_MS, FETCH_HEAD_MS, FETCH_WHOLE_MS } from '../core/limits.ts';
import { createFetchDeadlines } from './fetch-deadlines.ts';
import type { GuardedFetchOptions } from './guarded-fetch.ts';
import { type Content, hop } from './hop.ts';
import { systemResolve } from './resolve.ts';
import { createUrlRules } from './url-rules.ts';

export interface PostWish extends Content {
  /** Of the answer's body, which nobody looks at. Beyond: the connection is closed, and the status counts all the same. */
  readonly answerBytesMax: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends bytes to a URL that did not come from configuration, under the rules of `GuardedFetch`. They go to nobody but the
 * server that was named: a redirect is an answer like any other.
 *
 * @returns the status, of whatever class.
 * @throws ServiceError `invalid-request` for a URL that is not allowed or a host that has no public address;
 * `upstream-failed` for a server that does not answer as it should; `timeout`; or the signal's reason.
 */
export type GuardedPost = (url: string, wish: PostWish) => Promise<{ readonly status: number }>;

/** @throws ServiceError `invalid-request` where `allow` cannot be read. */
export function createGuardedPost(
  options: Omit<GuardedFetchOptions, 'redirectsMax' | 'mayDowngrade'> = {},
): GuardedPost {
  const { timeouts, certificates } = options;
  const { connectMs = FETCH_CONNECT_MS, headMs = FETCH_HEAD_MS, wholeMs = FETCH_WHOLE_MS } = timeouts ?? {};
  const rules = createUrlRules({ allow: options.allow ?? [], ports: options.ports });
  const resolve = options.resolve ?? systemResolve;

  return async (text, { answerBytesMax, signal, ...content }) => {
    const deadlines = createFetchDeadlines(signal, wholeMs);
    try {
      const needs = { rules, resolve, deadlines, connectMs, headMs, accept: '*/*', certificates, content };
      const answer = await hop(rules.parse(text), needs);
      await passOver(answer, { answerBytesMax, signal: deadlines.signal });
      return { status: answer.statusCode ?? 0 };
    } finally {
      deadlines.end();
    }
  };
}

/** A server whose answer is cut off may take that for a failure of its own: what is short is taken whole. */
async function passOver(
  answer: IncomingMessage,
  { answerBytesMax, signal }: { readonly answerBytesMax: number; readonly signal: AbortSignal },
): Promise<void> {
  const onAbort = (): void => void answer.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  let sizeBytes = 0;
  await new Promise<void>((ended) => {
    answer.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.length;
      if (sizeBytes > answerBytesMax) answer.destroy();
    });
    answer.once('close', () => ended());
  });
  signal.removeEventListener('abort', onAbort);
}
