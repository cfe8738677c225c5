import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { errorCode } from '../file-system.ts';

/** A registry of npm packages, and what it wants to see of its callers. */
export interface NpmRegistry {
  readonly url: string;
  /** For addresses of the registry itself, not for where else its archives may lie. */
  readonly authorization?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The registry that npm would ask, by its environment or its configuration files; undefined where nothing is configured.
 * Order as in npm's documentation: environment, then the user's file, then the machine's.
 */
export async function findNpmRegistry(
  environment: Environment,
  { home = homedir(), node = process.execPath }: { readonly home?: string; readonly node?: string } = {},
): Promise<NpmRegistry | undefined> {
  const files = [
    settingOf(environment, 'userconfig') ?? join(home, '.npmrc'),
    settingOf(environment, 'globalconfig') ?? join(dirname(dirname(node)), 'etc', 'npmrc'),
    '/etc/npmrc',
  ];
  const texts = await Promise.all(files.map(readText));
  const settings = texts.map((text) => parseNpmrc(text, environment));
  const url = settingOf(environment, 'registry') ?? settings.map((each) => each.get('registry')).find(isThere);
  if (url === undefined || !URL.canParse(url)) return undefined;
  const authorization = settings.map((each) => authorizationFor(url, each)).find(isThere);
  return { url, ...(authorization === undefined ? {} : { authorization }) };
}

/** npm takes its environment in any case. */
const settingOf = (environment: Environment, name: string): string | undefined =>
  Object.entries(environment).find(([key, value]) => key.toLowerCase() === `npm_config_${name}` && value)?.[1];

/** Lines `key = value`; a value may name variables of the environment as `${NAME}`. */
function parseNpmrc(text: string, environment: Environment): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const [, key, value] = /^\s*([^#;=\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key === undefined || value === undefined) continue;
    const plain = value.replace(/^(["'])(.*)\1$/, '$2');
    settings.set(
      key,
      plain.replace(/\$\{(\w+)\}/g, (whole, name: string) => environment[name] ?? whole),
    );
  }
  return settings;
}

/** Secrets stand under the registry's address without its protocol, or under one above it. */
function authorizationFor(url: string, settings: ReadonlyMap<string, string>): string | undefined {
  const { host, pathname } = new URL(url);
  const steps = pathname.split('/').filter(Boolean);
  for (let kept = steps.length; kept >= 0; kept--) {
    const at = `//${[host, ...steps.slice(0, kept)].join('/')}`;
    const secret = (name: string): string | undefined =>
      settings.get(`${at}/:${name}`) ?? settings.get(`${at}:${name}`);
    const token = secret('_authToken');
    if (token !== undefined) return `Bearer ${token}`;
    const basic = secret('_auth');
    if (basic !== undefined) return `Basic ${basic}`;
    const [name, password] = [secret('username'), secret('_password')];
    if (name === undefined || password === undefined) continue;
    return `Basic ${Buffer.from(`${name}:${Buffer.from(password, 'base64').toString()}`).toString('base64')}`;
  }
  return undefined;
}

const isThere = (value: string | undefined): value is string => value !== undefined && value !== '';

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'EISDIR'].includes(errorCode(thrown) ?? '')) return '';
    throw thrown;
  }
}
