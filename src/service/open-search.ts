import type { Config } from '../config/config.ts';
import { ServiceError } from '../core/error.ts';
import { PAGE_FETCH_MS_MAX, SEARCH_PROVIDER_MS_MAX } from '../core/limits.ts';
import type { ReadPage, Search } from '../core/server-tools.ts';
import type { Log } from '../core/telemetry.ts';
import type { Extract } from '../documents/extract.ts';
import type { Clock } from '../lib/clock.ts';
import { createGuardedFetch } from '../net/guarded-fetch.ts';
import type { GuardedFetch } from '../net/guarded-fetch.ts';
import { createHostPace } from '../tools/pages/host-pace.ts';
import { createPageReader } from '../tools/pages/page-reader.ts';
import { createReadPage } from '../tools/pages/read-page.ts';
import type { ReadPdf } from '../tools/pages/read-page.ts';
import { createRobots, ROBOT_NAME } from '../tools/pages/robots.ts';
import { createBrave } from '../tools/search/providers/brave.ts';
import { createKiwix } from '../tools/search/providers/kiwix.ts';
import { createMediawiki } from '../tools/search/providers/mediawiki.ts';
import { createSearxng } from '../tools/search/providers/searxng.ts';
import { createTavily } from '../tools/search/providers/tavily.ts';
import { createSearch } from '../tools/search/search.ts';
import type { SearchProvider } from '../tools/search/search-provider.ts';

export interface OpenSearchNeeds {
  readonly config: Pick<Config, 'search'>;
  /** Where keys of services are. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The documents of our own; absent, an entry for them is passed over. */
  readonly index?: SearchProvider | undefined;
  /** Absent: PDFs are not read. */
  readonly extract?: Extract | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export interface OpenedSearch {
  readonly search: Search;
  readonly readPage: ReadPage;
  /** Ends the process that reads pages. */
  close(): Promise<void>;
}

type ProviderConfig = Config['search']['providers'][number];
type ServiceConfig = Exclude<ProviderConfig, { readonly type: 'index' }>;

/** What models may look up, as it was configured. @throws ServiceError `invalid-request` where two providers have one name. */
export function openSearch({ config, environment, index, extract, clock, log }: OpenSearchNeeds): OpenedSearch {
  const { providers, pages, contact } = config.search;
  const userAgent = contact === undefined ? ROBOT_NAME : `${ROBOT_NAME} (+${contact})`;

  const names = new Set<string>();
  const nameOf = ({ name, type }: ServiceConfig): string => {
    const free =
      name ?? [type, ...providers.map((_, at) => `${type}-${at + 2}`)].find((one) => !names.has(one)) ?? type;
    if (names.has(free)) throw new ServiceError('invalid-request', `Two search providers have the name ${free}.`);
    names.add(free);
    return free;
  };
  const opened = providers.flatMap((provider): readonly SearchProvider[] => {
    if (provider.type === 'index') return index ? [index] : [];
    const name = nameOf(provider);
    const apiKey =
      'apiKeyEnv' in provider && provider.apiKeyEnv !== undefined ? environment[provider.apiKeyEnv] : undefined;
    if ('apiKeyEnv' in provider && provider.apiKeyEnv !== undefined && !apiKey) {
      log.warn('the variable with the key of a search provider is not set: it is not asked', {
        provider: name,
        variable: provider.apiKeyEnv,
      });
      return [];
    }
    return [providerOf(provider, { name, apiKey: apiKey ?? '', fetch: fetchFor(provider, userAgent), clock })];
  });

  const { bytesMax, charsMax, allow } = pages;
  const timeouts = { wholeMs: PAGE_FETCH_MS_MAX };
  const anywhere = createGuardedFetch({ allow, userAgent, timeouts });
  const ours = pagesOfProviders(providers, { userAgent, timeouts });
  const fetch: GuardedFetch = (url, wish) => (ours.get(URL.parse(url)?.origin ?? '') ?? anywhere)(url, wish);
  const reader = createPageReader();
  return {
    search: createSearch({ providers: opened, log, clock }),
    readPage: createReadPage({
      fetch,
      robots: createRobots({ fetch, judge: reader.judge, clock }),
      pace: createHostPace({ clock }),
      reader,
      bytesMax,
      charsMax,
      ...(extract ? { readPdf: readPdfBy(extract) } : {}),
    }),
    close: () => reader.close(),
  };
}

/** May ask the origin that the operator named, whatever network it is in, and nothing else. */
function fetchFor({ url }: Pick<ServiceConfig, 'url'>, userAgent: string): GuardedFetch {
  return createGuardedFetch({
    ...onlyOrigin(url),
    userAgent,
    redirectsMax: 0,
    timeouts: { wholeMs: SEARCH_PROVIDER_MS_MAX },
  });
}

function onlyOrigin(address: string): { readonly allow: readonly string[]; readonly ports: readonly number[] } {
  const { hostname, port, protocol } = new URL(address);
  const ports = [port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)];
  return { allow: [hostname.replace(/^\[|\]$/g, '')], ports };
}

/**
 * A wiki or a library in the operator's own network would be of no use if what it finds could not be read. Its pages are
 * fetched with its host and its port allowed, and nothing else of that network.
 */
function pagesOfProviders(
  providers: readonly ProviderConfig[],
  options: { readonly userAgent: string; readonly timeouts: { readonly wholeMs: number } },
): ReadonlyMap<string, GuardedFetch> {
  return new Map(
    providers
      .flatMap((provider) => (provider.type === 'mediawiki' || provider.type === 'kiwix' ? [provider.url] : []))
      .map((url) => [new URL(url).origin, createGuardedFetch({ ...options, ...onlyOrigin(url) })]),
  );
}

interface ProviderNeeds {
  readonly name: string;
  readonly apiKey: string;
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
}

function providerOf(config: ServiceConfig, { apiKey, ...needs }: ProviderNeeds): SearchProvider {
  switch (config.type) {
    case 'searxng':
      return createSearxng({ ...config, ...needs, ...(apiKey === '' ? {} : { apiKey }) });
    case 'mediawiki':
      return createMediawiki({ ...config, ...needs });
    case 'kiwix':
      return createKiwix({ ...config, ...needs });
    case 'tavily':
      return createTavily({ ...config, ...needs, apiKey });
    case 'brave':
      return createBrave({ ...config, ...needs, apiKey });
  }
}

const readPdfBy =
  (extract: Extract): ReadPdf =>
  async (bytes, signal) => {
    const source = (async function* () {
      yield bytes;
    })();
    const read = await extract(source, { name: 'page.pdf', sizeBytes: bytes.byteLength, signal });
    if (read.type === 'failed') throw new ServiceError('upstream-failed', `The page cannot be read. ${read.reason}`);
    return new TextDecoder().decode(read.text);
  };
