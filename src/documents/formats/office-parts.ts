import { posix } from 'node:path';
import { getAttribute, readMarkup } from '../read-markup.ts';
import { createNoMainPartError } from '../unreadable-document-error.ts';
import type { ZipArchive } from '../zip.ts';

// Open Packaging Conventions (ECMA-376, part 2): the parts of an office file and their relationships.

/** Returns content types by part name, without the leading slash. */
export function readContentTypes(zip: ZipArchive): ReadonlyMap<string, string> {
  const types = new Map<string, string>();
  readMarkup(zip.read('[Content_Types].xml'), 'xml', {
    open(name, { PartName, ContentType }) {
      if (name === 'Override' && PartName !== undefined && ContentType !== undefined)
        types.set(PartName.replace(/^\//, ''), ContentType);
    },
  });
  return types;
}

/** Returns the name of the main part. @throws UnreadableDocumentError if there is none. */
export function findMainPart(zip: ZipArchive, type: RegExp): string {
  for (const [part, contentType] of readContentTypes(zip)) if (type.test(contentType)) return part;
  throw createNoMainPartError();
}

export interface Relationship {
  /** Last segment of the type URI, e.g. `styles`. */
  readonly type: string;
  /** Name of a part in the same file. */
  readonly target: string;
}

/** Returns the relationships of a part by id, without those to targets outside the file. */
export function readRelationships(zip: ZipArchive, part: string): ReadonlyMap<string, Relationship> {
  const relationships = new Map<string, Relationship>();
  const folder = posix.dirname(part);
  const file = posix.join(folder, '_rels', `${posix.basename(part)}.rels`);
  if (!zip.has(file)) return relationships;
  readMarkup(zip.read(file), 'xml', {
    open(name, { Id, Type, Target, TargetMode }) {
      if (name !== 'Relationship' || Id === undefined || Target === undefined || TargetMode === 'External') return;
      const target = Target.startsWith('/') ? Target.slice(1) : posix.join(folder, Target);
      relationships.set(Id, { type: Type?.slice(Type.lastIndexOf('/') + 1) ?? '', target });
    },
  });
  return relationships;
}

/** Returns the name of the first existing part with this relationship type, or undefined. */
export function findRelatedPart(
  relations: ReadonlyMap<string, Relationship>,
  zip: ZipArchive,
  type: string,
): string | undefined {
  for (const relation of relations.values())
    if (relation.type === type && zip.has(relation.target)) return relation.target;
  return undefined;
}

/** Whether a toggle property is on; without a value it is (ECMA-376). */
export function isToggleOn(attributes: Readonly<Record<string, string>>): boolean {
  const value = getAttribute(attributes, 'val');
  return value === undefined || !['0', 'false', 'off', 'none'].includes(value);
}
