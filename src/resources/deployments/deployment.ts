import type { RegionId } from '../../core/region.ts';
import type { Owner } from '../../core/context.ts';
import type { DeploymentListQuery } from '../../store/deployments.ts';
import type {
  DeploymentEvent,
  DeploymentLimits,
  DeploymentPlan,
  DeploymentRecord,
  DeploymentSpec,
  PtuCapacity,
} from '../../core/deployment.ts';

/** Requested capacity: `capacity` for plans with their own engines, or `ptu` for reserved tokens, never both. */
export interface CapacityRequest {
  /** A string is an invalid value, kept as sent for the error message. */
  readonly capacity?: number | string | undefined;
  readonly ptu?: PtuCapacity | undefined;
}

export interface DeploymentDraft extends CapacityRequest, Partial<DeploymentLimits> {
  /** The model name that the client sent. */
  readonly modelName: string;
  readonly plan: DeploymentPlan;
  readonly spec: DeploymentSpec;
}

/** The catalogue's name of a model that can be deployed. */
export interface DeployableModel {
  readonly baseModel: string;
}

/**
 * Finds the model of a deployment. Returns undefined if the region has no such model.
 * @throws ServiceError `unsupported` with the reason if the model cannot have an engine of its own.
 */
export type FindDeployableModel = (name: string, region: RegionId) => DeployableModel | undefined;

/** A deployment in its state after an event. */
export interface DeploymentChange {
  readonly record: DeploymentRecord;
  readonly event: DeploymentEvent;
}

/**
 * Deployments of one workspace in one region; an id of another workspace or region is not found. When the promise
 * resolves, a change and the job that carries it out are durable.
 *
 * Every method that takes a name throws ServiceError `not-found` (`Model: <name> not found!`) if no deployment has it.
 */
export interface Deployments {
  /**
   * @throws ServiceError `not-found` for the model; `conflict` if the name is taken; `invalid-request` for an invalid
   *   capacity or one that the plan does not use; `count-quota`.
   */
  create(owner: Owner, draft: DeploymentDraft): Promise<DeploymentRecord>;
  find(owner: Owner, name: string): Promise<DeploymentRecord>;
  /** Lists the newest first; `total` counts all matching deployments. */
  list(
    owner: Owner,
    query: DeploymentListQuery,
  ): Promise<{ readonly total: number; readonly deployments: readonly DeploymentRecord[] }>;
  /**
   * Changes the requested capacity; the returned record still has the old ready capacity. Of concurrent calls the later
   * one wins, and each is an event.
   * @throws ServiceError as `create`; `not-found` also for a deployment that is being deleted.
   */
  scale(owner: Owner, name: string, request: CapacityRequest): Promise<DeploymentRecord>;
  /** Changes the given limits; a value of undefined removes the limit. @throws as `scale`. */
  throttle(owner: Owner, name: string, limits: Partial<DeploymentLimits>): Promise<DeploymentRecord>;
  /** Starts the deletion. Has no effect on a deployment that is being deleted. */
  delete(owner: Owner, name: string): Promise<DeploymentRecord>;
  /** Returns the newest events in chronological order. */
  events(owner: Owner, name: string): Promise<readonly DeploymentEvent[]>;
  /**
   * Yields the current state, then each change, until the deployment is at rest or removed. Changes by this process
   * appear at once, others at the next poll. Rejects with the signal's reason.
   */
  watch(owner: Owner, name: string, signal: AbortSignal): AsyncIterable<readonly DeploymentChange[]>;
}

interface StepInput {
  /** The generation that the step was made for; the step has no effect on any other. */
  readonly generation: number;
  /** Explanation for the deployment's owner, e.g. the failure or a lack of memory. */
  readonly reason?: string;
}

/**
 * Steps that carry out a requested change. Each is one transaction, which checks that the requested generation has not
 * changed and that `states.ts` allows the transition; otherwise it changes nothing and returns undefined, and the
 * caller reads the deployment again. A step that would change nothing creates no event. Steps may be repeated.
 *
 * A job of kind `deployment`, whose subject is the id, exists while a change is to be carried out. Its handler reads
 * the deployment after it has claimed the job: `Tables.jobs.requeue` explains why no change is lost.
 */
export interface DeploymentLifecycle {
  /** Finds a deployment of any tenant. */
  find(id: string): Promise<DeploymentRecord | undefined>;
  /** Moves a new deployment with reserved tokens to `deploying`; has no effect on others. */
  start(id: string, input: StepInput): Promise<DeploymentRecord | undefined>;
  /** Records how much of the capacity serves requests. Keeps the status. */
  reportReady(id: string, input: StepInput & { readonly readyCapacity: number }): Promise<DeploymentRecord | undefined>;
  /**
   * Completes the change: `running` with the requested capacity, or with less and a reason; `stopped` if the requested
   * capacity is 0.
   */
  reportReached(
    id: string,
    input: StepInput & { readonly readyCapacity: number },
  ): Promise<DeploymentRecord | undefined>;
  /**
   * Gives up because no unit started. Not for a running deployment: report its ready capacity with a reason instead.
   */
  fail(id: string, input: StepInput & { readonly reason: string }): Promise<DeploymentRecord | undefined>;
  /**
   * Removes a deployment that is being deleted, with its events.
   * @returns true if the record does not exist any more.
   */
  finishDeletion(id: string, input: StepInput): Promise<boolean>;
}

/** In-process signal that deployments have changed. The store remains the source of truth. */
export interface DeploymentNotifier {
  /** Call after the transaction has committed. */
  notify(): void;
  /** @returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void;
}
