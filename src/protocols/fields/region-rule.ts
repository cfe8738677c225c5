import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { formatRegion } from '../../core/region.ts';
import type { PublishedInterface } from '../interfaces.ts';

/**
 * Checks the region of an interface that is selected by the model instead of by a path of its own.
 *
 * @throws ServiceError `forbidden` in a region that does not offer the interface.
 */
export function checkRegion(
  { name, regions }: Pick<PublishedInterface, 'name' | 'regions'>,
  { owner }: Pick<RequestContext, 'owner'>,
): void {
  if (regions.includes(owner.region)) return;
  const offered = regions.map(formatRegion).join(', ');
  throw new ServiceError(
    'forbidden',
    `Access denied. ${name} is not offered in ${formatRegion(owner.region)}; it is offered in ${offered}.`,
    { param: 'model' },
  );
}
