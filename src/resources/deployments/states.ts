import type { DeploymentMove, DeploymentStatus } from '../../core/deployment.ts';

/** What can happen to one that is there. After `go` it is not. */
type Move = Exclude<DeploymentMove, 'create'> | 'go';

type Next = DeploymentStatus | 'gone';

/** What its owner may do at any time before the end. */
const OWNERS = { scale: 'updating', delete: 'deleting' } as const;

/**
 * All there is: what is not written here cannot happen. `docs/deployments.md` has the same as a table, and why.
 *
 * Owners' moves: `scale`, `throttle`, `delete`. The others are steps of whoever brings about what is wanted: `begin` to
 * work at reserved tokens, `ready` with more or fewer units, `reach` what is wanted as far as the machine holds it, `stop`
 * where nothing is wanted, `fail` where not one unit came up, `go` when nothing is left.
 */
const MOVES: Readonly<Record<DeploymentStatus, Readonly<Partial<Record<Move, Next>>>>> = {
  pending: {
    ...OWNERS,
    throttle: 'pending',
    begin: 'deploying',
    ready: 'pending',
    reach: 'running',
    stop: 'stopped',
    fail: 'failed',
  },
  deploying: {
    ...OWNERS,
    throttle: 'deploying',
    ready: 'deploying',
    reach: 'running',
    stop: 'stopped',
    fail: 'failed',
  },
  running: { ...OWNERS, throttle: 'running', ready: 'running', reach: 'running' },
  updating: {
    ...OWNERS,
    throttle: 'updating',
    ready: 'updating',
    reach: 'running',
    stop: 'stopped',
    fail: 'failed',
  },
  stopped: { ...OWNERS, throttle: 'stopped', ready: 'stopped', stop: 'stopped' },
  failed: { ...OWNERS, throttle: 'failed', fail: 'failed' },
  deleting: { delete: 'deleting', ready: 'deleting', go: 'gone' },
};

/** Undefined where the move is not possible. */
export const nextStatus = (status: DeploymentStatus, move: Move): Next | undefined => MOVES[status][move];

/** Nothing moves it on from here but its owner: what follows it need not wait. */
export const isAtRest = (status: DeploymentStatus): boolean =>
  status === 'running' || status === 'stopped' || status === 'failed';
