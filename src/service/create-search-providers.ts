import type { Config } from '../config/config.ts';
import { ServiceError } from '../core/error.ts';
import { SEARCH_PROVIDER_MS_MAX } from '../core/limits.ts';
import type { Log } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import { createGuardedFetch, type GuardedFetch } from '../net/guarded-fetch.ts';
import { restrictToOrigin } from '../net/restrict-to-origin.ts';
import { createBrave } from '../tools/search/providers/brave.ts';
import { createKiwix } from '../tools/search/providers/kiwix.ts';
import { createMediawiki } from '../tools/search/providers/mediawiki.ts';
import { createSearxng } from '../tools/search/providers/searxng.ts';
import { createTavily } from '../tools/search/providers/tavily.ts';
import type { SearchProvider } from '../tools/search/search-provider.ts';
import { createUserAgent } from '../tools/user-agent.ts';

export interface SearchProvidersDeps {
  readonly config: Pick<Config, 'search'>;
  /** Environment variables, which hold the API keys of search services. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Search over the local index. Absent: an `index` provider in the configuration is ignored. */
  readonly index?: SearchProvider | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

type ProviderConfig = Config['search']['providers'][number];
type ServiceConfig = Exclude<ProviderConfig, { readonly type: 'index' }>;

/** Creates the configured search providers. @throws ServiceError `invalid-request` when two providers share a name. */
export function createSearchProviders({
  config,
  environment,
  index,
  clock,
  log,
}: SearchProvidersDeps): readonly SearchProvider[] {
  const { providers, contact } = config.search;
  const userAgent = createUserAgent(contact);

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
  return providers.flatMap((provider): readonly SearchProvider[] => {
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
