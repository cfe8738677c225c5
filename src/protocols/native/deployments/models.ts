import type { RegionId } from '../../../core/region.ts';
import { DEPLOYMENT_PLANS } from '../../../core/deployment.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { fieldsOf, pageOf, pageTexts, skippedBy } from '../page.ts';
import { ModelsQuery } from './schema.ts';

export interface DeployableModelsNeeds {
  /** Names of the models that can be deployed in a region. */
  readonly deployableIn: (region: RegionId) => readonly string[];
  readonly baseCapacity: number;
}

/** The version of the answer that says what there is to choose for each model. */
const WITH_PLANS = 'v1.0';

/** GET /api/v1/deployments/models (wire.md E8.1). Nothing is trained here, so no model is a custom one. */
export function deployableModels({ deployableIn, baseCapacity }: DeployableModelsNeeds): Endpoint {
  return {
    operation: 'deployments.models',
    method: 'GET',
    path: '/api/v1/deployments/models',
    family: 'native',
    regions: INTERFACES.deployments.regions,
    onDisconnect: 'cancel',
    handle({ query }, { owner, requestId }) {
      const { wire, unknown } = parseBody(ModelsQuery, fieldsOf(query), { texts: pageTexts });
      const names = wire.model_source === 'custom' ? [] : deployableIn(owner.region);
      const page = pageOf(wire);
      const from = skippedBy(page);
      const more = wire.version === WITH_PLANS ? PLANS : {};
      const output = {
        page_no: page.number,
        page_size: page.size,
        total: names.length,
        models: names
          .slice(from, from + page.size)
          .map((name) => ({ model_name: name, base_capacity: baseCapacity, ...more })),
      };
      return Promise.resolve(json({ request_id: requestId, output }, ignoredHeader(unknown)));
    },
  };
}

/** There are no templates and no kinds of units to choose from: what a plan needs is its capacity. */
const PLANS = {
  model_source: 'base',
  supported_plans: DEPLOYMENT_PLANS,
  plans: DEPLOYMENT_PLANS.map((plan) => ({ plan, templates: [], cu_specs: [] })),
};
