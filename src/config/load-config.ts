import { availableParallelism, homedir } from 'node:os';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { type Config, parseConfig } from './config.ts';
import { OPAQUE_SECTIONS, parseConfigFile, type ReadFile, readTextFile } from './file.ts';
import { nearMatches } from './near-matches.ts';
import { CONFIG_FILE_OPTION, SETTINGS, type SettingType } from './settings.ts';
import { leavesOf, setIn, type Tree } from './tree.ts';

/** Where each setting came from, by dotted path: `default`, `file /etc/parley.yaml`, `env PARLEY_PORT`, `flag --port`. */
export type Origins = ReadonlyMap<string, string>;

export interface LoadedConfig {
  readonly config: Config;
  readonly origins: Origins;
  /** The configuration file; where there is none yet, the place that it would be read from. */
  readonly file: { readonly path: string; readonly exists: boolean };
  /** Environment variables that look like a setting with a slip in its name. */
  readonly warnings: readonly string[];
}

export interface LoadNeeds {
  /** Options by name as commander gives them; those that are no settings are not looked at. */
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile?: ReadFile;
  /** What relative paths of flags and environment begin at. */
  readonly folder?: string;
  readonly cores?: number;
}

/**
 * Flags before environment before file before defaults. A variable that is set to nothing counts as not set.
 * @throws ServiceError `invalid-request` (a command's exit code 2) naming every path, rule, value and origin.
 */
export function loadConfig({
  flags = {},
  env,
  readFile = readTextFile,
  folder = process.cwd(),
  cores = availableParallelism(),
}: LoadNeeds): LoadedConfig {
  const given = new Map<string, { value: unknown; origin: string }>();
  for (const { path, type, env: name, flag } of SETTINGS) {
    const fromEnv = env[name];
    if (fromEnv !== undefined && fromEnv !== '')
      given.set(path, { value: read(fromEnv, type, folder), origin: `env ${name}` });
    const fromFlag = flag && flags[flag.name];
    if (flag && typeof fromFlag === 'string') {
      given.set(path, { value: read(fromFlag, type, folder), origin: `flag ${flag.option.split(' ')[0]}` });
    }
  }

  const givenData = given.get('data')?.value;
  const data = typeof givenData === 'string' ? givenData : defaultDataFolder(env);
  const wanted = flags['config'] ?? (env[CONFIG_FILE_OPTION.env] || undefined);
  const path = typeof wanted === 'string' ? resolve(folder, wanted) : join(data, 'parley.yaml');
  const text = readFile(path);
  if (text === undefined && wanted !== undefined) {
    throw new ServiceError('invalid-request', `There is no configuration file ${path}.`, { param: 'config' });
  }

  const tree: Tree = text === undefined ? {} : parseConfigFile(path, text);
  const origins = new Map<string, string>();
  for (const [leaf] of leavesOf(tree, OPAQUE_SECTIONS)) origins.set(leaf, `file ${path}`);
  for (const [setting, { value, origin }] of given) {
    setIn(tree, setting.split('.'), value);
    origins.set(setting, origin);
  }
  if (tree['data'] === undefined) tree['data'] = data;

  const config = parseConfig(tree, (at) => origins.get(at) ?? `file ${path}`, cores);
  const originOf = (leaf: string): string =>
    // A region without an address of its own has the service's.
    origins.get(leaf) ?? origins.get(leaf.replace(/^regions\..*\.(host|port)$/, '$1')) ?? 'default';
  return {
    config,
    origins: new Map([...leavesOf(config, OPAQUE_SECTIONS)].map(([leaf]) => [leaf, originOf(leaf)])),
    file: { path, exists: text !== undefined },
    warnings: slips(env),
  };
}

/** The XDG base directory rules, on macOS too. */
function defaultDataFolder(env: LoadNeeds['env']): string {
  const base = env['XDG_DATA_HOME'];
  if (base !== undefined && isAbsolute(base)) return join(base, 'parley');
  return join(env['HOME'] || homedir(), '.local', 'share', 'parley');
}

/** What cannot be read as its type stays a text: the schema says what it should have been. */
function read(text: string, type: SettingType, folder: string): unknown {
  switch (type) {
    case 'text':
      return text;
    case 'number':
      return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
    case 'boolean':
      if (/^(?:true|1|yes|on)$/i.test(text)) return true;
      return /^(?:false|0|no|off)$/i.test(text) ? false : text;
    case 'list':
      return text.split(',').map((item) => item.trim());
    case 'path':
      return text === '' ? text : resolve(folder, text);
    case 'paths':
      return text
        .split(delimiter)
        .filter((item) => item !== '')
        .map((item) => resolve(folder, item));
  }
}

function slips(env: LoadNeeds['env']): readonly string[] {
  const known = [CONFIG_FILE_OPTION.env, ...SETTINGS.map((setting) => setting.env)];
  return Object.keys(env).flatMap((name) => {
    if (!name.startsWith('PARLEY_') || known.includes(name)) return [];
    const near = nearMatches(name, known);
    return near.length > 0 ? [`${name} is not a setting; did you mean ${near.join(' or ')}?`] : [];
  });
}
