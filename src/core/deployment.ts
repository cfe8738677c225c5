import type { Owner } from './context.ts';

/**
 * How capacity is dedicated. `mu` and `cu`: units of an engine of its own. `ptu`: tokens per minute that are reserved on
 * engines that it shares with others.
 */
export const DEPLOYMENT_PLANS = ['cu', 'mu', 'ptu'] as const;

export type DeploymentPlan = (typeof DEPLOYMENT_PLANS)[number];

/** What each means and which follows which: `resources/deployments/states.ts`. */
export const DEPLOYMENT_STATUSES = [
  'pending',
  'deploying',
  'running',
  'updating',
  'stopped',
  'failed',
  'deleting',
] as const;

export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];

/** Tokens per minute, whole numbers from 0. */
export interface PtuCapacity {
  readonly inputTpm: number;
  readonly outputTpm: number;
  readonly thinkingOutputTpm: number;
}

/** What it was created with and keeps for its life. */
export interface DeploymentSpec {
  /** For people. */
  readonly displayName?: string;
  readonly suffix?: string;
  /** As it was asked for: no hardware is chosen by it here. */
  readonly deploySpec?: string;
  readonly templateId?: string;
  readonly serviceTier?: string;
  readonly modelVersion?: string;
  /** Of requests that do not say. */
  readonly enableThinking?: boolean;
  /** Tokens; lowers the context of its model. */
  readonly maxContextLength?: number;
}

/** Of every plan; undefined: no limit. Whole numbers from 1. */
export interface DeploymentLimits {
  /** Requests per minute. */
  readonly rpmLimit: number | undefined;
  /** Tokens per minute, input and output together. */
  readonly tpmLimit: number | undefined;
}

/** Capacity of a model for one workspace in one region, callable by a name of its own. */
export interface DeploymentRecord extends Pick<Owner, 'region' | 'workspace'>, DeploymentLimits {
  /** `dep_…`, sortable by time; never reused. */
  readonly id: string;
  /** A model's name in calls. One per region and workspace while it exists, and free again when it is gone. */
  readonly name: string;
  /** As it was asked for; may be an alias. */
  readonly modelName: string;
  /** The catalogue entry's own name. */
  readonly baseModel: string;
  readonly plan: DeploymentPlan;
  /** What one unit counts as in the two figures below. */
  readonly baseCapacity: number;
  /** What is wanted. Of a `ptu` one 1, and 0 where nothing at all is reserved. */
  readonly capacity: number;
  /** Of that, what answered a probe and serves now. */
  readonly readyCapacity: number;
  /** Of a `ptu` one, and of no other. */
  readonly ptu: PtuCapacity | undefined;
  readonly status: DeploymentStatus;
  /** Counts from 1 with each accepted change of what is wanted: a scale, the delete. Limits are in force without that. */
  readonly generation: number;
  /** The newest generation that was brought about, as far as the machine holds it; 0 before the first. */
  readonly reached: number;
  readonly spec: DeploymentSpec;
  /** Ids of keys: of who made it, and of who changed it last. */
  readonly creator: string;
  readonly modifier: string;
  /** UTC milliseconds, as both. The second one also moves with what the service itself does to it. */
  readonly createdAt: number;
  readonly modifiedAt: number;
}

/** What happened to it: what its owner did, and the steps of whoever brings that about. */
export type DeploymentMove = 'create' | 'scale' | 'throttle' | 'delete' | 'begin' | 'ready' | 'reach' | 'stop' | 'fail';

export interface DeploymentEvent {
  /** Id of its deployment. */
  readonly deployment: string;
  /** Counts from 1 within its deployment. */
  readonly number: number;
  /** UTC milliseconds. */
  readonly at: number;
  readonly move: DeploymentMove;
  /** Undefined of the first. */
  readonly from: DeploymentStatus | undefined;
  readonly to: DeploymentStatus;
  /** What was asked for, or why it is not all there; for its owner. */
  readonly reason: string;
  /** Of who did it; undefined where that was the service itself. */
  readonly keyId: string | undefined;
  readonly generation: number;
  /** After it. */
  readonly capacity: number;
  readonly readyCapacity: number;
}
