import type { Config } from '../config/config.ts';
import { ServiceError } from '../core/error.ts';
import { PRIMARY_WORKSPACE } from '../resources/keys/rules.ts';
import type { Store } from '../store/store.ts';

/**
 * That a search of the operator's could find anything at all: a provider is named whose key is there, or the local index has
 * a document.
 * @throws ServiceError `not-found` that says what to do about it.
 */
export async function checkSearchable(
  { search }: Pick<Config, 'search'>,
  {
    store,
    environment,
  }: {
    readonly store: Pick<Store, 'indexCollections'>;
    readonly environment: Readonly<Record<string, string | undefined>>;
  },
): Promise<void> {
  const asked = search.providers.filter((provider) => {
    // A provider with a domain answers only those who ask for domains.
    if (provider.type === 'index' || provider.domain !== undefined) return false;
    return !('apiKeyEnv' in provider) || provider.apiKeyEnv === undefined || Boolean(environment[provider.apiKeyEnv]);
  });
  if (asked.length > 0) return;
  if (search.providers.some(({ type }) => type === 'index')) {
    for (const { name, domain, workspace } of await store.indexCollections.list()) {
      const isFound = domain === undefined && (workspace === undefined || workspace === PRIMARY_WORKSPACE);
      if (isFound && (await store.indexCollections.totalsOf(name)).documents > 0) return;
    }
  }
  throw new ServiceError(
    'not-found',
    'There is nothing to search in: add documents with `parley index add FOLDER`, or name a provider under search.providers.',
  );
}
