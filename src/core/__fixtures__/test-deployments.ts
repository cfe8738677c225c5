import type { DeploymentRecord } from '../deployment.ts';

/** Creates the record of a running deployment with one unit of model `m`. */
export const createTestDeployment = (change: Partial<DeploymentRecord> = {}): DeploymentRecord => ({
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
  appliedGeneration: 1,
  spec: {},
  creator: 'key_1',
  modifier: 'key_1',
  createdAt: 1_750_000_000_000,
  modifiedAt: 1_750_000_000_000,
  ...change,
});

/** Creates the record of a `ptu` deployment, which reserves tokens per minute of a shared engine. */
export const createTestPtuDeployment = (change: Partial<DeploymentRecord> = {}): DeploymentRecord =>
  createTestDeployment({ plan: 'ptu', ptu: { inputTpm: 600, outputTpm: 600, thinkingOutputTpm: 600 }, ...change });
