import type { Config } from '../../config/config.ts';
import { ServiceError } from '../../core/error.ts';
import { PAGE_FETCH_MS_MAX } from './limits.ts';
import type { DocumentExtractor } from '../../documents/document-extractor.ts';
import type { Clock } from '../../lib/clock.ts';
import { createGuardedFetch } from '../../net/guarded-fetch.ts';
import type { GuardedFetch } from '../../net/guarded-fetch.ts';
import { restrictToOrigin } from '../../net/restrict-to-origin.ts';
import { createUserAgent } from '../../tools/user-agent.ts';
import { createHostRateLimiter } from './host-rate-limiter.ts';
import { createPageReader } from './page-reader.ts';
import { createReadPage } from './read-page.ts';
import type { ReadPdf } from './read-page.ts';
import { createRobotsPolicy } from './robots-policy.ts';

export interface OpenPageReaderDeps {
  readonly config: Pick<Config, 'search'>;
  /** Absent: PDF pages cannot be read. */
  readonly extract?: DocumentExtractor | undefined;
  readonly clock: Clock;
}

/** Opens the reading of web pages as configured. */
export function openPageReader({ config, extract, clock }: OpenPageReaderDeps) {
  const { providers, pages, contact } = config.search;
  const { bytesMax, charsMax, allow } = pages;
  const options = { userAgent: createUserAgent(contact), timeouts: { totalMs: PAGE_FETCH_MS_MAX } };
  const publicFetch = createGuardedFetch({ allow, ...options });
  const fetchByOrigin = createProviderPageFetches(providers, options);
  const fetch: GuardedFetch = (url, request) =>
    (fetchByOrigin.get(URL.parse(url)?.origin ?? '') ?? publicFetch)(url, request);
  const reader = createPageReader();
  return {
    readPage: createReadPage({
      fetch,
      robots: createRobotsPolicy({ fetch, evaluateRobots: reader.evaluateRobots, clock }),
      rateLimiter: createHostRateLimiter({ clock }),
      reader,
      bytesMax,
      charsMax,
      ...(extract ? { readPdf: createReadPdf(extract) } : {}),
    }),
    /** Ends the process that parses pages. */
    close: () => reader.close(),
  };
}

/**
 * Creates a fetch for each wiki or Kiwix library. Pages that such a provider finds can lie in the operator's own network, which
 * the general fetch refuses; this one allows the provider's host and port and nothing else.
 */
function createProviderPageFetches(
  providers: Config['search']['providers'],
  options: { readonly userAgent: string; readonly timeouts: { readonly totalMs: number } },
): ReadonlyMap<string, GuardedFetch> {
  return new Map(
    providers
      .flatMap((provider) => (provider.type === 'mediawiki' || provider.type === 'kiwix' ? [provider.url] : []))
      .map((url) => [new URL(url).origin, createGuardedFetch({ ...options, ...restrictToOrigin(url) })]),
  );
}

const createReadPdf =
  (extract: DocumentExtractor): ReadPdf =>
  async (bytes, { tenant, signal }) => {
    const source = (async function* () {
      yield bytes;
    })();
    const extraction = await extract(source, { tenant, name: 'page.pdf', sizeBytes: bytes.byteLength, signal });
    if (extraction.type === 'failed')
      throw new ServiceError('upstream-failed', `Cannot read the PDF page. ${extraction.reason}`);
    return new TextDecoder().decode(extraction.text);
  };
