import type { JsonSchema } from '../core/grammar.ts';
import { JSON_DEPTH_MAX } from '../core/limits.ts';
import { SCHEMA_NODES_MAX } from './limits.ts';
import { isDeeperThan } from '../lib/json-depth.ts';
import { GrammarError, type GrammarErrorOptions } from './grammar-error.ts';
import { isRecord } from '../lib/is-record.ts';

export type SchemaObject = Readonly<Record<string, unknown>>;

/** A schema with an index of its subschemas: the path of each, and the targets of references. */
export interface SchemaDocument {
  /** Returns the path of a subschema, for example `#/properties/a`. Subschemas are identified by object identity. */
  getPath(schema: SchemaObject): string;
  /** Resolves a reference. @throws GrammarError for a document that the schema does not include, or a missing target. */
  resolve(reference: string, from: SchemaObject): JsonSchema;
  /**
   * Resolves a `$dynamicRef`. Its target depends on the resources that a check has entered, if `$dynamicAnchor` names
   * the target. @throws GrammarError as `resolve`.
   */
  resolveDynamic(reference: string, from: SchemaObject): DynamicReference;
  /** Returns the resource of a subschema: the document, or the nearest schema with an `$id`. */
  getResource(schema: SchemaObject): SchemaResource | undefined;
  /** Creates an error that names the field, the path and the problem. */
  createError(path: string, problem: string, options?: GrammarErrorOptions): GrammarError;
}

/** The target of a `$dynamicRef`. With `name`, the outermost resource that has this dynamic anchor decides. */
export interface DynamicReference {
  readonly target: JsonSchema;
  readonly name: string | undefined;
  /** All possible targets. */
  readonly candidates: readonly JsonSchema[];
}

/** A schema with an `$id`, or the document. */
export interface SchemaResource {
  readonly dynamicAnchors: ReadonlyMap<string, SchemaObject>;
}

interface SchemaLocation {
  readonly path: string;
  /** The schema that `#` refers to. */
  readonly resource: Resource;
}

interface Resource extends SchemaResource {
  readonly schema: SchemaObject;
  readonly id: string;
  readonly anchors: Map<string, SchemaObject>;
  readonly dynamicAnchors: Map<string, SchemaObject>;
}

/** Keywords whose value is a schema, a list of schemas, or a map of schemas. Other values are data. */
const SCHEMA_KEYWORDS = [
  'additionalItems',
  'additionalProperties',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
] as const;
const SCHEMA_LIST_KEYWORDS = ['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'] as const;
const SCHEMA_MAP_KEYWORDS = [
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
] as const;

/** Base URI of relative identifiers; no document can be fetched from it. */
const BASE_URI = 'schema:/';

