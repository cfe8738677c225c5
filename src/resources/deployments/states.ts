import type { DeploymentTransition, DeploymentStatus } from '../../core/deployment.ts';

/** Transitions of an existing deployment. `go` removes it. */
type StateTransition = Exclude<DeploymentTransition, 'create'> | 'go';

type NextStatus = DeploymentStatus | 'gone';

/** Transitions that the owner may request in any state except `deleting`. */
const OWNER_TRANSITIONS = { scale: 'updating', delete: 'deleting' } as const;

/**
 * The complete state machine; `docs/deployments.md` explains it with the same table.
 *
 * `scale`, `throttle` and `delete` come from the owner. The service applies the others: `begin` sets up reserved
 * tokens, `ready` changes the number of ready units, `reach` completes a change as far as memory allows, `stop`
 * completes it for a capacity of 0, `fail` gives up when no unit started, and `go` removes a deleted deployment.
 */
const TRANSITIONS: Readonly<Record<DeploymentStatus, Readonly<Partial<Record<StateTransition, NextStatus>>>>> = {
  pending: {
    ...OWNER_TRANSITIONS,
    throttle: 'pending',
    begin: 'deploying',
    ready: 'pending',
    reach: 'running',
    stop: 'stopped',
    fail: 'failed',
  },
  deploying: {
    ...OWNER_TRANSITIONS,
    throttle: 'deploying',
    ready: 'deploying',
    reach: 'running',
    stop: 'stopped',
    fail: 'failed',
  },
  running: { ...OWNER_TRANSITIONS, throttle: 'running', ready: 'running', reach: 'running' },
  updating: {
    ...OWNER_TRANSITIONS,
    throttle: 'updating',
    ready: 'updating',
    reach: 'running',
    stop: 'stopped',
    fail: 'failed',
  },
  stopped: { ...OWNER_TRANSITIONS, throttle: 'stopped', ready: 'stopped', stop: 'stopped' },
  failed: { ...OWNER_TRANSITIONS, throttle: 'failed', fail: 'failed' },
  deleting: { delete: 'deleting', ready: 'deleting', go: 'gone' },
};

/** @returns undefined if the transition is not allowed. */
export const findNextStatus = (status: DeploymentStatus, transition: StateTransition): NextStatus | undefined =>
  TRANSITIONS[status][transition];

/** Returns whether only the owner can change the status from here. */
export const isAtRest = (status: DeploymentStatus): boolean =>
  status === 'running' || status === 'stopped' || status === 'failed';
