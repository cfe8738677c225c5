import { getWeightsId, type Catalogue } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { Weights } from '../core/weights.ts';
import { findNearNames } from '../lib/find-near-names.ts';
import { describeRunner } from './describe-weights.ts';

/**
 * Finds weights by their id, or by the exact name of a model that runs them. Aliases do not count: one such as `qwen*`
 * matches names of models that Parley does not have, and nobody wants other weights than those that they name.
 * @throws ServiceError `not-found` with similar names; `invalid-request` for a model without weights.
 */
export function findWeights(name: string, catalogue: Catalogue): Weights {
  const entry = catalogue.list().find((each) => each.name === name);
  const weightsId = entry && getWeightsId(entry);
  if (weightsId !== undefined) return catalogue.weights(weightsId);
  if (entry) {
    const reason = entry.runner.type === 'none' ? entry.runner.reason : describeRunner(entry);
    throw new ServiceError('invalid-request', `${name} has no weights: ${reason.replace(/\.$/, '')}.`);
  }
  const weights = catalogue.listWeights().find(({ id }) => id === name);
  if (!weights) throw createUnknownNameError(name, catalogue);
  return weights;
}

/** Returns whether a model of the catalogue or weights have exactly this name. */
export const hasWeightsName = (name: string, catalogue: Catalogue): boolean =>
  catalogue.list().some((entry) => entry.name === name) || catalogue.listWeights().some(({ id }) => id === name);

/** Creates the error for a name of neither a model nor weights. It lists similar names, or all if none is similar. */
function createUnknownNameError(name: string, catalogue: Catalogue): ServiceError {
  const names = [...catalogue.list().map((entry) => entry.name), ...catalogue.listWeights().map(({ id }) => id)];
  const near = findNearNames(name, names);
  const hint = near.length > 0 ? `Similar: ${near.join(', ')}.` : `Available: ${names.join(', ')}.`;
  return new ServiceError('not-found', `No model or weights have the name ${name}. ${hint}`);
}
