import type { Tenant } from '../core/context.ts';

/** Tenant that owns a resource: a workspace in a region. */
export type TenantScope = Tenant;
