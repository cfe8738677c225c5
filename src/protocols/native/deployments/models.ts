import type { RegionId } from '../../../core/region.ts';
import { DEPLOYMENT_PLANS } from '../../../core/deployment.ts';
import { createJsonReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { queryToObject } from '../../fields/list-query.ts';
import { decodePage, PAGE_TEXTS, getPageOffset } from '../page.ts';
import { ModelsQuery } from './schema.ts';

export interface DeployableModelsDeps {
  /** Lists the names of the models that can be deployed in a region. */
  readonly listDeployableModels: (region: RegionId) => readonly string[];
  readonly baseCapacity: number;
}

/** Version of the response that includes the available plans of each model. */
const VERSION_WITH_PLANS = 'v1.0';

/** Creates GET /api/v1/deployments/models. Parley does not train, so it has no custom models. */
export function createDeployableModelsEndpoint({ listDeployableModels, baseCapacity }: DeployableModelsDeps): Endpoint {
  return {
    operation: 'deployments.models',
    method: 'GET',
    path: '/api/v1/deployments/models',
    family: 'native',
    regions: INTERFACES.deployments.regions,
    onDisconnect: 'cancel',
    handle({ query }, { owner, requestId }) {
      const { wire, unknown } = parseBody(ModelsQuery, queryToObject(query), { texts: PAGE_TEXTS });
      const names = wire.model_source === 'custom' ? [] : listDeployableModels(owner.region);
      const page = decodePage(wire);
      const from = getPageOffset(page);
      const planFields = wire.version === VERSION_WITH_PLANS ? PLAN_FIELDS : {};
      const output = {
        page_no: page.number,
        page_size: page.size,
        total: names.length,
        models: names
          .slice(from, from + page.size)
          .map((name) => ({ model_name: name, base_capacity: baseCapacity, ...planFields })),
      };
      return Promise.resolve(createJsonReply({ request_id: requestId, output }, encodeIgnoredHeader(unknown)));
    },
  };
}

/** Parley has no templates and no unit types: a plan is defined by its capacity alone. */
const PLAN_FIELDS = {
  model_source: 'base',
  supported_plans: DEPLOYMENT_PLANS,
  plans: DEPLOYMENT_PLANS.map((plan) => ({ plan, templates: [], cu_specs: [] })),
};
