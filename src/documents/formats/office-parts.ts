import { posix } from 'node:path';
import { attributeOf, readMarkup } from '../read-markup.ts';
import { Unreadable } from '../unreadable.ts';
import type { Zip } from '../zip.ts';

/** ECMA-376, part 2: parts of a file of an office, and how they refer to each other. */

/** Part names by content type, without the slash at their beginning. */
export function contentTypes(zip: Zip): ReadonlyMap<string, string> {
  const types = new Map<string, string>();
  readMarkup(zip.read('[Content_Types].xml'), 'xml', {
    open(name, { PartName, ContentType }) {
      if (name === 'Override' && PartName !== undefined && ContentType !== undefined)
        types.set(PartName.replace(/^\//, ''), ContentType);
    },
  });
  return types;
}

/** The part that all else hangs on. @throws Unreadable where there is none. */
export function mainPart(zip: Zip, type: RegExp): string {
  for (const [part, contentType] of contentTypes(zip)) if (type.test(contentType)) return part;
  throw new Unreadable('is damaged: it has no main part');
}

export interface Relation {
  /** The last word of its type, e.g. `styles`. */
  readonly type: string;
  /** A part in the same file. */
  readonly target: string;
}

/** What a part refers to, by the ids it uses; what lies outside of the file is left out. */
export function relationsOf(zip: Zip, part: string): ReadonlyMap<string, Relation> {
  const relations = new Map<string, Relation>();
  const folder = posix.dirname(part);
  const file = posix.join(folder, '_rels', `${posix.basename(part)}.rels`);
  if (!zip.has(file)) return relations;
  readMarkup(zip.read(file), 'xml', {
    open(name, { Id, Type, Target, TargetMode }) {
      if (name !== 'Relationship' || Id === undefined || Target === undefined || TargetMode === 'External') return;
      const target = Target.startsWith('/') ? Target.slice(1) : posix.join(folder, Target);
      relations.set(Id, { type: Type?.slice(Type.lastIndexOf('/') + 1) ?? '', target });
    },
  });
  return relations;
}

/** The part that this one has of a type; undefined where there is none. */
export function relatedPart(relations: ReadonlyMap<string, Relation>, zip: Zip, type: string): string | undefined {
  for (const relation of relations.values())
    if (relation.type === type && zip.has(relation.target)) return relation.target;
  return undefined;
}

/** ECMA-376: a switch without a value is on. */
export function isOn(attributes: Readonly<Record<string, string>>): boolean {
  const value = attributeOf(attributes, 'val');
  return value === undefined || !['0', 'false', 'off', 'none'].includes(value);
}
