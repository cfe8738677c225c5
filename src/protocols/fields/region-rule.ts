import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { regionName } from '../../core/region.ts';
import type { PublishedInterface } from '../interfaces.ts';

/**
 * For an interface without a path of its own: where its model is asked, its regions have to be checked.
 *
 * @throws ServiceError `forbidden` in another region.
 */
export function checkIsOffered(
  { name, regions }: Pick<PublishedInterface, 'name' | 'regions'>,
  { owner }: Pick<RequestContext, 'owner'>,
): void {
  if (regions.includes(owner.region)) return;
  const offered = regions.map(regionName).join(', ');
  throw new ServiceError(
    'forbidden',
    `Access denied. ${name} is not offered in ${regionName(owner.region)}; it is offered in ${offered}.`,
    { param: 'model' },
  );
}
