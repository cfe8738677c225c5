import { availableParallelism, homedir } from 'node:os';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { ServiceError } from '../core/error.ts';
import type { Config } from './config.ts';
import { parseConfig } from './parse-config.ts';
import { OPAQUE_SECTIONS, parseConfigFile, type ReadTextFile, readTextFile } from './parse-config-file.ts';
import { findNearMatches } from './near-matches.ts';
import { CONFIG_FILE_OPTION, SETTINGS, type SettingType } from './settings.ts';
import { listLeaves, setIn, type ConfigTree } from './tree.ts';

/**
 * Origin of each setting by its dotted path: `default`, `file /etc/parley.yaml`, `env PARLEY_PORT` or `flag --port`.
 */
export type Origins = ReadonlyMap<string, string>;

export interface LoadedConfig {
  readonly config: Config;
  readonly origins: Origins;
  /** The configuration file. When none exists, the path where it would be read. */
  readonly file: { readonly path: string; readonly exists: boolean };
  /** Warnings about environment variables with misspelled names. */
  readonly warnings: readonly string[];
}

export interface LoadConfigOptions {
  /** Options by name, as commander returns them. Options that are not settings are ignored. */
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile?: ReadTextFile;
  /** Base of relative paths in flags and environment variables. */
  readonly folder?: string;
  readonly cores?: number;
}

/**
 * Loads the configuration. Flags take precedence over environment variables, these over the file, and the file over
 * defaults. An empty environment variable counts as not set.
 * @throws ServiceError `invalid-request` (exit code 2 of a command) with path, rule, value and origin of every problem.
 */
export function loadConfig({
  flags = {},
  env,
  readFile = readTextFile,
  folder = process.cwd(),
  cores = availableParallelism(),
}: LoadConfigOptions): LoadedConfig {
  const given = new Map<string, { value: unknown; origin: string }>();
  for (const { path, type, env: name, flag } of SETTINGS) {
    const fromEnv = env[name];
    if (fromEnv !== undefined && fromEnv !== '')
      given.set(path, { value: parseText(fromEnv, type, folder), origin: `env ${name}` });
    const [option = ''] = flag?.option.split(' ') ?? [];
    const fromFlag = flags[toOptionName(option)];
    if (typeof fromFlag === 'string')
      given.set(path, { value: parseText(fromFlag, type, folder), origin: `flag ${option}` });
  }

  const givenData = given.get('data')?.value;
  const data = typeof givenData === 'string' ? givenData : defaultDataFolder(env);
  const requestedFile = flags['config'] ?? (env[CONFIG_FILE_OPTION.env] || undefined);
  const path = typeof requestedFile === 'string' ? resolve(folder, requestedFile) : join(data, 'parley.yaml');
  const text = readFile(path);
  if (text === undefined && requestedFile !== undefined) {
    throw new ServiceError('invalid-request', `The configuration file ${path} does not exist.`, { param: 'config' });
  }

  const tree: ConfigTree = text === undefined ? {} : parseConfigFile(path, text);
  const origins = new Map<string, string>();
  for (const [leaf] of listLeaves(tree, OPAQUE_SECTIONS)) origins.set(leaf, `file ${path}`);
  for (const [setting, { value, origin }] of given) {
    setIn(tree, setting.split('.'), value);
    origins.set(setting, origin);
  }
  if (tree['data'] === undefined) tree['data'] = data;

  const config = parseConfig(tree, (at) => origins.get(at) ?? `file ${path}`, cores);
  const getOrigin = (leaf: string): string =>
    // A region without its own host or port uses those of the service.
    origins.get(leaf) ?? origins.get(leaf.replace(/^regions\..*\.(host|port)$/, '$1')) ?? 'default';
  return {
    config,
    origins: new Map([...listLeaves(config, OPAQUE_SECTIONS)].map(([leaf]) => [leaf, getOrigin(leaf)])),
    file: { path, exists: text !== undefined },
    warnings: findMisspelledVariables(env),
  };
}

/** Returns the data folder by the XDG base directory specification, on macOS too. */
function defaultDataFolder(env: LoadConfigOptions['env']): string {
  const base = env['XDG_DATA_HOME'];
  if (base !== undefined && isAbsolute(base)) return join(base, 'parley');
  return join(env['HOME'] || homedir(), '.local', 'share', 'parley');
}

/** Returns the name under which commander passes the option, such as `publicUrl` for `--public-url`. */
const toOptionName = (option: string): string =>
  option.slice('--'.length).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Parses a text as its setting's type. Unparsable text is returned unchanged, and the schema rejects it. */
function parseText(text: string, type: SettingType, folder: string): unknown {
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

function findMisspelledVariables(env: LoadConfigOptions['env']): readonly string[] {
  const known = [CONFIG_FILE_OPTION.env, ...SETTINGS.map((setting) => setting.env)];
  return Object.keys(env).flatMap((name) => {
    if (!name.startsWith('PARLEY_') || known.includes(name)) return [];
    const near = findNearMatches(name, known);
    return near.length > 0 ? [`${name} is not a setting; did you mean ${near.join(' or ')}?`] : [];
  });
}
