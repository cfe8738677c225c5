import { isRecord } from '../../lib/is-record.ts';

/** Returns the value with one change: a member added or removed, another type, or another size. */
export function mutateValue(value: unknown, random: () => number): unknown {
  const below = (count: number): number => Math.floor(random() * count);
  if (Array.isArray(value) && value.length > 0 && random() < 0.7) {
    const at = below(value.length);
    const item: unknown = value[at];
    switch (below(4)) {
      case 0:
        return value.toSpliced(at, 1);
      case 1:
        return value.toSpliced(at, 0, item);
      default:
        return value.with(at, mutateValue(item, random));
    }
  }
  if (isRecord(value)) {
    const members = Object.entries(value);
    const at = below(members.length);
    const member = members[at];
    const kind = below(6);
    if (member && kind === 0) return Object.fromEntries(members.toSpliced(at, 1));
    if (kind === 1) return Object.fromEntries([...members, ['zz extra', 1]]);
    if (member && kind < 5) return Object.fromEntries(members.with(at, [member[0], mutateValue(member[1], random)]));
  }
  if (typeof value === 'string' && random() < 0.7) {
    return [value + value, [...value].slice(1).join(''), `${value}x`, ` ${value}`, value.toUpperCase(), `${value}${'long '.repeat(10)}`][below(6)];
  }
  if (typeof value === 'number' && random() < 0.7) {
    return [value + 1, value - 1, -value, value * 10, value + 0.5, value / 2, value + 1e6][below(7)];
  }
  return [null, true, false, 0, 7, -2.5, '', 'other', 'red', [], [1], {}, { id: 1 }][below(13)];
}
