import type { Catalogue, CatalogueScope, ModelInterface, ResolvedModel } from '../catalogue/model.ts';

/**
 * The model of a request: resolved already, or to be found by the request's name through an interface. An endpoint that
 * has checked a request against a model passes that model, so that a reload in between changes nothing.
 */
export type ModelTarget = ResolvedModel | { readonly interface: ModelInterface };

/** Returns the model of a request. @throws ServiceError as the catalogue does, unless the model is resolved already. */
export const resolveTarget = async (
  catalogue: Pick<Catalogue, 'resolve'>,
  name: string,
  target: ModelTarget,
  owner: CatalogueScope,
): Promise<ResolvedModel> =>
  'entry' in target ? target : await catalogue.resolve(name, { interface: target.interface, owner });
