import { posix } from 'node:path';
import { type Finding, isCapabilityTest, isCode, isTest, type Rule, type Tree } from './tree.ts';

/** Ranks of the modules, lowest first: a module sees the modules of the lines above its own, and never its siblings. */
const RANKS: readonly (readonly string[])[] = [
  ['lib'],
  ['core'],
  ['grammar'],
  ['config', 'telemetry', 'catalogue', 'weights', 'engines', 'tools', 'store', 'blobs', 'documents', 'net'],
  ['backup', 'generation', 'resources'],
  ['jobs'],
  ['protocols'],
  ['http'],
  ['service'],
  ['commands'],
  ['capabilities'],
  ['cli', 'worker'],
];

/** Modules that see less than their rank allows. */
const SEES_ONLY: Readonly<Record<string, readonly string[]>> = { http: ['protocols', 'core', 'lib'] };

/** Modules that fewer see than their rank allows: a module declares its options, and service.ts passes them. */
const SEEN_BY: Readonly<Record<string, readonly string[]>> = { config: ['service', 'commands', 'capabilities'] };

/** The only folders that import a package. A new package needs a decision record and a line here. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  'find-my-way': ['src/http/'],
  ws: ['src/http/', 'src/capabilities/recognition/'],
  kysely: ['src/store/'],
  '@aws-sdk/client-s3': ['src/blobs/'],
  'mpg123-decoder': ['src/capabilities/recognition/audio/'],
  'opus-decoder': ['src/capabilities/recognition/audio/'],
  'node:sqlite': ['src/store/', 'src/lib/file-lock.ts'],
  'node-llama-cpp': ['src/engines/llama/'],
  pino: ['src/telemetry/'],
  'prom-client': ['src/telemetry/'],
  zod: [
    'src/backup/',
    'src/protocols/',
    'src/config/',
    'src/engines/remote/',
    'src/engines/upstream/',
    'src/engines/completion/',
    'src/catalogue/',
    'src/weights/',
    'src/tools/search/',
    'src/capabilities/',
  ],
  'eventsource-parser': ['src/lib/'],
  'lru-cache': ['src/engines/', 'src/generation/', 'src/grammar/', 'src/tools/', 'src/http/', 'src/capabilities/'],
  commander: ['src/commands/', 'src/capabilities/', 'src/cli.ts'],
  yaml: ['src/config/'],
  eld: ['src/generation/'],
  unpdf: ['src/documents/'],
  htmlparser2: ['src/documents/', 'src/tools/search/'],
  stemmer: ['src/capabilities/search-index/'],
  '@mozilla/readability': ['src/capabilities/page-reader/'],
  linkedom: ['src/capabilities/page-reader/'],
  'robots-parser': ['src/capabilities/page-reader/'],
  pyodide: ['src/capabilities/code-interpreter/'],
};

/** Modules whose folders do not see each other. */
const SEPARATE_FOLDERS = new Set(['protocols', 'capabilities']);

/** Folders of a module that its other folders may import: what several wire formats share. */
const SHARED_FOLDERS = new Set(['protocols/fields']);

/** Packages that only tests import. */
const TEST_PACKAGES = new Set([
  'node:test',
  'fast-check',
  '@electric-sql/pglite',
  'openai',
  'ai',
  '@ai-sdk/openai-compatible',
  'ajv',
  'ajv-formats',
]);

interface Import {
  readonly path: string;
  readonly line: number;
  readonly specifier: string;
}

/** Test helpers that tests in `src` may import too. Tests of a capability, which has all its tests, may import any. */
const SHARED_TEST_HELPERS: ReadonlySet<string> = new Set([
  'test/until.ts',
  'test/measure-cpu-ms.ts',
  'test/property-runs.ts',
  'test/real-templates.ts',
  'test/unicode-character.ts',
]);

