import type { JsonSchema } from '../core/grammar.ts';
import { JSON_DEPTH_MAX, SCHEMA_NODES_MAX } from '../core/limits.ts';
import { isDeeperThan } from '../lib/json-depth.ts';
import { GrammarError } from './grammar-error.ts';

export type SchemaObject = Readonly<Record<string, unknown>>;

/** A schema with its parts found: where each stands, and what a reference in it means. */
export interface SchemaDocument {
  readonly root: JsonSchema;
  /** `#/properties/a`; a schema's place is told by identity. */
  pathOf(schema: SchemaObject): string;
  /** @throws GrammarError for what is remote or not there. */
  resolve(reference: string, from: SchemaObject): JsonSchema;
  /** A refusal that says where in the schema which keyword breaks which rule. */
  refusal(path: string, problem: string): GrammarError;
}

interface Place {
  readonly path: string;
  /** The schema to which `#` refers: the document's or the nearest one with an `$id`. */
  readonly resource: Resource;
}

interface Resource {
  readonly schema: SchemaObject;
  readonly id: string;
  readonly anchors: Map<string, SchemaObject>;
}

/** Keywords whose value is a schema, a list of schemas, or a map of schemas. Values elsewhere are data. */
const HOLDS_ONE = [
  'additionalItems',
  'additionalProperties',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
] as const;
const HOLDS_LIST = ['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'] as const;
const HOLDS_MAP = [
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
] as const;

/** Base of relative identifiers; no document can be fetched from it. */
const NOWHERE = 'schema:/';

/** @throws GrammarError for a document that is too deep or has too many schemas. */
export function createDocument(root: JsonSchema, field: string): SchemaDocument {
  const places = new Map<SchemaObject, Place>();
  const resources = new Map<string, Resource>();
  const refusal = (path: string, problem: string): GrammarError =>
    new GrammarError(field, `${problem} (${field}, at ${path}).`);

  /** Finds the schemas in `schema`, without recursion: a document may be as deep as it likes. */
  function index(schema: SchemaObject, path: string, outer: Resource | undefined): void {
    const waiting: [schema: SchemaObject, path: string, outer: Resource | undefined][] = [[schema, path, outer]];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [at, atPath, around] = next;
      if (places.has(at)) continue;
      if (places.size === SCHEMA_NODES_MAX)
        throw refusal('#', `The schema has more than ${SCHEMA_NODES_MAX} schemas in it`);
      const resource = resourceOf(at, around);
      places.set(at, { path: atPath, resource });
      for (const [inner, step] of partsOf(at)) waiting.push([inner, `${atPath}/${step}`, resource]);
    }
  }

  function resourceOf(schema: SchemaObject, outer: Resource | undefined): Resource {
    const id = own(schema, '$id');
    // Older drafts write an anchor as `$id: "#name"`, and generators a pointer that says nothing new.
    const isNew = outer === undefined || (typeof id === 'string' && !id.startsWith('#'));
    const resource = isNew
      ? { schema, id: absolute(typeof id === 'string' ? id : '', outer?.id ?? NOWHERE), anchors: new Map() }
      : outer;
    if (isNew && !resources.has(resource.id)) resources.set(resource.id, resource);
    const anchors = [own(schema, '$anchor'), typeof id === 'string' && id.startsWith('#') ? id.slice(1) : undefined];
    for (const anchor of anchors) {
      if (typeof anchor === 'string' && !resource.anchors.has(anchor)) resource.anchors.set(anchor, schema);
    }
    return resource;
  }

  function resolve(reference: string, from: SchemaObject): JsonSchema {
    const path = places.get(from)?.path ?? '#';
    const lost = (): GrammarError => refusal(path, `$ref ${shown(reference)} leads nowhere`);
    const hash = reference.indexOf('#');
    const [address, fragment] =
      hash === -1 ? [reference, ''] : [reference.slice(0, hash), decoded(reference.slice(hash + 1))];
    if (fragment === undefined) throw lost();
    const base = places.get(from)?.resource;
    const resource = address === '' ? base : resources.get(absolute(address, base?.id ?? NOWHERE));
    if (!resource)
      throw refusal(path, `$ref ${shown(reference)} points outside the schema; only local ones are followed`);
    if (fragment !== '' && !fragment.startsWith('/')) {
      const target = resource.anchors.get(fragment);
      if (!target) throw lost();
      return target;
    }
    const start = places.get(resource.schema)?.path ?? '#';
    let target: unknown = resource.schema;
    for (const step of fragment.split('/').slice(1)) {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) throw lost();
      target = Reflect.get(target, name);
    }
    if (typeof target === 'boolean') return target;
    if (!isObject(target)) throw refusal(path, `$ref ${shown(reference)} leads to what is no schema`);
    index(target, `${start}${fragment}`, resource);
    return target;
  }

  if (isDeeperThan(root, JSON_DEPTH_MAX)) throw refusal('#', `The schema is more than ${JSON_DEPTH_MAX} levels deep`);
  if (isObject(root)) index(root, '#', undefined);
  return { root, pathOf: (schema) => places.get(schema)?.path ?? '#', resolve, refusal };
}

export const isObject = (value: unknown): value is SchemaObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A caller's text, short enough for a message. */
export const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX).toWellFormed()}…` : text;
};

const SHOWN_CHARACTERS_MAX = 60;

const own = (schema: SchemaObject, keyword: string): unknown =>
  Object.hasOwn(schema, keyword) ? schema[keyword] : undefined;

function* partsOf(schema: SchemaObject): Generator<[inner: SchemaObject, step: string]> {
  for (const keyword of HOLDS_ONE) {
    const value = own(schema, keyword);
    if (isObject(value)) yield [value, keyword];
  }
  for (const keyword of HOLDS_LIST) {
    const value = own(schema, keyword);
    if (!Array.isArray(value)) continue;
    for (const [at, inner] of value.entries()) if (isObject(inner)) yield [inner, `${keyword}/${at}`];
  }
  for (const keyword of HOLDS_MAP) {
    const value = own(schema, keyword);
    if (!isObject(value)) continue;
    for (const [name, inner] of Object.entries(value)) {
      if (isObject(inner)) yield [inner, `${keyword}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`];
    }
  }
}

const absolute = (reference: string, base: string): string => {
  const url = URL.parse(reference, base);
  if (!url) return reference;
  url.hash = '';
  return url.href.replace(/#$/, '');
};

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}
