import type { ModelEntry } from '../../../catalogue/model.ts';
import type { PageRequest } from '../page.ts';

/** A model and the name under which it is listed. */
export interface ListedModel {
  readonly name: string;
  readonly entry: ModelEntry;
}

/** Encodes a list of models; request_id stays outside `output` (docs/wire/dashscope-native.md#models). */
export const encodeModels = (
  { total, models }: { readonly total: number; readonly models: readonly ListedModel[] },
  { number, size }: PageRequest,
  requestId: string,
): object => ({
  request_id: requestId,
  output: { total, page_no: number, page_size: size, models: models.map(encodeModel) },
});

const encodeModel = ({ name, entry }: ListedModel): object => ({
  model: name,
  name: entry.name,
  description: entry.description,
  provider: PROVIDER,
  source: PROVIDER,
  opensource: null, // Parley does not evaluate licences
  context_window: entry.contextTokens,
  interfaces: entry.interfaces,
});

/** Parley is the provider of every model, wherever it runs. */
const PROVIDER = 'parley';
