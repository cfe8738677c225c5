import { GRAMMAR_COMBINATIONS_MAX } from '../core/limits.ts';
import type { Choices, Container, Member, MemberName, Place } from './container.ts';
import type { Goal } from './goal.ts';

/** A place in one of several containers that are walked side by side. */
export interface Position {
  readonly container: number;
  readonly place: Place;
}

/** Where the walk may be: as long as several containers fit with the same members, in all of them. */
export interface Positions {
  readonly key: string;
  readonly all: readonly Position[];
}

export interface Step {
  readonly branches: readonly Branch[];
  /** Further branches are those from here. */
  readonly onward?: Positions;
}

/** A member under one name. What may follow can depend on the value. */
export interface Branch {
  readonly name: MemberName;
  readonly values: readonly { readonly goal: Goal; readonly next: Positions }[];
}

export interface ContainerWalk {
  readonly start: Positions;
  canEnd(positions: Positions): boolean;
  from(positions: Positions): Step;
  /** From the start on, all that a walk can reach, nearer ones first. */
  reachable(): Iterable<Positions>;
}

/** `refuse` is called when the containers are too many, or differ in too many ways, to be walked side by side. */
export function createContainerWalk(
  containers: readonly Container[],
  refuse: (problem: string) => never,
): ContainerWalk {
  const steps = new Map<string, Step>();
  let looked = 0;
  const choicesAt = ({ container, place }: Position): Choices => containers[container]?.at(place) ?? { members: [] };

  function* membersFrom({ container, place }: Position): Generator<Found> {
    for (let at: Place | undefined = place; at !== undefined;) {
      const { members, onward } = choicesAt({ container, place: at });
      looked += 1 + members.length;
      if (looked > GRAMMAR_COMBINATIONS_MAX)
        refuse(`Alternatives have more than ${GRAMMAR_COMBINATIONS_MAX} combinations of members`);
      for (const member of members) yield { container, member };
      at = onward;
    }
  }

  /** A list of all that may follow, at each property, would take the square of their number: one place at a time. */
  function stepFromOne(only: Position): Step {
    const { members, onward } = choicesAt(only);
    const at = (place: Place): Positions => positionsOf([{ container: only.container, place }]);
    const branches = members.map(({ name, goal, next }) => ({ name, values: [{ goal, next: at(next) }] }));
    return onward ? { branches, onward: at(onward) } : { branches };
  }

  function stepFromMany(positions: readonly Position[]): Step {
    const found = positions.flatMap((position) => [...membersFrom(position)]);
    const byName = Map.groupBy(found, ({ member: { name } }) => `${name.type} ${name.label}`);
    const branches = [...byName.values()].flatMap((group): Branch[] => {
      const [first] = group;
      const byGoal = [...Map.groupBy(group, ({ member }) => member.goal)];
      const values = byGoal.map(([goal, same]) => ({
        goal,
        next: positionsOf(same.map(({ container, member }) => ({ container, place: member.next }))),
      }));
      return first ? [{ name: first.member.name, values }] : [];
    });
    return { branches };
  }

  function from({ key, all }: Positions): Step {
    const [only] = all;
    const step = steps.get(key) ?? (only && all.length === 1 ? stepFromOne(only) : stepFromMany(all));
    steps.set(key, step);
    return step;
  }

  const start = positionsOf(containers.map((container, at) => ({ container: at, place: container.start })));
  return {
    start,
    canEnd: ({ all }) => all.some(({ container, place }) => containers[container]?.canEnd(place) ?? false),
    from,
    *reachable() {
      const found = new Map([[start.key, start]]);
      // The map grows while it is read.
      for (const positions of found.values()) {
        yield positions;
        const { branches, onward } = from(positions);
        for (const { values } of branches)
          for (const { next } of values) found.set(next.key, found.get(next.key) ?? next);
        if (onward) found.set(onward.key, found.get(onward.key) ?? onward);
      }
    },
  };
}

interface Found {
  readonly container: number;
  readonly member: Member;
}

function positionsOf(all: readonly Position[]): Positions {
  const byKey = new Map(all.map((each) => [`${each.container}.${each.place.slot}.${each.place.count}`, each]));
  return { key: [...byKey.keys()].join(), all: [...byKey.values()] };
}
