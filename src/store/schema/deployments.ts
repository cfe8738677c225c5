import type { RegionId } from '../../core/region.ts';

/** Created by migration 0008. Times are UTC milliseconds. */
export interface DeploymentsTable {
  id: string;
  region: RegionId;
  workspace: string;
  /** Unique within region and workspace. */
  name: string;
  model_name: string;
  base_model: string;
  plan: 'cu' | 'mu' | 'ptu';
  base_capacity: number;
  capacity: number;
  ready_capacity: number;
  /** JSON of `PtuCapacity`. */
  ptu: string | null;
  rpm_limit: number | null;
  tpm_limit: number | null;
  status: 'pending' | 'deploying' | 'running' | 'updating' | 'stopped' | 'failed' | 'deleting';
  generation: number;
  reached: number;
  /** JSON of `DeploymentSpec`. */
  spec: string;
  creator: string;
  modifier: string;
  created_at: number;
  modified_at: number;
  /** Number of the newest event: the count of all events so far. */
  events: number;
}

/** Created by migration 0008. */
export interface DeploymentEventsTable {
  deployment: string;
  number: number;
  at: number;
  move: string;
  from_status: DeploymentsTable['status'] | null;
  to_status: DeploymentsTable['status'];
  reason: string;
  key_id: string | null;
  generation: number;
  capacity: number;
  ready_capacity: number;
}
