import type { RegionId } from '../../core/region.ts';
import type { Owner } from '../../core/context.ts';
import type {
  DeploymentEvent,
  DeploymentLimits,
  DeploymentPlan,
  DeploymentRecord,
  DeploymentSpec,
  DeploymentStatus,
  PtuCapacity,
} from '../../core/deployment.ts';

/** What is wanted of one: `capacity` of plans with engines of their own, `ptu` of reserved tokens, and never the other. */
export interface CapacityWish {
  /** A text is what stood in the place of a number, as it is told to its caller. */
  readonly capacity?: number | string | undefined;
  readonly ptu?: PtuCapacity | undefined;
}

export interface DeploymentDraft extends CapacityWish, Partial<DeploymentLimits> {
  /** As asked. */
  readonly modelName: string;
  readonly plan: DeploymentPlan;
  readonly spec: DeploymentSpec;
}

/** What a model that can be deployed is called in the catalogue. */
export interface DeployableModel {
  readonly baseModel: string;
}

/** Undefined where there is no such model in the region, or none that can have an engine of its own. */
export type DeployableModels = (name: string, region: RegionId) => DeployableModel | undefined;

export interface DeploymentListWish {
  readonly status?: DeploymentStatus | undefined;
  readonly limit: number;
  /** How many of the newest are passed over. */
  readonly skip: number;
}

/** A deployment as it was after an event. */
export interface DeploymentChange {
  readonly record: DeploymentRecord;
  readonly event: DeploymentEvent;
}

/**
 * Deployments of one workspace in one region; anybody else's are not there. What was answered is on the disk, and the job
 * that brings it about with it.
 *
 * Every method that takes a name throws ServiceError `not-found` (`Model: <name> not found!`) where there is none of it.
 */
export interface Deployments {
  /**
   * @throws ServiceError `not-found` for the model; `conflict` where the name is taken; `invalid-request` for a capacity,
   *   and for one that its plan does not have; `count-quota`.
   */
  create(owner: Owner, draft: DeploymentDraft): Promise<DeploymentRecord>;
  find(owner: Owner, name: string): Promise<DeploymentRecord>;
  /** The newest first; `total` is without the page. */
  list(
    owner: Owner,
    wish: DeploymentListWish,
  ): Promise<{ readonly total: number; readonly deployments: readonly DeploymentRecord[] }>;
  /**
   * Answers with what is wanted now; what is ready is still what was. Of two at once the later one counts, and both are
   * events. @throws ServiceError as `create`; `not-found` also for one that is being deleted.
   */
  scale(owner: Owner, name: string, wish: CapacityWish): Promise<DeploymentRecord>;
  /** What is not in `limits` stays; undefined there is no limit any more. @throws as `scale`. */
  throttle(owner: Owner, name: string, limits: Partial<DeploymentLimits>): Promise<DeploymentRecord>;
  /** Again for one that is being deleted: of no effect. */
  delete(owner: Owner, name: string): Promise<DeploymentRecord>;
  /** The newest events, in the order in which they came. */
  events(owner: Owner, name: string): Promise<readonly DeploymentEvent[]>;
  /**
   * It as it is, then each change, until it is at rest or gone. A change that was made in this process is told at once, and
   * any other one with the next look. Rejects with the signal's reason.
   */
  watch(owner: Owner, name: string, signal: AbortSignal): AsyncIterable<readonly DeploymentChange[]>;
}

interface StepWish {
  /** What the step was made for: where another one is wanted by now, nothing happens. */
  readonly generation: number;
  /** For the owner: what went wrong, or what the machine does not hold. */
  readonly reason?: string;
}

/**
 * What is done to bring a deployment about. Each step is one transaction: it looks whether the generation that it was made
 * for is still the one that is wanted, and whether `states.ts` has the move; else it changes nothing and is undefined, and
 * whoever took it looks again. One that would change nothing is no event. Steps may be taken again.
 *
 * A job of kind `deployment`, with the id as its subject, is there whenever something is to be brought about. Whoever
 * handles it reads the deployment after the claim: `Tables.jobs.requeue` says why no wish is lost.
 */
export interface DeploymentSteps {
  /** Whose ever it is. */
  find(id: string): Promise<DeploymentRecord | undefined>;
  /** Somebody works at it: a new one of reserved tokens is `deploying` from here on; of no effect for others. */
  begin(id: string, wish: StepWish): Promise<DeploymentRecord | undefined>;
  /** So much of its capacity serves now. The status stays. */
  ready(id: string, wish: StepWish & { readonly readyCapacity: number }): Promise<DeploymentRecord | undefined>;
  /** What is wanted is there, or with a reason as much of it as there can be: `running`; `stopped` where nothing is wanted. */
  reached(id: string, wish: StepWish & { readonly readyCapacity: number }): Promise<DeploymentRecord | undefined>;
  /** No unit came up, and nobody tries any longer. Not for one that runs: that says what is ready, and why. */
  fail(id: string, wish: StepWish & { readonly reason: string }): Promise<DeploymentRecord | undefined>;
  /** Of one that is being deleted: nothing of it is left. The record and its events go. True where it is not there (any more). */
  gone(id: string, wish: StepWish): Promise<boolean>;
}

/** Tells whoever shares the process that deployments changed: only the store tells what is so. */
export interface DeploymentBell {
  /** After the transaction, never inside it. */
  ring(): void;
  /** Returns what ends it. */
  listen(hear: () => void): () => void;
}
