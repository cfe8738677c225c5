import type { Config } from '../config/config.ts';
import { ServiceError } from '../core/error.ts';
import { PAGE_FETCH_MS_MAX, SEARCH_PROVIDER_MS_MAX } from '../core/limits.ts';
import type { ReadPage, Search } from '../core/server-tools.ts';
import type { Log } from '../core/telemetry.ts';
import type { DocumentExtractor } from '../documents/document-extractor.ts';
import type { Clock } from '../lib/clock.ts';
import { createGuardedFetch } from '../net/guarded-fetch.ts';
import type { GuardedFetch } from '../net/guarded-fetch.ts';
import { createHostRateLimiter } from '../tools/pages/host-rate-limiter.ts';
import { createPageReader } from '../tools/pages/page-reader.ts';
import { createReadPage } from '../tools/pages/read-page.ts';
import type { ReadPdf } from '../tools/pages/read-page.ts';
import { createRobotsPolicy, ROBOT_NAME } from '../tools/pages/robots-policy.ts';
import { createBrave } from '../tools/search/providers/brave.ts';
import { createKiwix } from '../tools/search/providers/kiwix.ts';
import { createMediawiki } from '../tools/search/providers/mediawiki.ts';
import { createSearxng } from '../tools/search/providers/searxng.ts';
import { createTavily } from '../tools/search/providers/tavily.ts';
import { createSearch } from '../tools/search/search.ts';
import type { SearchProvider } from '../tools/search/search-provider.ts';

export interface OpenSearchDeps {
  readonly config: Pick<Config, 'search'>;
  /** Environment variables, which hold the API keys of search services. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Search over the local index. Absent: an `index` provider in the configuration is ignored. */
  readonly index?: SearchProvider | undefined;
  /** Absent: PDF pages cannot be read. */
  readonly extract?: DocumentExtractor | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export interface SearchModule {
  readonly search: Search;
  readonly readPage: ReadPage;
  /** Ends the process that parses pages. */
  close(): Promise<void>;
}

type ProviderConfig = Config['search']['providers'][number];
type ServiceConfig = Exclude<ProviderConfig, { readonly type: 'index' }>;

/** Opens web search and page reading as configured. @throws ServiceError `invalid-request` when two providers share a name. */
export function openSearch({ config, environment, index, extract, clock, log }: OpenSearchDeps): SearchModule {
  const { providers, pages, contact } = config.search;
  const userAgent = contact === undefined ? ROBOT_NAME : `${ROBOT_NAME} (+${contact})`;

  const names = new Set<string>();
  const assignName = ({ name, type }: ServiceConfig): string => {
    const candidate =
      name ??
      [type, ...providers.map((_, position) => `${type}-${position + 2}`)].find((one) => !names.has(one)) ??
      type;
    if (names.has(candidate))
      throw new ServiceError(
        'invalid-request',
        `Two entries of search.providers have the name ${candidate}; give each its own name.`,
      );
    names.add(candidate);
    return candidate;
  };
  const searchProviders = providers.flatMap((provider): readonly SearchProvider[] => {
    if (provider.type === 'index') return index ? [index] : [];
    const name = assignName(provider);
    const apiKey =
      'apiKeyEnv' in provider && provider.apiKeyEnv !== undefined ? environment[provider.apiKeyEnv] : undefined;
    if ('apiKeyEnv' in provider && provider.apiKeyEnv !== undefined && !apiKey) {
      log.warn('API key variable of search provider not set; provider disabled', {
        provider: name,
        variable: provider.apiKeyEnv,
      });
      return [];
    }
    return [
      createProvider(provider, { name, apiKey: apiKey ?? '', fetch: createProviderFetch(provider, userAgent), clock }),
    ];
  });

  const { bytesMax, charsMax, allow } = pages;
  const timeouts = { totalMs: PAGE_FETCH_MS_MAX };
  const publicFetch = createGuardedFetch({ allow, userAgent, timeouts });
  const fetchByOrigin = createProviderPageFetches(providers, { userAgent, timeouts });
  const fetch: GuardedFetch = (url, options) =>
    (fetchByOrigin.get(URL.parse(url)?.origin ?? '') ?? publicFetch)(url, options);
  const reader = createPageReader();
  return {
    search: createSearch({ providers: searchProviders, log, clock }),
    readPage: createReadPage({
      fetch,
      robots: createRobotsPolicy({ fetch, evaluateRobots: reader.evaluateRobots, clock }),
      rateLimiter: createHostRateLimiter({ clock }),
      reader,
      bytesMax,
      charsMax,
      ...(extract ? { readPdf: createReadPdf(extract) } : {}),
    }),
    close: () => reader.close(),
  };
}

/** Creates a fetch that reaches only the origin the operator configured, in whatever network it is. */
function createProviderFetch({ url }: Pick<ServiceConfig, 'url'>, userAgent: string): GuardedFetch {
  return createGuardedFetch({
    ...restrictToOrigin(url),
    userAgent,
    redirectsMax: 0,
    timeouts: { totalMs: SEARCH_PROVIDER_MS_MAX },
  });
}

function restrictToOrigin(address: string): { readonly allow: readonly string[]; readonly ports: readonly number[] } {
  const { hostname, port, protocol } = new URL(address);
  const ports = [port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)];
  return { allow: [hostname.replace(/^\[|\]$/g, '')], ports };
}

/**
 * Creates a fetch for each wiki or Kiwix library. Pages that such a provider finds can lie in the operator's own network, which
 * the general fetch refuses; this one allows the provider's host and port and nothing else.
 */
function createProviderPageFetches(
  providers: readonly ProviderConfig[],
  options: { readonly userAgent: string; readonly timeouts: { readonly totalMs: number } },
): ReadonlyMap<string, GuardedFetch> {
  return new Map(
    providers
      .flatMap((provider) => (provider.type === 'mediawiki' || provider.type === 'kiwix' ? [provider.url] : []))
      .map((url) => [new URL(url).origin, createGuardedFetch({ ...options, ...restrictToOrigin(url) })]),
  );
}

interface ProviderDeps {
  readonly name: string;
  readonly apiKey: string;
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
}

function createProvider(config: ServiceConfig, { apiKey, ...deps }: ProviderDeps): SearchProvider {
  switch (config.type) {
    case 'searxng':
      return createSearxng({ ...config, ...deps, ...(apiKey === '' ? {} : { apiKey }) });
    case 'mediawiki':
      return createMediawiki({ ...config, ...deps });
    case 'kiwix':
      return createKiwix({ ...config, ...deps });
    case 'tavily':
      return createTavily({ ...config, ...deps, apiKey });
    case 'brave':
      return createBrave({ ...config, ...deps, apiKey });
  }
}

const createReadPdf =
  (extract: DocumentExtractor): ReadPdf =>
  async (bytes, signal) => {
    const source = (async function* () {
      yield bytes;
    })();
    const extraction = await extract(source, { name: 'page.pdf', sizeBytes: bytes.byteLength, signal });
    if (extraction.type === 'failed')
      throw new ServiceError('upstream-failed', `Cannot read the PDF page. ${extraction.reason}`);
    return new TextDecoder().decode(extraction.text);
  };
