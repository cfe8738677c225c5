import type { RequestContext } from '../core/context.ts';
import type { EngineOwner } from '../engines/engine.ts';
import { omitNullish } from '../lib/omit-nullish.ts';

/** Returns the tenant, key and priority of a request in the form that engines use for their queues. */
export const toEngineOwner = ({ owner, priority }: Pick<RequestContext, 'owner' | 'priority'>): EngineOwner => ({
  workspace: `${owner.region}/${owner.workspace}`,
  key: owner.keyId,
  ...omitNullish({ priority }),
});
