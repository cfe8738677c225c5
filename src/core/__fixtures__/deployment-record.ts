import type { DeploymentRecord } from '../deployment.ts';

/** One unit of model `m` that serves. */
export const deploymentRecord = (change: Partial<DeploymentRecord> = {}): DeploymentRecord => ({
  id: 'dep_1',
  region: 'cn-beijing',
  workspace: 'w',
  name: 'm-ours',
  modelName: 'm',
  baseModel: 'm',
  plan: 'mu',
  baseCapacity: 1,
  capacity: 1,
  readyCapacity: 1,
  ptu: undefined,
  rpmLimit: undefined,
  tpmLimit: undefined,
  status: 'running',
  generation: 1,
  reached: 1,
  spec: {},
  creator: 'key_1',
  modifier: 'key_1',
  createdAt: 1_750_000_000_000,
  modifiedAt: 1_750_000_000_000,
  ...change,
});

/** One that reserves tokens of a shared engine. */
export const reservedRecord = (change: Partial<DeploymentRecord> = {}): DeploymentRecord =>
  deploymentRecord({ plan: 'ptu', ptu: { inputTpm: 600, outputTpm: 600, thinkingOutputTpm: 600 }, ...change });
