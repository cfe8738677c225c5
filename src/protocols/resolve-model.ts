import type { z } from 'zod';
import type { Catalogue, ModelInterface, ResolvedModel } from '../catalogue/model.ts';
import type { RequestContext } from '../core/context.ts';
import { REQUESTED_MODEL_CHARS_MAX } from '../core/limits.ts';
import { parseValue } from './parse.ts';

/** Collaborators and options of an endpoint whose body names a model. */
export interface ModelEndpointDeps {
  /** Returns the current catalogue, which changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  /** Rejects unknown fields with 400 instead of naming them in x-parley-ignored. */
  readonly strict?: boolean;
}

/** How an endpoint finds the model that a body names. */
export interface ModelLookup extends Pick<ModelEndpointDeps, 'catalogue'> {
  readonly interface: ModelInterface;
  /** Models with one of these interfaces are not listed in the error for an unknown name. */
  readonly exceptInterfaces?: readonly ModelInterface[];
}

/** Schema of the one field that is read before the model is known. */
type ModelOnlySchema = z.ZodType<{ readonly model: string }>;

/**
 * Finds the model that a body names, before the rest of the body is checked: the limits of the other fields, and their
 * error texts, depend on it. The name is logged even if there is no such model.
 *
 * The answer belongs to the whole request: the endpoint passes `resolved` on, so that a reload of the catalogue cannot
 * put another entry between the checks and the run.
 *
 * @throws ServiceError `invalid-request` for a body without a model; any error of the catalogue.
 */
export async function resolveBodyModel(
  schema: ModelOnlySchema,
  body: unknown,
  { catalogue, ...wanted }: ModelLookup,
  { owner, log }: Pick<RequestContext, 'owner' | 'log'>,
): Promise<{ readonly model: string; readonly resolved: ResolvedModel }> {
  const { model } = parseValue(schema, body);
  log.add({ requestedModel: model.slice(0, REQUESTED_MODEL_CHARS_MAX) });
  return { model, resolved: await catalogue().resolve(model, { ...wanted, owner }) };
}
