import type { Tenant } from './context.ts';

/** Returns a text that differs between tenants, for keys of caches, pools and queues. */
export const createTenantKey = ({ region, workspace }: Tenant): string => JSON.stringify([region, workspace]);
