import type { ResolvedModel } from '../catalogue/model.ts';

/** What the log line of a request says of its model, by names of the catalogue and of deployments. */
export const modelFacts = ({
  entry,
  deployed,
}: ResolvedModel): { readonly model: string; readonly deployment?: string } =>
  deployed ? { model: deployed.base.name, deployment: entry.name } : { model: entry.name };