/** Indexes a schema. @throws GrammarError for a document that is too deep or has too many schemas. */
export function createSchemaDocument(root: JsonSchema, field: string): SchemaDocument {
  const locations = new Map<SchemaObject, SchemaLocation>();
  const resources = new Map<string, Resource>();
  const createError: SchemaDocument['createError'] = (path, problem, options) =>
    new GrammarError(field, `${problem} (${field}, at ${path}).`, options);

  /** Indexes the subschemas of `schema` without recursion, because a document may be deep. */
  function indexSchemas(schema: SchemaObject, path: string, outer: Resource | undefined): void {
    const stack: [schema: SchemaObject, path: string, outer: Resource | undefined][] = [[schema, path, outer]];
    for (let next = stack.pop(); next; next = stack.pop()) {
      const [at, atPath, outerResource] = next;
      if (locations.has(at)) continue;
      if (locations.size === SCHEMA_NODES_MAX)
        throw createError('#', `The schema has more than ${SCHEMA_NODES_MAX} schemas in it`);
      const resource = getResource(at, outerResource);
      locations.set(at, { path: atPath, resource });
      for (const [inner, step] of listSubschemas(at)) stack.push([inner, `${atPath}/${step}`, resource]);
    }
  }

  function getResource(schema: SchemaObject, outer: Resource | undefined): Resource {
    const id = getOwnKeyword(schema, '$id');
    // Older drafts write an anchor as `$id: "#name"`, and some generators write a pointer there, which has no effect.
    const isNew = outer === undefined || (typeof id === 'string' && !id.startsWith('#'));
    const resource = isNew
      ? {
          schema,
          id: resolveUri(typeof id === 'string' ? id : '', outer?.id ?? BASE_URI),
          anchors: new Map(),
          dynamicAnchors: new Map(),
        }
      : outer;
    if (isNew && !resources.has(resource.id)) resources.set(resource.id, resource);
    const dynamicAnchor = getOwnKeyword(schema, '$dynamicAnchor');
    if (typeof dynamicAnchor === 'string' && !resource.dynamicAnchors.has(dynamicAnchor))
      resource.dynamicAnchors.set(dynamicAnchor, schema);
    const anchors = [
      dynamicAnchor,
      getOwnKeyword(schema, '$anchor'),
      typeof id === 'string' && id.startsWith('#') ? id.slice(1) : undefined,
    ];
    for (const anchor of anchors) {
      if (typeof anchor === 'string' && !resource.anchors.has(anchor)) resource.anchors.set(anchor, schema);
    }
    return resource;
  }

  function resolve(reference: string, from: SchemaObject, keyword = '$ref'): JsonSchema {
    const path = locations.get(from)?.path ?? '#';
    const createNotFoundError = (): GrammarError =>
      createError(path, `${keyword} ${describeValue(reference)} does not resolve to a schema`);
    const hash = reference.indexOf('#');
    const [address, fragment] =
      hash === -1 ? [reference, ''] : [reference.slice(0, hash), decodeFragment(reference.slice(hash + 1))];
    if (fragment === undefined) throw createNotFoundError();
    const base = locations.get(from)?.resource;
    const resource = address === '' ? base : resources.get(resolveUri(address, base?.id ?? BASE_URI));
    if (!resource)
      throw createError(
        path,
        `${keyword} ${describeValue(reference)} points to a document that the schema does not include; add it to $defs with its address as $id`,
      );
    if (fragment !== '' && !fragment.startsWith('/')) {
      const target = resource.anchors.get(fragment);
      if (!target) throw createNotFoundError();
      return target;
    }
    const start = locations.get(resource.schema)?.path ?? '#';
    let target: unknown = resource.schema;
    for (const step of fragment.split('/').slice(1)) {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) throw createNotFoundError();
      target = Reflect.get(target, name);
    }
    if (typeof target === 'boolean') return target;
    if (!isRecord(target))
      throw createError(path, `${keyword} ${describeValue(reference)} resolves to a value that is not a schema`);
    indexSchemas(target, `${start}${fragment}`, resource);
    return target;
  }

  function resolveDynamic(reference: string, from: SchemaObject): DynamicReference {
    const target = resolve(reference, from, '$dynamicRef');
    const name = reference.slice(reference.indexOf('#') + 1);
    if (!reference.includes('#') || !isRecord(target) || getOwnKeyword(target, '$dynamicAnchor') !== name)
      return { target, name: undefined, candidates: [target] };
    const all = [...new Set(Array.from(locations.values(), ({ resource }) => resource))];
    const candidates = all.map(({ dynamicAnchors }) => dynamicAnchors.get(name)).filter((each) => each !== undefined);
    return { target, name, candidates };
  }

  if (isDeeperThan(root, JSON_DEPTH_MAX))
    throw createError('#', `The schema is more than ${JSON_DEPTH_MAX} levels deep`);
  if (isRecord(root)) indexSchemas(root, '#', undefined);
  return {
    getPath: (schema) => locations.get(schema)?.path ?? '#',
    resolve: (reference, from) => resolve(reference, from),
    resolveDynamic,
    getResource: (schema) => locations.get(schema)?.resource,
    createError: createError,
  };
}

/** Formats a caller's value for an error message, truncated when it is long. */
export const describeValue = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > DESCRIPTION_CHARS_MAX ? `${text.slice(0, DESCRIPTION_CHARS_MAX).toWellFormed()}…` : text;
};

const DESCRIPTION_CHARS_MAX = 60;

const getOwnKeyword = (schema: SchemaObject, keyword: string): unknown =>
  Object.hasOwn(schema, keyword) ? schema[keyword] : undefined;

function* listSubschemas(schema: SchemaObject): Generator<[inner: SchemaObject, step: string]> {
  for (const keyword of SCHEMA_KEYWORDS) {
    const value = getOwnKeyword(schema, keyword);
    if (isRecord(value)) yield [value, keyword];
  }
  for (const keyword of SCHEMA_LIST_KEYWORDS) {
    const value = getOwnKeyword(schema, keyword);
    if (!Array.isArray(value)) continue;
    for (const [at, inner] of value.entries()) if (isRecord(inner)) yield [inner, `${keyword}/${at}`];
  }
  for (const keyword of SCHEMA_MAP_KEYWORDS) {
    const value = getOwnKeyword(schema, keyword);
    if (!isRecord(value)) continue;
    for (const [name, inner] of Object.entries(value)) {
      if (isRecord(inner)) yield [inner, `${keyword}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`];
    }
  }
}

const resolveUri = (reference: string, base: string): string => {
  const url = URL.parse(reference, base);
  if (!url) return reference;
  url.hash = '';
  return url.href.replace(/#$/, '');
};

function decodeFragment(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}