const mayImportHelper = (path: string, target: string): boolean =>
  (isTest(path) && SHARED_TEST_HELPERS.has(target)) || (isCapabilityTest(path) && /^(?:test|bench)\//.test(target));

export const importDirections: Rule = {
  name: 'an import points to a lower rank, and siblings do not see each other',
  *check(tree) {
    for (const { path, line, specifier } of findImports(tree)) {
      if (!path.startsWith('src/') || !specifier.startsWith('.')) continue;
      const target = posix.join(posix.dirname(path), specifier);
      if (mayImportHelper(path, target)) continue;
      const fault = target.startsWith('src/') ? direction(path, target) : 'src imports nothing outside src';
      if (fault !== undefined) yield { path, line, message: `${fault} (${specifier})` };
    }
  },
};

export const knownModules: Rule = {
  name: 'every file in src belongs to a known module',
  *check(tree) {
    for (const path of tree.keys()) {
      if (path.startsWith('src/') && getRank(getModule(path)) === -1) {
        yield { path, line: 1, message: `${getModule(path)} is not a module of the architecture` };
      }
    }
  },
};

export const packageOwners: Rule = {
  name: 'a package is known to its owner only',
  *check(tree) {
    for (const { path, line, specifier } of findImports(tree)) {
      if (!path.startsWith('src/') || isCapabilityTest(path) || specifier.startsWith('.')) continue;
      const name = getPackage(specifier);
      if (TEST_PACKAGES.has(name)) {
        if (!isTest(path)) yield { path, line, message: `${name} is for tests only` };
        continue;
      }
      const owners = OWNERS[name];
      if (owners === undefined) {
        if (!name.startsWith('node:')) yield { path, line, message: `${name} has no owner in the table of owners` };
      } else if (!owners.some((owner) => path.startsWith(owner))) {
        yield { path, line, message: `${name} belongs to ${owners.join(', ')}` };
      }
    }
  },
};

export const acyclicImports: Rule = {
  name: 'imports in src form no cycle, not even of types',
  *check(tree) {
    const imports = Map.groupBy(
      [...findImports(tree)].flatMap(({ path, line, specifier }) => {
        const target = posix.join(posix.dirname(path), specifier);
        return specifier.startsWith('.') && path.startsWith('src/') && tree.has(target) ? [{ path, line, target }] : [];
      }),
      ({ path }) => path,
    );
    const done = new Set<string>();
    const route: string[] = [];
    // Depth first: an import of a file that the route already contains closes a cycle.
    function* visit(path: string): Generator<Finding> {
      route.push(path);
      for (const { line, target } of imports.get(path) ?? []) {
        const start = route.indexOf(target);
        if (start !== -1)
          yield { path, line, message: `closes the import cycle ${[...route.slice(start), target].join(' → ')}` };
        else if (!done.has(target)) yield* visit(target);
      }
      route.pop();
      done.add(path);
    }
    for (const path of imports.keys()) if (!done.has(path)) yield* visit(path);
  },
};

function direction(path: string, target: string): string | undefined {
  const [from, to] = [getModule(path), getModule(target)];
  if (from === to) {
    // A wire format, and a capability, is known to its own folder only; the list of capabilities stands above all.
    const [family, other] = [getFamily(path), getFamily(target)];
    const isForeign = SEPARATE_FOLDERS.has(from) && family !== undefined && other !== undefined && family !== other;
    return isForeign && !SHARED_FOLDERS.has(`${to}/${other}`)
      ? `${from}/${family} must not see ${to}/${other}`
      : undefined;
  }
  // A test may join modules as service.ts does, as far as its rank allows.
  const only = isTest(path) ? undefined : SEES_ONLY[from];
  if (only && !only.includes(to)) return `${from} sees ${only.join(', ')} only, not ${to}`;
  const by = SEEN_BY[to];
  if (by && !by.includes(from)) return `${to} is seen by ${by.join(', ')} only, not by ${from}`;
  if (getRank(to) < getRank(from)) return undefined;
  return getRank(to) === getRank(from)
    ? `${from} must not see its sibling ${to}`
    : `${from} must not see ${to} above it`;
}

function getRank(module: string): number {
  return RANKS.findIndex((modules) => modules.includes(module));
}

/** `src/http/pump.ts` is in http, `src/cli.ts` in cli. */
function getModule(path: string): string {
  return (path.split('/')[1] ?? '').replace(/\.ts$/, '');
}

/** The folder below the module, for a file that is in one. */
function getFamily(path: string): string | undefined {
  const parts = path.split('/');
  return parts.length > 3 ? parts[2] : undefined;
}

function getPackage(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

/** Import statements begin a line, so a pattern finds them; `import()` may stand anywhere. */
const STATEMENT = /^(?:import|export)\s+(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;
const EXPRESSION = /\bimport\('([^']+)'\)/g;

/** Imports of each tree: several rules read them. */
const importsByTree = new WeakMap<Tree, readonly Import[]>();

export function findImports(tree: Tree): readonly Import[] {
  const imports = importsByTree.get(tree) ?? [...listImports(tree)];
  importsByTree.set(tree, imports);
  return imports;
}

function* listImports(tree: Tree): Generator<Import> {
  for (const { path, lines } of tree.values()) {
    if (!isCode(path)) continue;
    const text = lines.join('\n');
    for (const match of text.matchAll(STATEMENT)) {
      const line = text.slice(0, match.index + match[0].length).split('\n').length;
      yield { path, line, specifier: match[1] ?? '' };
    }
    for (const match of text.matchAll(EXPRESSION)) {
      const line = text.slice(0, match.index).split('\n').length;
      yield { path, line, specifier: match[1] ?? '' };
    }
  }
}
