import type { ServerToolOptions } from '../../core/server-tools.ts';
import type { ChatFields } from './parameter-schema.ts';
import { decodeSearch, type SourceReporting } from './search-options.ts';

/** Converts `enable_search` and `enable_code_interpreter` to server tool options; undefined if neither is on. */
export function decodeServerTools(
  { enable_search: isSearchEnabled, search_options: options, enable_code_interpreter: isCodeEnabled }: ChatFields,
  reporting: Pick<SourceReporting, 'reportsSources'>,
): ServerToolOptions | undefined {
  const search = isSearchEnabled === true ? decodeSearch(options ?? {}, reporting) : undefined;
  if (!search && isCodeEnabled !== true) return undefined;
  return {
    ...(search ? { search } : {}),
    ...(search?.strategy === 'agent-max' ? { pages: {} } : {}),
    ...(isCodeEnabled === true ? { code: { fileIds: [] } } : {}),
  };
}
