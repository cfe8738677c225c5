import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JsonSchema } from '../../core/grammar.ts';
import { isRecord } from '../../lib/is-record.ts';
import { compileGrammar } from '../compile-grammar.ts';
import { GrammarError } from '../grammar-error.ts';

/** The official suite and schemas of configuration files, which `.ci/run` downloads. */
const SUITE_FOLDER = fileURLToPath(new URL('../../../.cache/schema-suite/suite/', import.meta.url));
const SCHEMAS_FOLDER = fileURLToPath(new URL('../../../.cache/schema-suite/schemas/', import.meta.url));
const METASCHEMAS_FOLDER = fileURLToPath(
  new URL('../../../node_modules/ajv/dist/refs/json-schema-2020-12/', import.meta.url),
);

/** Address of the folder `remotes` in the suite's references. */
const REMOTES_ADDRESS = 'http://localhost:1234/';

/** The reason to skip tests that need the downloads; false when they are there. */
export const getSuiteSkipReason = (): string | false =>
  existsSync(SUITE_FOLDER) && existsSync(SCHEMAS_FOLDER) ? false : 'no .cache/schema-suite (.ci/run downloads it)';

export interface SuiteGroup {
  /** Name of the file, and what the group is about. */
  readonly name: string;
  readonly schema: JsonSchema;
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[];
}

/** Describes why a schema is refused; undefined when it is not. */
export function findRefusal(schema: JsonSchema): string | undefined {
  try {
    compileGrammar({ type: 'schema', schema, field: 'schema' });
    return undefined;
  } catch (error) {
    if (error instanceof GrammarError) return error.message;
    throw error;
  }
}

/** Reads the tests of draft 2020-12. Documents that a schema refers to are added to its `$defs`. */
export function readSuite(part: 'required' | 'formats'): readonly SuiteGroup[] {
  const documents = new Map([...readDocuments(`${SUITE_FOLDER}remotes/`), ...readDocuments(METASCHEMAS_FOLDER)]);
  const folder = part === 'required' ? 'tests/draft2020-12' : 'tests/draft2020-12/optional/format';
  return globSync(`${SUITE_FOLDER}${folder}/*.json`)
    .toSorted()
    .flatMap((file) => {
      const groups = readJson(file) as readonly { description: string; schema: JsonSchema; tests: SuiteGroup['tests'] }[];
      return groups.map(({ description, schema, tests }) => ({
        name: `${basename(file)}: ${description}`,
        schema: bundleDocuments(schema, documents),
        tests,
      }));
    });
}

/** Reads the schemas of configuration files, in the order of their names. */
export const readRealSchemas = (): readonly { readonly name: string; readonly schema: JsonSchema }[] =>
  globSync(`${SCHEMAS_FOLDER}**/*.json`)
    .toSorted()
    .flatMap((file) => {
      const schema = tryReadJson(file);
      return isRecord(schema) && !file.endsWith('vendor_lock.json') ? [{ name: basename(file), schema }] : [];
    });

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

function tryReadJson(file: string): unknown {
  try {
    return readJson(file);
  } catch {
    // Some of the downloaded files are no JSON.
    return undefined;
  }
}

/** Reads documents by address: their `$id` for metaschemas, else their path below `remotes`. */
function* readDocuments(folder: string): Generator<[string, JsonSchema]> {
  for (const file of globSync(`${folder}**/*.json`)) {
    const path = relative(folder, file);
    if (/^draft(?!2020-12)/.test(path)) continue;
    const document = readJson(file) as JsonSchema;
    const id = folder === METASCHEMAS_FOLDER && isRecord(document) ? String(document['$id']) : undefined;
    yield [id ?? REMOTES_ADDRESS + path, document];
  }
}

/** Adds the documents to which a schema and these documents refer. */
function bundleDocuments(schema: JsonSchema, documents: ReadonlyMap<string, JsonSchema>): JsonSchema {
  if (!isRecord(schema)) return schema;
  const added = new Map<string, JsonSchema>();
  const queue: { readonly base: string; readonly schema: unknown }[] = [
    { base: typeof schema['$id'] === 'string' ? schema['$id'] : 'schema:/', schema },
  ];
  // The loop adds documents to the list while it iterates.
  for (const { base, schema: each } of queue) {
    const bases = [base, ...findTexts(each, ['$id'])].flatMap((id) => URL.parse(id, base)?.href ?? []);
    for (const reference of findTexts(each, ['$ref', '$dynamicRef'])) {
      for (const from of bases) {
        const address = URL.parse(reference, from)?.href.replace(/#.*$/, '') ?? '';
        const document = documents.get(address);
        if (document === undefined || added.has(address)) continue;
        added.set(address, document);
        queue.push({ base: address, schema: document });
      }
    }
  }
  const definitions = [...added].flatMap(([address, document], at): [string, JsonSchema][] => {
    if (!isRecord(document)) return [[`document ${at}`, document]];
    const { $id = address } = document;
    const alias: [string, JsonSchema] = [`address ${at}`, { $id: address, $ref: $id }];
    return [[`document ${at}`, { ...document, $id }], ...($id === address ? [] : [alias])];
  });
  const own = isRecord(schema['$defs']) ? schema['$defs'] : {};
  return added.size === 0 ? schema : { ...schema, $defs: { ...own, ...Object.fromEntries(definitions) } };
}

/** Finds the texts of keywords anywhere in a value. */
function findTexts(value: unknown, keywords: readonly string[]): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'string' && keywords.includes(name) ? [inner] : findTexts(inner, keywords),
  );
}
