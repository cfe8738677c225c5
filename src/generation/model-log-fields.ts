import type { ResolvedModel } from '../catalogue/model.ts';

/** Returns the log fields of a request's model: the catalogue name and, for a deployment, its name. */
export const getModelLogFields = ({
  entry,
  deployment,
}: ResolvedModel): { readonly model: string; readonly deployment?: string } =>
  deployment ? { model: deployment.base.name, deployment: entry.name } : { model: entry.name };
