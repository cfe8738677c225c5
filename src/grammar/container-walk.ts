import { GRAMMAR_COMBINATIONS_MAX } from './limits.ts';
import type { NextMembers, Container, ContainerMember, MemberName, ContainerPosition } from './container.ts';
import type { ValueConstraint } from './value-constraint.ts';

/** A position in one of several containers that are walked in parallel. */
export interface WalkPosition {
  readonly container: number;
  readonly position: ContainerPosition;
}

/** The current positions in all containers that match the members so far. */
export interface WalkPositions {
  readonly key: string;
  readonly all: readonly WalkPosition[];
}

export interface WalkStep {
  readonly branches: readonly MemberBranch[];
  /** Further branches start at these positions. */
  readonly skipTo?: WalkPositions;
}

/** A member with a given name. The next positions may depend on the value. */
export interface MemberBranch {
  readonly name: MemberName;
  readonly values: readonly { readonly constraint: ValueConstraint; readonly next: WalkPositions }[];
}

export interface ContainerWalk {
  readonly start: WalkPositions;
  canEnd(positions: WalkPositions): boolean;
  getStep(positions: WalkPositions): WalkStep;
  /** Lists all reachable positions from the start, nearest first. */
  listReachable(): Iterable<WalkPositions>;
}

/** Walks containers in parallel. Calls `throwLimitError` when they have too many combinations of members. */
export function createContainerWalk(
  containers: readonly Container[],
  throwLimitError: (problem: string) => never,
): ContainerWalk {
  const steps = new Map<string, WalkStep>();
  let visitedCount = 0;
  const getNextMembers = ({ container, position }: WalkPosition): NextMembers =>
    containers[container]?.getNextMembers(position) ?? { members: [] };

  function* listCandidates({ container, position }: WalkPosition): Generator<MemberCandidate> {
    for (let at: ContainerPosition | undefined = position; at !== undefined;) {
      const { members, skipTo } = getNextMembers({ container, position: at });
      visitedCount += 1 + members.length;
      if (visitedCount > GRAMMAR_COMBINATIONS_MAX)
        throwLimitError(`Alternatives have more than ${GRAMMAR_COMBINATIONS_MAX} combinations of members`);
      for (const member of members) yield { container, member };
      at = skipTo;
    }
  }

  /** Returns the step from one position only: listing all later members at each property would take quadratic time. */
  function createSingleStep(only: WalkPosition): WalkStep {
    const { members, skipTo } = getNextMembers(only);
    const at = (position: ContainerPosition): WalkPositions =>
      createWalkPositions([{ container: only.container, position }]);
    const branches = members.map(({ name, constraint, next }) => ({ name, values: [{ constraint, next: at(next) }] }));
    return skipTo ? { branches, skipTo: at(skipTo) } : { branches };
  }

  function createCombinedStep(positions: readonly WalkPosition[]): WalkStep {
    const candidates = positions.flatMap((position) => [...listCandidates(position)]);
    const byName = Map.groupBy(candidates, ({ member: { name } }) => `${name.type} ${name.label}`);
    const branches = [...byName.values()].flatMap((group): MemberBranch[] => {
      const [first] = group;
      const byGoal = [...Map.groupBy(group, ({ member }) => member.constraint)];
      const values = byGoal.map(([constraint, same]) => ({
        constraint,
        next: createWalkPositions(same.map(({ container, member }) => ({ container, position: member.next }))),
      }));
      return first ? [{ name: first.member.name, values }] : [];
    });
    return { branches };
  }

  function getStep({ key, all }: WalkPositions): WalkStep {
    const [only] = all;
    const step = steps.get(key) ?? (only && all.length === 1 ? createSingleStep(only) : createCombinedStep(all));
    steps.set(key, step);
    return step;
  }

  const start = createWalkPositions(containers.map((container, at) => ({ container: at, position: container.start })));
  return {
    start,
    canEnd: ({ all }) => all.some(({ container, position }) => containers[container]?.canEnd(position) ?? false),
    getStep: getStep,
    *listReachable() {
      const candidates = new Map([[start.key, start]]);
      // The loop adds entries to the map while it iterates.
      for (const positions of candidates.values()) {
        yield positions;
        const { branches, skipTo } = getStep(positions);
        for (const { values } of branches)
          for (const { next } of values) candidates.set(next.key, candidates.get(next.key) ?? next);
        if (skipTo) candidates.set(skipTo.key, candidates.get(skipTo.key) ?? skipTo);
      }
    },
  };
}

interface MemberCandidate {
  readonly container: number;
  readonly member: ContainerMember;
}

function createWalkPositions(all: readonly WalkPosition[]): WalkPositions {
  const byKey = new Map(all.map((each) => [`${each.container}.${each.position.slot}.${each.position.count}`, each]));
  return { key: [...byKey.keys()].join(), all: [...byKey.values()] };
}
