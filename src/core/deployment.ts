import type { Owner } from './context.ts';

/**
 * How capacity is dedicated. `mu` and `cu`: units of an engine that only this deployment uses. `ptu`: reserved
 * tokens per minute on engines that are shared with other deployments.
 */
export const DEPLOYMENT_PLANS = ['cu', 'mu', 'ptu'] as const;

export type DeploymentPlan = (typeof DEPLOYMENT_PLANS)[number];

/** Meanings and transitions: `resources/deployments/states.ts`. */
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

/** Settings from the creation of a deployment. They never change. Stored as JSON. */
export interface DeploymentSpec {
  /** Name for people. */
  readonly displayName?: string;
  readonly suffix?: string;
  /** As requested by the caller. Parley does not choose hardware by it. */
  readonly deploySpec?: string;
  readonly templateId?: string;
  readonly serviceTier?: string;
  readonly modelVersion?: string;
  /** Default for requests that do not set it. */
  readonly enableThinking?: boolean;
  /** In tokens; lowers the context length of the model. */
  readonly maxContextLength?: number;
}

/** Limits of a deployment of any plan, whole numbers from 1. Undefined: no limit. */
export interface DeploymentLimits {
  /** Requests per minute. */
  readonly rpmLimit: number | undefined;
  /** Tokens per minute, input and output together. */
  readonly tpmLimit: number | undefined;
}

/** A deployment: dedicated capacity of a model for one workspace in one region, callable by its own name. */
export interface DeploymentRecord extends Pick<Owner, 'region' | 'workspace'>, DeploymentLimits {
  /** `dep_…`, sortable by time; never reused. */
  readonly id: string;
  /**
   * Model name in API calls. Unique per region and workspace while the deployment exists; reusable after its deletion.
   */
  readonly name: string;
  /** As requested by the caller; may be an alias. */
  readonly modelName: string;
  /** Canonical name of the catalogue entry. */
  readonly baseModel: string;
  readonly plan: DeploymentPlan;
  /** Capacity per unit, in the same measure as `capacity` and `readyCapacity`. */
  readonly baseCapacity: number;
  /** Requested capacity. For `ptu`: 1, or 0 when no tokens are reserved. */
  readonly capacity: number;
  /** Part of `capacity` that answered a probe and serves requests now. */
  readonly readyCapacity: number;
  /** Defined only for plan `ptu`. */
  readonly ptu: PtuCapacity | undefined;
  readonly status: DeploymentStatus;
  /** Starts at 1 and increases with each accepted scale or delete. Rate limits apply without a new generation. */
  readonly generation: number;
  /** Newest generation that was applied, as far as the machine's capacity allows. 0: none yet. */
  readonly appliedGeneration: number;
  readonly spec: DeploymentSpec;
  /** Ids of the API keys that created the deployment and that last changed it. */
  readonly creator: string;
  readonly modifier: string;
  /** UTC milliseconds. `modifiedAt` also changes when the service itself changes the record. */
  readonly createdAt: number;
  readonly modifiedAt: number;
}

/** A state transition: an action of the owner (`create` to `delete`) or a step of the service that carries it out. */
export type DeploymentTransition =
  | 'create'
  | 'scale'
  | 'throttle'
  | 'delete'
  | 'begin'
  | 'ready'
  | 'reach'
  | 'stop'
  | 'fail';

export interface DeploymentEvent {
  /** Id of the deployment. */
  readonly deployment: string;
  /** Sequence number within the deployment, from 1. */
  readonly number: number;
  /** UTC milliseconds. */
  readonly at: number;
  readonly transition: DeploymentTransition;
  /** Undefined for the first event. */
  readonly from: DeploymentStatus | undefined;
  readonly to: DeploymentStatus;
  /** The request, or the reason why it was not completely done. The owner sees this text. */
  readonly reason: string;
  /** Id of the API key that caused the event. Undefined when the service itself did. */
  readonly keyId: string | undefined;
  readonly generation: number;
  /** Capacity after the event; so is `readyCapacity`. */
  readonly capacity: number;
  readonly readyCapacity: number;
}
