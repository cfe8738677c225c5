import type { ModelEntry } from '../../../catalogue/model.ts';
import type { Page } from '../page.ts';

/** A model, and the name it is shown under. */
export interface Shown {
  readonly name: string;
  readonly entry: ModelEntry;
}

/** wire.md 10, models native. Keys of the envelope stay outside (section 11, 17). */
export const encodeModels = (
  { total, models }: { readonly total: number; readonly models: readonly Shown[] },
  { number, size }: Page,
  requestId: string,
): object => ({
  request_id: requestId,
  output: { total, page_no: number, page_size: size, models: models.map(encodeModel) },
});

const encodeModel = ({ name, entry }: Shown): object => ({
  model: name,
  name: entry.name,
  description: entry.description,
  provider: PROVIDER,
  source: PROVIDER,
  opensource: null, // licences are not looked into
  context_window: entry.contextTokens,
  interfaces: entry.interfaces,
});

/** Who offers it: this service, whatever runs behind a name. */
const PROVIDER = 'parley';
