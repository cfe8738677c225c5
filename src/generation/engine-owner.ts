import type { RequestContext } from '../core/context.ts';
import type { EngineOwner } from '../engines/engine.ts';
import { present } from '../lib/present.ts';

/** Whose request it is, and with which priority, as engines are told. */
export const engineOwnerOf = ({ owner, priority }: Pick<RequestContext, 'owner' | 'priority'>): EngineOwner => ({
  workspace: `${owner.region}/${owner.workspace}`,
  key: owner.keyId,
  ...present({ priority }),
});
