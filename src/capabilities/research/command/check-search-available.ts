import { listRegions } from '../../../config/regions.ts';
import { DEFAULT_REGION, type RegionId } from '../../../core/region.ts';
import type { Config } from '../../../config/config.ts';
import { ServiceError } from '../../../core/error.ts';
import { PRIMARY_WORKSPACE } from '../../../resources/keys/rules.ts';
import type { Store } from '../../../store/store.ts';

/** Returns the region in which the operator's research searches, the first configured one. */
export const getFirstRegion = (config: Pick<Config, 'regions'>): RegionId =>
  listRegions(config)[0]?.[0] ?? DEFAULT_REGION;

/**
 * Checks that a search by the operator can find anything: a configured provider has its API key, or the local index holds a
 * document that the operator's workspace can see.
 * @throws ServiceError `not-found` with instructions when neither is so.
 */
export async function checkSearchAvailable(
  { search, regions }: Pick<Config, 'search' | 'regions'>,
  {
    store,
    environment,
  }: {
    readonly store: Pick<Store, 'indexCollections'>;
    readonly environment: Readonly<Record<string, string | undefined>>;
  },
): Promise<void> {
  const usableProviders = search.providers.filter((provider) => {
    // A provider with a domain is used only for requests that name that domain.
    if (provider.type === 'index' || provider.domain !== undefined) return false;
    return !('apiKeyEnv' in provider) || provider.apiKeyEnv === undefined || Boolean(environment[provider.apiKeyEnv]);
  });
  if (usableProviders.length > 0) return;
  if (search.providers.some(({ type }) => type === 'index')) {
    for (const { name, domain, workspace, region } of await store.indexCollections.list()) {
      const isVisible =
        domain === undefined &&
        (workspace === undefined || workspace === PRIMARY_WORKSPACE) &&
        (region === undefined || region === getFirstRegion({ regions }));
      if (isVisible && (await store.indexCollections.getTotals(name)).documents > 0) return;
    }
  }
  throw new ServiceError(
    'not-found',
    'No search source is available: add documents with `parley index add FOLDER`, or configure a provider under search.providers.',
  );
}
